"""The sweep of notebook 04 (Gramacy and Lee's function) against the authors' way, in one run on one thread.

The authors' way is DeepXDE's ``Model.train(iterations=E)`` per client and round, then the mean of the state
dicts. DeepXDE is an optional extra (``pip install -e .[deepxde]``); without it only our own ways are timed.
"""

import os
import time

import numpy as np
import torch
from torch import nn

from .datasets import gramacy_lee
from .federation import Federation, centralised, train
from .mixing import isolated
from .networks import glorot_uniform, mlp
from .partitions import index_rule
from .reference import fedavg_adam
from .sampling import Local

N, E, LR, WIDTHS = 200, 5, 1e-3, (1, 64, 64, 64, 1)
LEVELS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 25, 33, 50, 100)
SEEDS = 5


def squared_error(predict, batch):
    """(1/n) sum (N(x) - f(x))^2."""
    return (batch["w"] * (predict(batch["x"])[:, 0] - batch["f"]) ** 2).sum()


def pool():
    x = torch.linspace(-1, 1, N)[:, None]
    return {"x": x, "f": gramacy_lee(x[:, 0])}


def sweep(levels=LEVELS, seeds: int = SEEDS) -> list[Federation]:
    """Per seed one centralised model, and per level a federation of two clients and both clients alone."""
    feds = []
    for s in range(seeds):
        feds.append(centralised([np.arange(N)], lr=LR, seed=s))
        for shards in (index_rule(N, 2, p) for p in levels):
            feds += [Federation(shards, lr=LR, seed=s), Federation(shards, lr=LR, seed=s, mixing=isolated)]
    return feds


def engine(federations, rounds, compile):
    net = mlp(WIDTHS, nn.Tanh)
    return train(
        net, squared_error, pool(), federations, rounds=rounds, local_updates=E, init=glorot_uniform, compile=compile
    )


def deepxde_models(shards):
    """One compiled DeepXDE model per shard."""
    os.environ["DDE_BACKEND"] = "pytorch"
    import deepxde as dde

    data, models = {k: v.reshape(N, 1).numpy() for k, v in pool().items()}, []
    for own in shards:
        points = dde.data.DataSet(data["x"][own], data["f"][own], data["x"][own], data["f"][own])
        models.append(dde.Model(points, dde.nn.FNN(list(WIDTHS), "tanh", "Glorot uniform")))
        models[-1].compile("adam", lr=LR, verbose=0)
    return models


def deepxde_rounds(models, rounds: int) -> None:
    """FedAvg as the authors' scripts do it."""
    for _ in range(rounds):
        for model in models:
            model.train(iterations=E, verbose=0, display_every=10**9)
        states = [model.net.state_dict() for model in models]
        mean = {k: torch.stack([state[k] for state in states]).mean(0) for k in states[0]}
        for model in models:
            model.net.load_state_dict(mean)


def has_deepxde() -> bool:
    try:
        deepxde_models([np.arange(N)])
    except ImportError:
        return False
    return True


def seconds(way, rounds: int) -> float:
    start = time.perf_counter()
    way(rounds)
    return (time.perf_counter() - start) / rounds


def measure(repetitions: int = 3, rounds: int = 40) -> dict:
    """Best seconds per round of each way; the ways take turns. A sweep by DeepXDE is the sum of its parts."""
    torch.set_num_threads(1)
    pair, halves = [Federation(index_rule(N, 2, 1), lr=LR)], index_rule(N, 2, 1)
    ways = {
        "plain": lambda r: fedavg_adam(
            mlp(WIDTHS, nn.Tanh), squared_error, pool(), pair[0], rounds=r, local=Local(E), init=glorot_uniform
        ),
        "eager": lambda r: engine(pair, r, False),
        "compiled": lambda r: engine(pair, r, True),
        "sweep, compiled": lambda r: engine(sweep(), max(1, r // 10), True),
    }
    if has_deepxde():
        two, (one,), (everyone,) = (deepxde_models(s) for s in (halves, halves[:1], [np.arange(N)]))
        ways |= {
            "deepxde": lambda r: deepxde_rounds(two, r),
            "deepxde, client alone": lambda r: one.train(iterations=r * E, verbose=0, display_every=10**9),
            "deepxde, centralised": lambda r: everyone.train(iterations=r * E, verbose=0, display_every=10**9),
        }
    for way in ways.values():
        way(2)
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(repetitions):
        for name, way in ways.items():
            r = max(1, rounds // 10) * 10
            best[name] = min(best[name], seconds(way, r) * (10 if name.startswith("sweep") else 1))
    result = {"ms_per_round": {k: round(1e3 * v, 3) for k, v in best.items()}, "models_in_the_sweep": 5 + 4 * 5 * 19}
    if "deepxde" in best:
        per_level = best["deepxde"] + 2 * best["deepxde, client alone"]
        authors = SEEDS * (len(LEVELS) * per_level + best["deepxde, centralised"])
        result["ms_per_round"]["sweep, deepxde"] = round(1e3 * authors, 1)
        result["deepxde / compiled, one level"] = round(best["deepxde"] / best["compiled"], 2)
        result["deepxde / compiled, sweep"] = round(authors / best["sweep, compiled"], 2)
    return result
