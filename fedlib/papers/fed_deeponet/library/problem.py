"""Experiment 4: pendulums of many stiffnesses k, of which the network is told or not. A level is the seconds T."""

from functools import cache

import numpy as np
from torch import Tensor

from ....federated.experiment import Data, Experiment
from ....federated.partitions import deal
from ....numerics.heterogeneity import hidden_parameter_floor
from ....numerics.solutions import pendulum
from ....numerics.spaces import grf
from ....streams import stream
from ..experiment import learning
from ..physics import (
    OUT_OF_DISTRIBUTION,
    SUBSTEPS,
    both_tests,
    half_steps,
    pendulum_trajectories,
    pendulum_triplets,
    unseen_tests,
    with_stiffness,
)

DEALT = ("mixed", "own")
"""How stiffnesses are handed out: a random one for every triplet, as in the paper, or one for each client."""

LOW, HIGH = 0.5, 1.5
"""Of the paper's stiffnesses k (1/s^2)."""


def stiffnesses(dealt: str, triplets: int, clients: int, seed: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """k of each triplet [N], and the triplets of each client."""
    owners = deal(triplets, clients, stream(seed, "deal"))
    if dealt == "mixed":
        return stream(seed, "k").uniform(LOW, HIGH, triplets), owners
    k = np.empty(triplets)
    for value, owner in zip(np.linspace(LOW, HIGH, clients), owners, strict=True):
        k[owner] = value
    return k, owners


def trajectories(
    n: int, draws: int, m: int, length_scale: float, T: float, seed: int, use: str = "test"
) -> dict[str, tuple[dict[str, Tensor], np.ndarray]]:  # fmt: skip
    """n random torques, "GRF", each with a random k; and each of the three "unseen" ones with several.

    Returns:
        name -> (what ``both_tests`` takes, k of each). use: of the streams, as of ``random_tests``.
    """
    k = stream(seed, f"{use} k").uniform(LOW, HIGH, n)
    unseen_k = stream(seed, f"{use} unseen k").uniform(LOW, HIGH, (len(OUT_OF_DISTRIBUTION), draws))
    torques = grf(half_steps(m), n, length_scale / T, stream(seed, use))
    return {
        "GRF": (pendulum_trajectories(torques, k, T), k),
        "unseen": (unseen_tests(m, unseen_k, T), unseen_k.ravel()),
    }


def with_k(sets: dict[str, tuple[dict[str, Tensor], np.ndarray]], hidden: bool) -> dict[str, Tensor]:
    """``both_tests`` of several trajectories, their stiffness behind the sensors, or hidden."""
    tests = {name: {**data, "u": with_stiffness(data["u"], k, hidden)} for name, (data, k) in sets.items()}
    return both_tests(tests.pop("GRF"), tests.pop("unseen"), **tests)


def library(
    dealt: str = "mixed", hidden: bool = False, alone: bool = False, clients: int = 50, triplets: int = 10_000,
    tests: int = 100, common: int = 3000, draws: int = 200, sensors: int = 100, length_scale: float = 0.2,
    use: str = "test",
) -> Experiment:  # fmt: skip
    """C clients who learn (u, k) -> angle on [0, T]; every seed has trajectories of its own, and the common ones.

    alone: client 1 and nobody else. draws: stiffnesses with which each unseen torque is tried. use: "validation" for
    trajectories by which one chooses.
    """

    @cache
    def shared(T: float):
        return trajectories(common, 1, sensors, length_scale, T, 0, "common test")["GRF"]

    @cache
    def data(T: float, seed: int) -> Data:
        k, owners = stiffnesses(dealt, triplets, clients, seed)
        pool = pendulum_triplets(triplets, sensors, length_scale, stream(seed, "train"), k, T)
        sets = trajectories(tests, draws, sensors, length_scale, T, seed, use) | {"common": shared(T)}
        pool, test = pool | {"u": with_stiffness(pool["u"], k, hidden)}, with_k(sets, hidden)
        return Data(pool, owners[:1] if alone else owners, test, partition=not alone)

    return learning("pendulums", data, sensors=sensors, inputs=1, level="seconds")


def family(torques: np.ndarray, stiffness: np.ndarray, T: float) -> np.ndarray:
    """Angle [n, K, m] of each torque [n, ...], on the half-step grid of T s, with each of K stiffnesses."""
    n, K = len(torques), len(stiffness)
    x = pendulum(np.repeat(torques, K, axis=0), np.tile(stiffness, n), T)  # all at once
    return x[:, ::SUBSTEPS, 0].reshape(n, K, -1)


def lowest(T: float, sensors: int = 100, length_scale: float = 0.2, n: int = 300, K: int = 11) -> float:
    """The floor (%) below which nobody is who is not told k, a mean over n of the common torques."""
    torques = grf(half_steps(sensors), n, length_scale / T, stream(0, "common test"))
    return 100 * hidden_parameter_floor(family(torques, np.linspace(LOW, HIGH, K), T)).mean()
