"""A library of pendulums: triplets and tests with a stiffness k, told or hidden (Fed-DeepONet, Experiment 4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from ..federated.partitions import deal
from ..numerics.spaces import grf
from ..papers.fed_deeponet.physics import (
    OUT_OF_DISTRIBUTION,
    both_tests,
    half_steps,
    pendulum_trajectories,
    pendulum_triplets,
    unseen_tests,
    with_stiffness,
)
from ..streams import stream


@dataclass(frozen=True)
class Library:
    """Triplets for (way to hand out k, "told" or "hidden"); way -> k of each triplet [N]; the clients' shards.

    k is "mixed", a random one for every triplet (the paper), or "own", one for each client.
    """

    sets: Mapping[tuple[str, str], Mapping[str, Tensor]]
    ks: Mapping[str, np.ndarray]
    shards: list[np.ndarray]


def triplets(n: int, m: int, length_scale: float, stiffness: tuple[float, float], clients: int, seed: int) -> Library:
    """n triplets with m sensors, four times: the same torques and times, dealt to the clients in the same way."""
    shards, own = deal(n, clients, stream(seed, "deal")), np.empty(n)
    for k, shard in zip(np.linspace(*stiffness, clients), shards, strict=True):
        own[shard] = k
    ks, sets = {"mixed": stream(seed, "k").uniform(*stiffness, n), "own": own}, {}
    for name, k in ks.items():
        found = pendulum_triplets(n, m, length_scale, stream(seed, "train"), k)
        for knows in ("told", "hidden"):
            sets[name, knows] = found | {"u": with_stiffness(found["u"], k, knows == "hidden")}
    return Library(sets, ks, shards)


@dataclass(frozen=True)
class LibraryTests:
    """torques [n, ...] on the half-step grid, each with a random k [n], and their trajectories; the unseen inputs.

    unseen_k: the random stiffnesses that each of the unseen inputs is tried with [3, draws].
    """

    torques: np.ndarray
    k: np.ndarray
    random: Mapping[str, Tensor]
    unseen_k: np.ndarray
    unseen: Mapping[str, Tensor]

    def told(self, hidden: bool) -> dict[str, Tensor]:
        """``both_tests`` with the stiffness behind the sensors, or hidden."""
        random = {**self.random, "u": with_stiffness(self.random["u"], self.k, hidden)}
        return both_tests(random, {**self.unseen, "u": with_stiffness(self.unseen["u"], self.unseen_k.ravel(), hidden)})


def tests(
    n: int, m: int, length_scale: float, stiffness: tuple[float, float], seed: int, draws: int = 20, name: str = "test"
) -> LibraryTests:
    """n torques with random stiffnesses of an interval, and every unseen input with several; name: of the streams."""
    k = stream(seed, f"{name} k").uniform(*stiffness, n)
    unseen_k = stream(seed, f"{name} unseen k").uniform(*stiffness, (len(OUT_OF_DISTRIBUTION), draws))
    u = grf(half_steps(m), n, length_scale, stream(seed, name))
    return LibraryTests(u, k, pendulum_trajectories(u, k), unseen_k, unseen_tests(m, unseen_k))


def paths(torques: np.ndarray, ks: Sequence[float]) -> np.ndarray:
    """Angle [n, K, m] of each torque with each of K pendulums."""
    return np.stack([pendulum_trajectories(torques, k)["x1"].numpy() for k in ks], axis=1)
