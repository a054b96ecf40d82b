"""The sweep of notebook 04 (Gramacy and Lee's function) against the authors' way, in one run on one thread.

The authors' way is DeepXDE's ``Model.train(iterations=E)`` per client and round, then the mean of the state
dicts. DeepXDE is an optional extra (``pip install -e .[deepxde]``); without it only our own ways are timed.
"""

from importlib.util import find_spec

import numpy as np
import torch
from torch import nn

from ..federated.batches import Local
from ..federated.federation import Federation, centralised
from ..federated.mixing import isolated
from ..federated.partitions import index_rule
from ..federated.reference import fedavg_adam
from ..federated.train import train
from ..models.networks import glorot_uniform, mlp
from ..problems.functions import gramacy_lee
from .common import best_ms, deepxde_rounds, import_deepxde, in_own_process, one_thread

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


def engine(federations, rounds, backend):
    net = mlp(WIDTHS, nn.Tanh)
    return train(
        net, squared_error, pool(), federations, rounds=rounds, local=Local(E), init=glorot_uniform, backend=backend
    )


def deepxde_models(shards):
    """One compiled DeepXDE model per shard."""
    dde = import_deepxde()
    data, models = {k: v.reshape(N, 1).numpy() for k, v in pool().items()}, []
    for own in shards:
        points = dde.data.DataSet(data["x"][own], data["f"][own], data["x"][own], data["f"][own])
        models.append(dde.Model(points, dde.nn.FNN(list(WIDTHS), "tanh", "Glorot uniform")))
        models[-1].compile("adam", lr=LR, verbose=0)
    return models


def deepxde_alone(model, rounds: int) -> None:
    """A client alone, or the centralised model: one uninterrupted ``train``."""
    model.train(iterations=rounds * E, display_every=10**9, verbose=0)


def measure(repetitions: int = 5, rounds: int = 200) -> dict:
    """Each way in ms per round. A sweep by DeepXDE is the sum of its parts."""
    halves, few = index_rule(N, 2, 1), max(2, rounds // 10)
    pair, everything = [Federation(halves, lr=LR)], sweep()
    plain = dict(rounds=rounds, local=Local(E), init=glorot_uniform)
    ways = {
        "plain": lambda: fedavg_adam(mlp(WIDTHS, nn.Tanh), squared_error, pool(), *pair, **plain),
        "eager": lambda: engine(pair, rounds, "eager"),
        "compiled": lambda: engine(pair, rounds, "inductor"),
        "sweep, compiled": lambda: engine(everything, few, "inductor"),
    }
    if find_spec("deepxde"):
        two, (one,), (union,) = (deepxde_models(s) for s in (halves, halves[:1], [np.arange(N)]))
        ways |= {
            "DeepXDE": lambda: deepxde_rounds(two, rounds, E),
            "DeepXDE, client alone": lambda: deepxde_alone(one, rounds),
            "DeepXDE, centralised": lambda: deepxde_alone(union, rounds),
        }
    best = {name: ms / (few if name.startswith("sweep") else rounds) for name, ms in best_ms(ways, repetitions).items()}
    models = sum(len(fed.shards) for fed in everything)
    result = {"models_in_the_sweep": models, "ms_per_round": {k: round(v, 2) for k, v in best.items()}}
    if "DeepXDE" in best:
        level = best["DeepXDE"] + 2 * best["DeepXDE, client alone"]
        authors = SEEDS * (len(LEVELS) * level + best["DeepXDE, centralised"])
        result["ms_per_round"]["sweep, DeepXDE"] = round(authors, 1)
        ratios = {"one level": best["DeepXDE"] / best["compiled"], "sweep": authors / best["sweep, compiled"]}
        result["DeepXDE / compiled"] = {k: round(v, 2) for k, v in ratios.items()}
    return result


def bench_sweep(quick: bool = False) -> dict:
    """The measurement in a fresh process of one thread, with the hardware it was made on."""
    task = f"1-64-64-64-1 (tanh), {E} full-batch Adam steps a round, float32, 2 clients x 100 points"
    return one_thread(task) | in_own_process(measure, *((2, 40) if quick else (5, 200)))
