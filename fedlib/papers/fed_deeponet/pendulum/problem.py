"""Experiments 1 and 2: triplets dealt at random, so that all clients have seen the same kind of thing. A level is C."""

from functools import cache

import numpy as np

from ....federated.experiment import Data, Experiment
from ....federated.partitions import deal
from ....streams import stream
from ..experiment import common_tests, first_alone, learning
from ..physics import both_tests, pendulum_triplets, random_tests, unseen_tests


def owners(triplets: int, clients: int, seed: int) -> list[np.ndarray]:
    """Who owns which of a seed's triplets."""
    return deal(triplets, clients, stream(seed, "deal", clients))


def dealt(
    triplets: int = 10_000, tests: int = 100, common: int = 3000, sensors: int = 100, length_scale: float = 0.2,
    scale_time: bool = True,
) -> Experiment:  # fmt: skip
    """C clients; every seed has triplets, a start and ``tests`` trajectories of its own, and the common ones."""

    @cache
    def drawn(seed: int):
        sets = {"common": common_tests(sensors, length_scale, common)}
        test = both_tests(random_tests(tests, sensors, length_scale, seed), unseen_tests(sensors), **sets)
        return pendulum_triplets(triplets, sensors, length_scale, stream(seed, "train")), test

    def data(clients: int, seed: int) -> Data:
        pool, test = drawn(seed)
        return Data(pool, owners(triplets, clients, seed), test)

    return learning("pendulum", data, sensors=sensors, scale_time=scale_time)


def one_alone(
    triplets: int = 10_000, tests: int = 100, common: int = 3000, sensors: int = 100, length_scale: float = 0.2
) -> Experiment:
    """Client 1 of each federation of ``dealt`` and nobody else: all clients are alike, and one stands for them."""
    return first_alone(dealt(triplets, tests, common, sensors, length_scale))


def chosen_by(triplets: int = 10_000, tests: int = 100, sensors: int = 100, length_scale: float = 0.2) -> Experiment:
    """The same with trajectories by which settings are chosen: neither those of the tests nor of the training."""
    federation = dealt(triplets, tests, 2, sensors, length_scale)

    @cache
    def validation(seed: int):
        return both_tests(random_tests(tests, sensors, length_scale, seed, use="validation"), unseen_tests(sensors))

    def data(clients: int, seed: int) -> Data:
        return federation.data(clients, seed)._replace(validation=validation(seed))

    return federation._replace(data=data)
