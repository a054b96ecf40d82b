"""Trainings to play with in notebooks 01 to 03: a few clients learn the pendulum's operator."""

from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..federated.batches import Local
from ..federated.federation import Federation, centralised
from ..federated.partitions import deal, pick_sources, sorted_shards
from ..live.stage import MIXING, OPTIMIZERS
from ..live.watched import Watched
from ..models.networks import DeepONet, glorot_uniform
from ..numerics.metrics import relative_l2
from ..numerics.spaces import grf
from ..streams import stream
from . import pendulum

N, SENSORS, WIDTH, SCALE = 1000, 50, 40, 0.2


class Angles(NamedTuple):
    """Three test inputs u [3, m] and their angles x1 [3, m]; what each client owns, in words and numbers."""

    u: Tensor
    x1: Tensor
    label: str
    owned: list[np.ndarray]


@cache
def triplets(scale: float = SCALE, low: float = 1.0, high: float = 1.0) -> tuple[dict[str, Tensor], np.ndarray]:
    """N float32 triplets in the order of their stiffnesses k, which are evenly spread; and k [N]."""
    k = np.linspace(low, high, N)
    found = pendulum.pendulum_triplets(N, SENSORS, scale, stream(0, "live"), k)
    return {name: value.float() for name, value in found.items()}, k


@cache
def tests(n: int = 30, low: float = 1.0, high: float = 1.0) -> tuple[Tensor, Tensor, np.ndarray]:
    """Torques [n, m], angles [n, m], stiffnesses [n]; low < high: three torques, each with n / 3 stiffnesses."""
    u = grf(pendulum.half_steps(SENSORS), n if low == high else 3, SCALE, stream(1, "live"))
    u = u if low == high else np.tile(u, (n // 3, 1))
    k = np.repeat(np.linspace(low, high, n // 3), 3)
    found = pendulum.pendulum_trajectories(u, k)
    return found["u"].float(), found["x1"].float(), k


def learning(pool, shards, u: Tensor, x1: Tensor, shown: Angles, K: int, lr: float, optimizer: str = "Adam",
             mixing: str = "FedAvg", fraction: float = 1.0) -> Watched:  # fmt: skip
    """What all three have in common. u [n, branch], x1 [n, m]: what errors are measured on."""
    feds = {
        "federated": Federation(shards, mixing=MIXING[mixing], lr=lr, fraction=fraction),
        "centralised": centralised(shards, lr=lr),
    }
    net = DeepONet((u.shape[1], WIDTH, WIDTH), (1, WIDTH, WIDTH), domain=(0.0, 1.0))
    how = dict(local=Local(K, batch_size=50), optimizer=OPTIMIZERS[optimizer], init=glorot_uniform)
    times = pendulum.times(SENSORS)

    def error(predict):
        return 100 * relative_l2(predict(u[:, None], times), x1).mean()

    return Watched(net, pendulum.loss, pool, feds, how | {"dtype": torch.float32}, error, shown)


def dealt(clients: int = 5, fraction: float = 1.0, K: int = 20, lr: float = 0.003, optimizer: str = "Adam",
          mixing: str = "FedAvg") -> Watched:  # fmt: skip
    """Notebook 01: C clients with a random share each, a share alpha of them in a round, K local steps."""
    (pool, _), (u, x1, _) = triplets(), tests()
    shards = deal(N, clients, stream(0, "deal"))
    shown = Angles(u[:3], x1[:3], "targets s that a client owns (rad)", [pool["s"][own].numpy() for own in shards])
    return learning(pool, shards, u, x1, shown, K, lr, optimizer, mixing, fraction)


def skewed(data: str = "sorted shards", shards_each: int = 1, delta: float = 0.0, clients: int = 5, K: int = 20,
           optimizer: str = "Adam", lr: float = 0.003) -> Watched:  # fmt: skip
    """Notebook 02: "sorted shards", so many for each client; or "two fields", length scales l_1 and l_1 + delta."""
    (pool, _), (u, x1, _) = triplets(), tests()
    if data == "two fields":
        both = pool, triplets(SCALE + delta)[0]
        pool = {name: torch.cat([one[name] for one in both]) for name in pool}
        shards, _ = pick_sources(N, clients, stream(0, "sources"))
    else:
        shards = sorted_shards(pool["s"].numpy(), shards_each * clients, clients, stream(0, "shards"))
    shown = Angles(u[:3], x1[:3], "targets s that a client owns (rad)", [pool["s"][own].numpy() for own in shards])
    return learning(pool, shards, u, x1, shown, K, lr, optimizer)


def library(spread: float = 0.5, told: str = "told", clients: int = 5, K: int = 20, lr: float = 0.003) -> Watched:
    """Notebook 03: every client has pendulums of its own, of stiffnesses in [1 - spread, 1 + spread] in turn."""
    (pool, k), (u, x1, k_test) = triplets(SCALE, 1 - spread, 1 + spread), tests(30, 1 - spread, 1 + spread)
    hidden = told == "hidden"
    pool = pool | {"u": pendulum.with_stiffness(pool["u"], k, hidden)}
    u = pendulum.with_stiffness(u, k_test, hidden)
    shards, most = np.array_split(np.arange(N), clients), int(x1[:3].abs().amax(1).argmax())
    some = [
        most,
        len(u) // 6 * 3 + most,
        len(u) - 3 + most,
    ]  # the strongest torque, k from least to largest
    shown = Angles(u[some], x1[some], "stiffness k that a client owns", [k[own] for own in shards])
    return learning(pool, shards, u, x1, shown, K, lr)
