"""Section 5.1: noisy observations of a sine, shared among clients in ten groups, one for each tenth of the interval."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ....federated.experiment import NONE, Data, Experiment
from ....federated.partitions import deal, focused
from ....streams import stream
from ..experiment import SCORES, evaluate, learning, scored, test_points, validation
from ..network import SNN

N, TESTED = 10_000, 200
"""Points that are observed; points where models are judged."""


def curve(x: np.ndarray) -> np.ndarray:
    """f(x) = sin x on [0, 2 pi]."""
    return np.sin(x)


def curve_grid(n: int = N) -> np.ndarray:
    """The n points 2 pi i / n, i = 0..n-1, of [0, 2 pi); the paper's 2e-4 pi i. None of its groups owns 2 pi."""
    return 2 * np.pi * np.arange(n) / n


def inputs(x: np.ndarray) -> Tensor:
    """Points [n] of [0, 2 pi] as inputs [n, 1] of a network, in [-1, 1]."""
    return torch.as_tensor(x / np.pi - 1)[:, None]


def growing(x: np.ndarray) -> np.ndarray:
    """A noise that grows with x: sigma from 0.05 at 0 to 0.2 at 2 pi."""
    return 0.05 + 0.15 * x / (2 * np.pi)


GROWING = "grows"
"""The level of this noise."""


class Sharing(NamedTuple):
    """Points that a client has of its own tenth, and in total of the others."""

    inside: int
    outside: int


SHARINGS = {
    "IID 110": None,
    "non-IID 110": Sharing(100, 10),
    "non-IID 60": Sharing(50, 10),
    "none outside": Sharing(110, 0),
    "30 outside": Sharing(80, 30),
    "60 outside": Sharing(50, 60),
}
"""Ways to share the points, the paper's three first. IID: 110 random points of all; others, too, have 110 in all, but
for 60."""


def owners(sharing: str, clients: int, seed: int, n: int = N) -> list[np.ndarray]:
    """Shards of a way of SHARINGS: client k of group m owns points of the m-th tenth of the n, and of the rest."""
    if SHARINGS[sharing] is None:
        return focused([np.arange(n)], n, clients, 110, 0, stream(seed, "iid"))
    inside, outside = SHARINGS[sharing]
    return focused(np.split(np.arange(n), 10), n, clients, inside, outside, stream(seed, "non-iid", inside))


def some(clients: int) -> list[int]:
    """Clients 1..K that are looked at one by one: of 100 clients 1, 25, 50, 76 and 100, as in the paper."""
    return sorted({1, clients // 4, clients // 2, 3 * clients // 4 + 1, clients})


def region(client: int, clients: int) -> tuple[float, float]:
    """(low, high) of the tenth of the interval that client 1..K knows."""
    tenth = (client - 1) * 10 // clients
    return tenth * np.pi / 5, (tenth + 1) * np.pi / 5


@cache
def standard(seed: int) -> np.ndarray:
    """e [N], the same for every sigma."""
    return stream(seed, "noise of the data").standard_normal(N)


def observed(seed: int, sigma: float | np.ndarray) -> dict[str, Tensor]:
    """The pool: y = f(x) + sigma e at all points; sigma: a number, or one for each point [N]."""
    x = curve_grid()
    return {"x": inputs(x), "y": torch.as_tensor(curve(x) + sigma * standard(seed))}


def tested(net: SNN, sigma: float, paths: int) -> dict[str, Tensor]:
    """``experiment.test_points`` of the curve."""
    x = curve_grid(TESTED)
    return test_points(net, inputs(x), curve(x), sigma, paths, "test paths")


def learner(
    name: str, data: Callable, level: str, score: str, sigma: float, tests: int, scores: bool = False,
    net: Mapping = NONE, **settings,
) -> Experiment:  # fmt: skip
    """An experiment on the curve, judged by its answers, or by ``scored``; net: arguments of ``SNN``."""
    made = SNN(1, 8, 16, **{"std": SCORES[score].std} | net)
    constants = tested(made, sigma, tests)
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
