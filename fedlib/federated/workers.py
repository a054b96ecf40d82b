"""A stack of federations shared out among processes. Federations never meet, so the result is that of one process.

Only rounding may differ: who shares a block with whom decides how ragged clients are padded, and a compiled step is
another program for every shape.
"""

import tempfile
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from pathlib import Path
from pickle import PicklingError

import numpy as np
import torch
from torch import Tensor

from ..progress import rounds_of
from .batches import Local, n_steps
from .checkpoints import Checkpoint
from .federation import Federation, slices_of
from .history import History, parts_of

EVERY = 0.2  # s between two looks at how far they are


def shared_out(federations: Sequence[Federation], local: Local, workers: int) -> list[list[int]]:
    """Numbers of the federations of each part, at most ``workers`` of them, with as equal work as can be.

    The heaviest federation first, each to the part that has least to do. The work of a federation: steps x points of
    its clients, times the share of them that takes part.
    """
    if type(workers) is not int or workers < 1:
        raise ValueError(f"workers = {workers!r}: expected a whole number >= 1, processes to train in")
    parts = [[] for _ in range(min(workers, len(federations)))]
    load, work = np.zeros(len(parts)), [work_of(fed, local) for fed in federations]
    for f in np.argsort(work, kind="stable")[::-1]:
        lightest = load.argmin()
        parts[lightest].append(int(f))
        load[lightest] += work[f]
    return [sorted(part) for part in parts]


def work_of(fed: Federation, local: Local) -> float:
    """Steps x points of a round."""
    sizes = [len(shard) for shard in fed.shards]
    return sum(n_steps(n, local) * int(local.points(n)) for n in sizes) * float(np.mean(fed.fraction))


def side_by_side(
    stack: Callable, shares: Sequence[Sequence[int]], federations: Mapping[Hashable, Federation],
    test: Mapping[str, Tensor], checkpoint: Checkpoint | None, progress: bool, *, rounds: int, **settings,
) -> tuple[History, np.ndarray]:  # fmt: skip
    """The result of ``stack``, which trains one part, for all federations: each part in a process of its own.

    shares: of ``shared_out``. The other arguments are those of ``stack``.

    The processes (joblib's, which take functions of notebooks, too) have one thread each and stay for five minutes, for
    the next training; an error or an interrupt ends them at once.

    Raises:
        ValueError: what is given cannot be sent to another process. RuntimeError: a process was killed.
        Whatever ``stack`` raises in one of them.
    """
    from joblib.externals.loky import get_reusable_executor

    n, keys = len(shares), list(federations)
    executor = get_reusable_executor(n, timeout=300, env={"OMP_NUM_THREADS": "1"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        told, tasks = Path(folder) / "rounds", []
        done = np.memmap(told, np.int64, "w+", shape=n)
        try:
            for i, own in enumerate(shares):
                mine = {keys[f]: federations[keys[f]] for f in own}
                tests = {name: rows(values, own) for name, values in test.items()}
                at = checkpoint and part_of(checkpoint, i, n)
                tasks.append(executor.submit(in_a_worker, stack, told, i, mine, tests, at, rounds=rounds, **settings))
            follow(tasks, done, rounds, progress)
            found = [task.result() for task in tasks]
        except BaseException as error:
            handed_on(tasks)
            executor.shutdown(kill_workers=True)
            raise explained(error, n) from error.__cause__
    return merged(found, shares, federations, settings["parts"])


def explained(error: BaseException, n: int) -> BaseException:
    """An error of ``side_by_side`` in words of this project; as it is where it comes from the training."""
    from joblib.externals.loky.process_executor import BrokenProcessPool, TerminatedWorkerError

    if isinstance(error, TerminatedWorkerError):
        return RuntimeError(
            f"one of {n} worker processes was killed, as the system does when memory runs out; each holds a copy of "
            f"the data, so fewer workers need less ({error})"
        )
    if isinstance(error, (PicklingError, BrokenProcessPool)):
        why = str(error.__cause__ or error).strip('"\n').splitlines()[-1]  # of a whole traceback, as text
        return ValueError(
            f"workers = {n}, but something given cannot be sent to another process: {why}; take workers=1, or make it "
            "within the function that needs it"
        )
    return error


def in_a_worker(stack: Callable, told: Path, i: int, *given, rounds: int, **settings) -> tuple[History, np.ndarray]:
    """Part i of a training, in another process; its number of rounds goes into the file ``told``."""
    torch.set_num_threads(1)
    done = np.memmap(told, np.int64, "r+")

    def tell(r):
        done[i] = r

    result = stack(*given, tell, rounds=rounds, **settings)
    tell(rounds)  # of a training that was done before, too
    return result


def follow(tasks: Sequence[Future], done: np.ndarray, rounds: int, progress: bool) -> None:
    """Wait until all tasks have ended, or one has failed; the bar shows the slowest. done: rounds of each, so far."""
    for r in rounds_of(0, rounds, progress):
        while done.min() <= r:
            ended, _ = wait(tasks, EVERY, FIRST_EXCEPTION)
            if any(task.exception() for task in ended):
                return


def handed_on(tasks: Sequence[Future]) -> None:
    """Wait until no task is in loky's queue: it forgets them when it is shut down, and then looks for them there.

    Seen with joblib 1.6.0 where one part failed as the next one was sent: a KeyError in loky's thread, on the screen.
    """
    end = time.monotonic() + 5  # a thread that is no longer there hands nothing on
    while not all(task.running() or task.done() for task in tasks) and time.monotonic() < end:
        time.sleep(0.005)


def rows(values: Tensor, own: Sequence[int]) -> Tensor:
    """Some rows; one that stands for all (``expand``) is not copied."""
    return values[:1].expand(len(own), *values.shape[1:]) if values.stride(0) == 0 else values[own]


def part_of(checkpoint: Checkpoint, i: int, n: int) -> Checkpoint:
    """Where part i of n keeps its state: with another number of workers a training starts anew."""
    path = checkpoint.path
    return checkpoint._replace(path=path.with_name(f"{path.stem}-part{i + 1}of{n}{path.suffix}"))


def merged(found, shares, federations: Mapping, names) -> tuple[History, np.ndarray]:
    """The parts' histories, and losses before the first step [M], as if they had been one stack."""
    slices = slices_of(federations.values())
    stood = [np.arange(slices[f].start, slices[f].stop) for own in shares for f in own]
    order = np.argsort(np.concatenate(stood))
    histories, first = zip(*found, strict=True)
    theta = torch.cat([h.theta for h in histories])[order]
    losses = np.concatenate([h.losses for h in histories], axis=1)[:, order]
    metrics = {
        name: np.concatenate([h.metrics[name] for h in histories], axis=1)[:, order] for name in histories[0].metrics
    }
    rows = dict(zip(federations, slices, strict=True))
    result = History.dense(theta, rows, parts_of(federations, names), losses, histories[0].rounds, metrics)
    return result, np.concatenate(first)[order]
