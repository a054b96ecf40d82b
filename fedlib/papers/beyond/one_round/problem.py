"""Beyond the papers: their problems solved by adding sums (``federated.sums``) instead of averaging models.

Models are linear in what is learnt: random sines, here; products of sines and polynomials (``windows``), principal
inputs (``pendulum``). How many, and how fast they swing, is chosen by generalised cross-validation: from the sums that
the clients send anyhow.
"""

import time
from collections.abc import Mapping, Sequence
from functools import cache, partial

import numpy as np
import torch
import xarray
from torch import Tensor

from ....federated import sums
from ....federated.experiment import Data, Experiment, data_of, halved
from ....federated.stack import parameter_count
from ....models.features import random_sines
from ....numerics.metrics import percent
from ....numerics.tabulated import tabulated
from ....streams import stream
from ...fedsciml.forward import problem as forward
from ...fedsciml.functions import problem as functions

EQUATIONS = {"poisson": forward.poisson, "helmholtz": forward.helmholtz}
"""Linear differential equations of notebook 05."""

OTHERS = {
    "wave": functions.gramacy_lee,
    "schaffer": partial(functions.schaffer, n=400),
    "beam": forward.euler_beam,
}
"""Functions of notebook 04 (Schaffer's with the points of notebook 11), and notebook 05's beam."""

MADE = EQUATIONS | OTHERS
DERIVATIVES = {"poisson": ("xx",), "helmholtz": ("xx+yy",), "wave": (), "schaffer": (), "beam": ("xxxx",)}


def equation_in_halves(name: str) -> Experiment:
    """An equation whose every second test point is for choosing a rate."""
    return halved(EQUATIONS[name]())


def with_sines(name: str, m: int, scale: float, seed: int) -> Experiment:
    """A problem with m random sines in the place of its network."""
    experiment, derivatives = MADE[name](), DERIVATIVES[name]
    net = random_sines(m, scale, experiment.coordinates, derivatives, stream(seed, "features", m))
    return experiment._replace(net=net if derivatives else net.net)  # functions ask for no derivatives, and take none


def start(experiment: Experiment) -> Tensor:
    """Zeros [P] in float64: where a linear model begins does not matter."""
    return torch.zeros(parameter_count(experiment.net), dtype=torch.float64)


def answers(experiment: Experiment, theta: Tensor, test: Mapping[str, Tensor]) -> np.ndarray:
    """What a model says at the test points of an equation, in float64."""
    test = {name: value.double() for name, value in test.items()}
    with torch.no_grad():
        return experiment.answer(sums.predicting(experiment, theta), test).numpy()


def error(experiment: Experiment, theta: Tensor, test: Mapping[str, Tensor]) -> float:
    """Relative L2 error (%)."""
    return percent(answers(experiment, theta, test), test["u"].double().numpy())


def in_one_round(
    name: str, levels: Sequence[int], seeds: Sequence[int], features: Sequence[int], scales: Sequence[float]
) -> xarray.Dataset:
    """A problem at all levels, each with one message of every client.

    gcv, error_of_all [m, scale, seed]: of all features that were tried, at the first level. m, scale: attributes, those
    with the least median of gcv. error (%), bytes that a client sends, seconds [level, seed]: with them.
    """

    def one_try(m: int, scale: float, seed: int) -> dict:
        experiment = with_sines(name, m, scale, seed)
        data = data_of(experiment, levels[0])
        solution = sums.one_round(experiment, data, start(experiment))
        return {"gcv": solution.gcv, "error_of_all": error(experiment, solution.step, data.test)}

    tried = tabulated(one_try, m=features, scale=scales, seed=seeds)
    i, j = np.unravel_index(np.median(tried.gcv, -1).argmin(), tried.gcv.shape[:2])

    def once(level: int, seed: int) -> dict:
        experiment = with_sines(name, features[i], scales[j], seed)
        solution, costs = timed_round(experiment, data := data_of(experiment, level))
        return {"error": error(experiment, solution.step, data.test), **costs}

    chosen = {"chosen_m": int(features[i]), "chosen_scale": float(scales[j])}
    return tried.merge(tabulated(once, level=levels, seed=seeds)).assign_attrs(chosen)


def timed_round(experiment: Experiment, data: Data) -> tuple[sums.Solution, dict]:
    """What one round of sums gives, with the bytes that a client sends, a mean, and the CPU's seconds."""
    began = time.process_time()
    messages = [sums.statistics(experiment, points, start(experiment)) for points in sums.parts(data)]
    solution = sums.solve(sums.added(messages))
    seconds = time.process_time() - began
    return solution, {"bytes": np.mean([message.bytes for message in messages]), "seconds": seconds}


@cache
def made(name: str) -> Experiment:
    """A problem with its network, made once: its points, which levels share, are kept with it."""
    return MADE[name]()


def bytes_of_all(name: str, level: int, tried: xarray.Dataset) -> float:
    """What a client sends of all features that were tried [m, scale], a mean over clients: cross-validation compares
    the sums of all of them."""
    owners = data_of(made(name), level).owners
    sizes = tried.m.values + 2  # columns: of m sines, of the constant, and r
    roots = [torch.empty(min(len(shard), m), m, dtype=torch.float64, device="meta") for shard in owners for m in sizes]
    return tried.sizes["scale"] * sum(sums.Sums(root, 0.0, True).bytes for root in roots) / len(owners)
