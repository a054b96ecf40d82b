"""``train(workers=n)`` on the sweep of notebook 04: 195 federations shared out among processes of one thread."""

import numpy as np
import psutil
from joblib.externals.loky import get_reusable_executor

from fedlib.federated.experiment import train_arguments
from fedlib.federated.train import train

from .common import in_own_process, load, one_thread, seconds_of
from .problems import sweep


def measure(backend: str, counts: tuple[int, ...], rounds: int, turns: int) -> dict:
    """Per round, of a training with each number of workers, taking turns; the best turn counts.

    wall_ms: what a user waits; other programs at work make it longer. cpu_ms: computing time of the busiest process,
    which is the wait where each has a core to itself. start_s: a training of one round, with all that is done once.
    """
    problem = sweep()
    best = {n: np.full((2, 2), np.inf) for n in counts}  # [a round, all rounds], [wall, CPU] in s

    def run(n, rounds):
        train(
            **train_arguments(problem.experiment), pool=problem.pool, federations=problem.federations, rounds=rounds,
            init=problem.experiment.init, backend=backend, workers=n,
        )  # fmt: skip

    for n in counts:
        run(n, 1)
    for _ in range(turns):
        for n, least in best.items():
            for i, count in enumerate((1, 1 + rounds)):
                before = busy()
                wall = seconds_of(run, n, count)
                cpu = max(seconds - before.get(process, 0.0) for process, seconds in busy().items())
                least[i] = np.minimum(least[i], (wall, cpu))
    get_reusable_executor().shutdown(kill_workers=True)  # or the end of this process would wait for their five minutes
    found, one = {}, best[counts[0]][1] - best[counts[0]][0]
    for n, least in best.items():
        wall, cpu = 1e3 * (least[1] - least[0]) / rounds
        times = dict(zip(("times_wall", "times_cpu"), (one / (least[1] - least[0])).round(2).tolist(), strict=True))
        found[n] = {"wall_ms": round(wall, 1), "cpu_ms": round(cpu, 1), "start_s": round(least[0, 0], 1)} | times
    return {"federations": len(problem.federations), "load": load(), "workers": found}


def busy() -> dict[int, float]:
    """Process -> seconds that it has computed: this one, and those below it."""
    us = psutil.Process()
    return {p.pid: sum(p.cpu_times()[:2]) for p in (us, *us.children(recursive=True))}


def bench_workers(quick: bool = False) -> dict:
    """One and two workers, eagerly and by XLA, each in a fresh process; quick: eagerly, one short turn."""
    task = "the sweep of notebook 04, 385 models 1-64-64-64-1, 5 full-batch Adam steps a round, float32"
    rounds, turns = (4, 1) if quick else (20, 3)
    found = one_thread(task)
    for backend in ("eager",) if quick else ("eager", "xla"):
        found[backend] = in_own_process(measure, backend, (1, 2), rounds, turns)
    return found
