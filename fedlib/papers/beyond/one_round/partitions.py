"""One round of sums gives the same answers for random owners."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray

from ....federated import sums
from ....federated.experiment import Data, Experiment
from ....numerics.tabulated import tabulated
from ....streams import stream
from .curve import noisy
from .pendulum import linear_pendulum
from .problem import start, with_sines


def random_owners(data: Data, rng: np.random.Generator) -> Data:
    """The same points with up to eight clients, ragged, some of them without any."""
    n, K = len(next(iter(data.pool.values()))), rng.integers(1, 9)
    owner = rng.choice(K, n, p=rng.dirichlet(np.full(K, 0.3)))
    return data._replace(owners=[np.flatnonzero(owner == k) for k in range(K)])


def linear_problems(features: Mapping[str, Sequence], triplets: int) -> dict[str, tuple[Experiment, Data]]:
    """Name -> (experiment, data) of what one round solves; features: (m, scale) of an equation's sines."""
    cases = {name: with_sines(name, m, scale, 0) for name, (m, scale) in features.items()}
    cases["pendulum"] = linear_pendulum(8, 10, triplets)
    cases["noisy curve"] = noisy(20, 1.0, 100, 0)
    levels = {"poisson": 8, "helmholtz": 4, "pendulum": 20, "noisy curve": None}
    return {name: (case, case.data(levels[name], 0)) for name, case in cases.items()}


def whoever_owns_what(number: int, features: Mapping[str, Sequence], triplets: int = 2000) -> xarray.Dataset:
    """How far the answers of one round are from the centralised ones, relative to their norm [problem, partition]."""
    cases = linear_problems(features, triplets)

    def gaps(problem: str) -> dict:
        experiment, data = cases[problem]
        everything = sums.rows(experiment, data.pool, start(experiment))
        J, whole = everything[:, :-1], data._replace(owners=[np.arange(len(everything))])
        centralised = sums.one_round(experiment, whole, start(experiment))
        truth, rng = J @ centralised.step, stream(0, "partitions", [*cases].index(problem))
        dealt = (random_owners(data, rng) for _ in range(number))
        steps = [sums.one_round(experiment, owned, start(experiment), centralised.ridge).step for owned in dealt]
        return {"gap": ("partition", [float((J @ step - truth).norm() / truth.norm()) for step in steps])}

    return tabulated(gaps, problem=[*cases])
