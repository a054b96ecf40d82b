"""Section 5.1 as experiments: who observes the noisy sine where, alone, with two noises; all points in one place."""

from collections.abc import Callable, Mapping

import numpy as np

from ....federated.experiment import NONE, Data, Experiment
from ....federated.partitions import deal
from ....streams import stream
from ..experiment import SCORES, evaluate, learning, scored, validation
from ..network import SNN
from ..sine import N, curve_grid, growing, observed, owners, probes, some

GROWING = "grows"
"""The level of the noise that grows with x."""


def learner(
    name: str, data: Callable, level: str, score: str, sigma: float, tests: int, scores: bool = False,
    net: Mapping = NONE, **settings,
) -> Experiment:  # fmt: skip
    """An experiment on the curve, judged by its answers, or by ``scored``; net: arguments of ``SNN``."""
    made = SNN(1, 8, 16, **{"std": SCORES[score].std} | net)
    constants = probes(made, sigma, tests)
    judge = {"evaluate": scored, "constants": validation(constants)} if scores else {"evaluate": evaluate}
    return learning(name, made, score, data, level=level, **{"constants": constants} | judge | settings)


def shared(
    score: str = "energy score", clients: int = 100, sigma: float = 0.1, gradient: str = "autograd", tests: int = 100,
    scores: bool = False, paths: int | None = None,
) -> Experiment:  # fmt: skip
    """Who owns what, a level of SHARINGS. gradient: of network.READINGS. tests: paths at a test point. scores: judged
    by new observations, for choices. paths: M of the score."""

    def data(sharing: str, seed: int) -> Data:
        return Data(observed(seed, sigma), owners(sharing, clients, seed), partition=False)

    more = {"net": {"gradient": gradient}, "scores": scores, "paths": paths}
    return learner("noisy sine", data, "sharing", score, sigma, tests, **more)


def some_alone(clients: int = 100, sigma: float = 0.1, tests: int = 100) -> Experiment:
    """The clients ``some`` of each way of SHARINGS, and nobody else."""

    def data(sharing: str, seed: int) -> Data:
        shards = owners(sharing, clients, seed)
        return Data(observed(seed, sigma), [shards[k - 1] for k in some(clients)], partition=False)

    return learner("noisy sine, alone", data, "sharing", "energy score", sigma, tests)


def two_noises(clients: int = 100, sigma: float = 0.1, tests: int = 100) -> Experiment:
    """Every point has one owner; even clients observe with the sigma that is the level, odd ones with 2 sigma less
    it."""

    def data(quiet: float, seed: int) -> Data:
        shards = deal(N, clients, stream(seed, "dealt"))
        return Data(observed(seed, noise_of_points(shards, quiet, sigma)), shards)

    return learner("noisy sine, two noises", data, "quieter noise", "energy score", sigma, tests)


def noise_of_points(shards: list[np.ndarray], quiet: float, sigma: float) -> np.ndarray:
    """sigma of the observation at each point [N]."""
    spread = np.empty(N)
    for k, shard in enumerate(shards):
        spread[shard] = noise_of(k, quiet, sigma)
    return spread


def noise_of(k: int, quiet: float, sigma: float) -> float:
    """sigma of client k = 0, 1, ... of ``two_noises``."""
    return 2 * sigma - quiet if k % 2 else quiet


def one_place(
    score: str = "energy score", diffusion: str = "vector", tests: int = 100, paths: int | None = None
) -> Experiment:
    """One model that sees all points. A level: sigma of the data, or GROWING. diffusion: of network.DIFFUSIONS."""

    def data(sigma: float | str, seed: int) -> Data:
        spread = growing(curve_grid()) if sigma == GROWING else sigma
        return Data(observed(seed, spread), [np.arange(N)])

    more = {"net": {"diffusion": diffusion}, "paths": paths}
    return learner("noisy sine, all points", data, "noise", score, 0.1, tests, **more)
