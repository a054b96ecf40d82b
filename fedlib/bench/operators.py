"""Speed of a federated round of the antiderivative (2 clients x 100 functions x 100 points, E = 5, full batch).

``python -m fedlib bench operators`` prints JSON, from one run on one thread. DeepXDE, the authors' library, is
measured with ``TripleCartesianProd`` and ``DeepONetCartesianProd`` where it is installed (extra ``deepxde``).
"""

from importlib.util import find_spec

import numpy as np
import torch

from ..federated.backends import knowing
from ..federated.batches import Local
from ..federated.federation import Federation
from ..federated.mixing import isolated
from ..federated.reference import fedavg_adam
from ..federated.train import train
from ..models.networks import CartesianDeepONet, glorot_normal
from ..numerics.spaces import TERMS, chebyshev_draws
from ..problems.operators import learn_antiderivative, operator_loss
from ..streams import stream
from .common import best_ms, deepxde_federation, import_deepxde, in_own_process, one_thread, per_round

E, N, SEEDS = 5, 100, 5


def setting(levels=(TERMS,), seeds: int = 1):
    """Operator, pool, and one federation of a forward and an inverse client for each level and seed."""
    operator, draws, feds = learn_antiderivative(), [], []
    for s in range(seeds):
        for n in levels:
            first = N * len(draws)
            draws += [chebyshev_draws(k, n, N, stream(s, "bench", n, i)) for i, k in enumerate(("forward", "inverse"))]
            feds.append(Federation([np.arange(first, first + N), np.arange(first + N, first + 2 * N)], seed=s))
    return operator, operator.pairs(np.concatenate(draws)), feds


def engine(rounds: int, setting, backend: str):
    operator, pool, feds = setting
    net = CartesianDeepONet(operator.branch, operator.trunk)
    options = dict(rounds=rounds, local=Local(E), init=glorot_normal, backend=backend, constants=operator.constants())
    return lambda: train(net, operator_loss, pool, feds, **options).model(0)


def ways(rounds: int, compiled: bool = True) -> dict:
    """``rounds`` rounds of FedAvg with kept Adam moments at ONE level; each returns the federated weights [P]."""
    operator, pool, feds = one = setting()
    net, local = CartesianDeepONet(operator.branch, operator.trunk), Local(E)
    loss = knowing(operator_loss, {name: value.float() for name, value in operator.constants().items()})

    def plain():
        return fedavg_adam(net, loss, pool, feds[0], rounds=rounds, local=local, init=glorot_normal)

    found = {"plain loop": plain, "eager": engine(rounds, one, "eager")}
    found |= {"compiled": engine(rounds, one, "inductor")} if compiled else {}
    return found | ({"DeepXDE": deepxde_way(rounds, operator, pool, feds[0])} if find_spec("deepxde") else {})


def deepxde_way(rounds: int, operator, pool, fed):
    """The authors' way: one DeepXDE model per client, ``train`` for E iterations, then the mean of all weights."""
    dde = import_deepxde()
    y, models = operator.points.astype(np.float32), []
    for shard in fed.shards:
        u, s = (pool[name][torch.as_tensor(shard)].numpy() for name in ("u", "s"))
        data = dde.data.TripleCartesianProd((u, y), s, (u[:1], y), s[:1])  # a test set of one costs nothing
        net = dde.nn.DeepONetCartesianProd(list(operator.branch), list(operator.trunk), "relu", "Glorot normal")
        models.append(dde.Model(data, net))
        models[-1].compile("adam", lr=fed.lr, verbose=0)
    return deepxde_federation(models, rounds, E)


def figure_ways(rounds: int) -> dict:
    """The stack of Fig. 12: ten levels and five seeds, federated and isolated."""
    operator, pool, feds = setting(range(1, TERMS + 1), SEEDS)
    feds = feds + [Federation(f.shards, mixing=isolated, seed=f.seed) for f in feds]
    return {"compiled, whole figure": engine(rounds, (operator, pool, feds), "inductor")}


def time_rounds(rounds: int, repetitions: int) -> dict:
    """Each way in ms per round, in one go (a fresh process can be given this function, not the ways themselves)."""
    return per_round(ways(rounds), rounds, repetitions)


def time_figure(rounds: int, repetitions: int) -> dict:
    """ms per round of the whole stack, and per pair of clients."""
    (ms,) = best_ms(figure_ways(rounds), repetitions).values()
    ms /= rounds
    return {
        "models": 4 * TERMS * SEEDS,
        "ms_per_round": round(ms, 1),
        "per_two_clients": round(ms / (2 * TERMS * SEEDS), 2),
    }


def bench_operators(quick: bool = False) -> dict:
    """The measurements in fresh processes of one thread, with the hardware they were made on."""
    task = f"antiderivative, DeepONet 100-40-40 / 1-40-40, 2 clients x {N} functions x 100 points, "
    task += f"{E} full-batch Adam steps a round, float32"
    one = in_own_process(time_rounds, 20, 2 if quick else 12)
    return one_thread(task) | one | {"figure": in_own_process(time_figure, 5, 1 if quick else 5)}
