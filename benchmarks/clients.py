"""A million clients: time and memory of a federation with 100 active clients in a round, and ever more idle ones."""

import time

import numpy as np
import torch
from torch import nn

from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.optimizers import adam, sgd
from fedlib.federated.rounds import play
from fedlib.models.networks import mlp

from .common import in_own_process, one_thread, peak_MiB

ACTIVE, POINTS, N = 100, 4, 10**6  # clients in a round, points of each; points in the pool
KEEPING = {"nothing": sgd, "Adam moments": adam}  # by each client, from round to round; 0.9 GB of 10^5


def squared_error(predict, batch):
    """(1/n) sum (N(x) - f(x))^2."""
    return (batch["w"] * (predict(batch["x"])[:, 0] - batch["f"]) ** 2).sum()


def rounds_of(K: int, keeping: str):
    """Endless rounds of K clients, 4 points each (they share points where that is more than the pool has)."""
    x = torch.linspace(-1, 1, N)[:, None]
    shards = np.resize(np.random.default_rng(0).permutation(np.arange(N, dtype=np.int32)), (K, POINTS))
    return play(
        mlp((1, 32, 32, 1), nn.Tanh), squared_error, {"x": x, "f": torch.sin(9 * x[:, 0])},
        [Federation(shards, fraction=ACTIVE / K)], local=Local(10), optimizer=KEEPING[keeping](), backend="eager",
    )  # fmt: skip


def measure(K: int, keeping: str, rounds: int) -> dict:
    """Of this process: ms per round (the fastest, after a first round), seconds before that, and peak memory."""
    began = time.perf_counter()
    played, times = rounds_of(K, keeping), []
    next(played)
    start = time.perf_counter() - began
    for _ in range(rounds):
        began = time.perf_counter()
        next(played)
        times.append(1e3 * (time.perf_counter() - began))
    return {"clients": K, "ms_per_round": min(times), "start_s": start, "peak_MiB": peak_MiB()}


def bench_clients(quick: bool = False) -> dict:
    """10^2 to 10^6 clients, each number in a fresh process of one thread; the best of turns.

    ratio: the largest of each against 10^3 clients, for clients who keep nothing. quick: 10^3 and 10^6 of these only.
    """
    counts, rounds = ([10**3, 10**6], 20) if quick else ([10**n for n in range(2, 7)], 50)
    turns = {"nothing": 1} if quick else {"nothing": 3, "Adam moments": 1}
    found = {}
    for keeping, n in turns.items():
        best = {K: {} for K in (counts[:-1] if keeping == "Adam moments" else counts)}
        for _ in range(n):
            for K in best:
                for name, value in in_own_process(measure, K, keeping, rounds).items():
                    best[K][name] = min(value, best[K].get(name, value))
        found[keeping] = [{name: round(value, 2) for name, value in one.items()} for one in best.values()]
    first, *more = [one for one in found["nothing"] if one["clients"] >= 10**3]
    ratio = {name: round(max(one[name] for one in more) / first[name], 2) for name in ("ms_per_round", "peak_MiB")}
    task = f"{ACTIVE} of K clients a round, 1-32-32-1 (tanh), {POINTS} points each, 10 full-batch steps, float32, eager"
    return one_thread(task) | {"kept by a client": found, "ratio": ratio}
