"""How things are measured: in turns, on one thread, the best of several; and what the machine could do at most."""

import contextlib
import multiprocessing
import os
import re
import resource
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from unittest.mock import patch

import torch
from torch.utils.flop_counter import FlopCounterMode

from fedlib.federated.backends import with_constants
from fedlib.federated.batches import n_steps
from fedlib.federated.reference import client_batches
from fedlib.federated.stack import stack
from fedlib.notebook.batch import kernel_environment
from fedlib.notebook.run import environment

from .problems import PROBLEMS, Problem
from .ways import ways_of


def in_own_process(function, *arguments):
    """A fresh process with one thread: no other measurement's compiled code, memory or warm cache. It may have
    processes of its own."""
    settings, spawn = kernel_environment() | {"OMP_NUM_THREADS": "1"}, multiprocessing.get_context("spawn")
    with patch.dict(os.environ, settings), ProcessPoolExecutor(1, spawn) as pool:
        return pool.submit(function, *arguments).result()


def one_thread(task: str) -> dict:
    """What was timed, and on what; the fresh processes that do the timing have one thread."""
    info = environment()
    info["hardware"]["threads"] = 1
    for peer in ("jax", "optax", "deepxde"):
        with contextlib.suppress(PackageNotFoundError):
            info["versions"][peer] = version(peer)
    return info | {"task": task, "began": datetime.now(UTC).isoformat("T", "seconds"), "load": load()}


def load() -> float:
    """How many processes wanted to run in the last minute, on average: ours is one of them."""
    return round(os.getloadavg()[0], 1)


def machine() -> str:
    """The kind of machine as a file's name: "amd-epyc-1-thread"."""
    cpu = environment()["hardware"]["cpu"]
    return re.sub(r"[^a-z0-9]+", "-", cpu.lower().replace("(r)", "").replace("(tm)", "")).strip("-") + "-1-thread"


def flops(problem: Problem) -> int:
    """Floating-point operations of the matrix products of a round: forward and backward, all clients, all steps."""
    experiment = problem.experiment
    loss, of_batch, total = with_constants(problem.loss, experiment.constants), {}, 0
    for fed, k in problem.clients:
        n, local = len(fed.shards[k]), experiment.local
        if n not in of_batch:
            batch = next(client_batches(problem.pool, fed, k, 0, local, experiment.noise))
            with FlopCounterMode(display=False) as counter:
                loss(experiment.net, batch).backward()
            of_batch[n] = counter.get_total_flops()
        total += of_batch[n] * n_steps(n, local)
    experiment.net.zero_grad()
    return total


def products(problem: Problem) -> list[tuple[Callable, int]]:
    """(a matrix product, its floating-point operations): the problem's own shape for 16 clients, and a large one."""
    shapes = ((16, *problem.product), (1, 1024, 1024, 1024))
    pairs = [(torch.randn(b, n, i), torch.randn(b, i, o), 2 * b * n * i * o) for b, n, i, o in shapes]
    return [(lambda x=x, y=y, out=x @ y: torch.bmm(x, y, out=out), count) for x, y, count in pairs]


SAME = 1e-2
"""How far a way may end from the plain loop, as a share of the way that this has gone: rounding, no other algorithm."""


def cpu_seconds_of(function: Callable, *arguments) -> float:
    """Time that the process computed during a call: what others do on the machine hardly changes it."""
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


def take_turns(problem: Problem, ways: Mapping[str, Callable], turns: int, seconds: float) -> dict:
    """CPU time of every way in turn, each for about so many seconds (a round at least); the best turn counts.

    Raises:
        ArithmeticError: after two rounds a way has other models than the first one, the plain loop.
    """
    torch.set_num_threads(1)
    start = stack(problem.experiment.net, [(fed.seed,) for fed, _ in problem.clients], problem.experiment.init)
    runs, found, share, expected = {}, {}, {}, None
    for name, way in ways.items():
        began = time.perf_counter()
        runs[name] = way(problem)
        runs[name](1)
        first = time.perf_counter() - began
        models = runs[name](1)
        expected = models if expected is None else expected
        gap, share[name] = models - expected[: len(models)], len(models) / len(expected)
        if not gap.norm() < SAME * (expected - start)[: len(models)].norm():
            raise ArithmeticError(f"{problem.name}: {name} ends {gap.abs().max():.1e} from the plain loop's weights")
        found[name] = {"first_round_s": round(first, 2), "largest_difference": float(f"{gap.abs().max():.1e}")}
    rounds = {name: max(1, round(seconds / cpu_seconds_of(run, 1))) for name, run in runs.items()}
    best, rate, matrices = dict.fromkeys(ways, float("inf")), 0.0, products(problem)
    for _ in range(turns):
        for name, run in runs.items():
            best[name] = min(best[name], 1e3 * cpu_seconds_of(run, rounds[name]) / rounds[name] / share[name])
        rate = max(rate, *(count / cpu_seconds_of(product) for product, count in matrices for _ in range(20)))
    return report(problem, best, rate, found)


def report(problem: Problem, ms: Mapping[str, float], rate: float, found: Mapping[str, dict]) -> dict:
    """The numbers of one problem; rate: floating-point operations per second of the fastest matrix product."""
    clients, count = problem.clients, flops(problem)
    steps = sum(n_steps(len(fed.shards[k]), problem.experiment.local) for fed, k in clients)
    limit, plain = 1e3 * count / rate, next(iter(ms.values()))
    ways = {
        name: {
            "ms_per_round": float(f"{t:.4g}"),
            "us_per_client_step": float(f"{1e3 * t / steps:.4g}"),
            "times_plain": float(f"{plain / t:.3g}"),
            "share_of_limit": float(f"{limit / t:.2g}"),
            **found[name],
        }
        for name, t in ms.items()
    }
    numbers = {"gflop_per_round": float(f"{count / 1e9:.3g}"), "matrix_gflop_per_s": round(rate / 1e9, 1)}
    limits = {"limit_ms": float(f"{limit:.3g}"), "limit_times_plain": float(f"{plain / limit:.3g}")}
    return {"clients": len(clients), "client_steps": steps} | numbers | limits | {"ways": ways}


def time_problem(name: str, arguments: tuple, turns: int, seconds: float) -> dict:
    """One problem, in one go: a fresh process can be given this function."""
    problem = PROBLEMS[name](*arguments)
    return {"problem": name} | take_turns(problem, ways_of(problem), turns, seconds)


def peak_memory(name: str, arguments: tuple, way: str | None) -> float:
    """Peak resident memory (MiB) of a process that plays two rounds in one way; None: that imports all, and waits."""
    torch.set_num_threads(1)
    problem = PROBLEMS[name](*arguments)
    ways = ways_of(problem)
    if way:
        ways[way](problem)(2)
    return round(peak_MiB())


def peak_MiB() -> float:
    """Peak resident memory of this process so far; Linux's own number starts anew with a new program, getrusage's does
    not: a child would show at least what its parent had."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
