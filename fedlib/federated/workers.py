"""A stack of federations shared out among processes. Federations never meet, so the result is that of one process.

Only rounding may differ: who shares a block with whom decides how ragged clients are padded, and a compiled step is
another program for every shape.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from .batches import Local, n_steps
from .checkpoints import Checkpoint
from .federation import Federation, slices_of
from .history import History, gathered


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
    test: Mapping[str, Tensor], checkpoint: Checkpoint | None, progress: bool, **settings,
) -> tuple[History, np.ndarray]:  # fmt: skip
    """The result of ``stack``, which trains one part, for all federations: each part in a process of its own.

    shares: of ``shared_out``. The other arguments are those of ``stack``; progress is not shown. The processes are
    joblib's, which takes functions of notebooks, too; they have one thread each.
    """
    from joblib import Parallel, delayed, parallel_config

    n, keys = len(shares), list(federations)
    with parallel_config("loky", inner_max_num_threads=1):
        parts = Parallel(n_jobs=n)(
            delayed(with_one_thread)(
                stack,
                {keys[f]: federations[keys[f]] for f in share},
                {name: rows(values, share) for name, values in test.items()},
                checkpoint and part_of(checkpoint, i, n),
                False,
                **settings,
            )
            for i, share in enumerate(shares)
        )
    return merged(parts, shares, federations)


def with_one_thread(stack: Callable, *given, **settings):
    """``stack``, in another process."""
    torch.set_num_threads(1)
    return stack(*given, **settings)


def rows(values: Tensor, share: Sequence[int]) -> Tensor:
    """Some rows; one that stands for all (``expand``) is not copied."""
    return values[:1].expand(len(share), *values.shape[1:]) if values.stride(0) == 0 else values[share]


def part_of(checkpoint: Checkpoint, i: int, n: int) -> Checkpoint:
    """Where part i of n keeps its state: with another number of workers a training starts anew."""
    path = checkpoint.path
    return checkpoint._replace(path=path.with_name(f"{path.stem}-part{i + 1}of{n}{path.suffix}"))


def merged(trained, shares, federations: Mapping) -> tuple[History, np.ndarray]:
    """The parts' histories, and losses before the first step [M], as if they had been one stack."""
    slices = slices_of(federations.values())
    stood = [np.arange(slices[f].start, slices[f].stop) for share in shares for f in share]
    histories, first = zip(*trained, strict=True)
    return gathered(histories, list(federations)), np.concatenate(first)[np.argsort(np.concatenate(stood))]
