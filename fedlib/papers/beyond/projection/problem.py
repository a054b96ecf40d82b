"""Beyond the papers: their networks trained by sums (``algorithm``), beside the same optimiser without them.

Networks, points, tests and starts are those of notebooks 04, 05 and 11. The ridge is chosen at points between those of
the training: each client knows the equation there, too. The solution is not used.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
import xarray
from scipy.optimize import minimize
from torch import Tensor

from ....federated import sums
from ....federated.experiment import Data, Experiment, data_of
from ....federated.stack import draw_parameters
from ....numerics.tabulated import tabulated
from ....streams import torch_stream
from ...fedsciml.forward import problem as forward
from ...fedsciml.functions import problem as functions
from ..one_round.problem import answers, error
from .algorithm import projected

TOGETHER = 1
"""The level of all points in one place."""

MEMORY = 50  # pairs of L-BFGS, with and without projection


class Problem(NamedTuple):
    """make: the experiment. between: tensors at points that choose the ridge, none of the training's. points: the level
    whose points stand in one place, where levels differ in them."""

    make: Callable[[], Experiment]
    between: Callable[[], dict[str, Tensor]]
    points: int = 2


def other_blocks(n: int = 400) -> dict[str, Tensor]:
    """Helmholtz' equation at the points inside 5 x 5 blocks; on the boundary it is trained."""
    return {name: values[:n] for name, values in data_of(forward.helmholtz(), 5).pool.items()}


def square(n: int = 400) -> Experiment:
    """Schaffer's rings, with the points of notebook 11."""
    return functions.schaffer(n=n)


def pool_of(make: Callable[..., Experiment], n: int, every: slice = slice(None)) -> dict[str, Tensor]:
    """What is known at every so many of the n points of an experiment."""
    return {name: values[every] for name, values in data_of(make(n=n), 2).pool.items()}


PROBLEMS = {
    "poisson": Problem(forward.poisson, lambda: pool_of(forward.poisson, 63, slice(1, None, 2))),
    "helmholtz": Problem(forward.helmholtz, other_blocks, points=4),
    "wave": Problem(functions.gramacy_lee, lambda: pool_of(functions.gramacy_lee, 399, slice(1, None, 2))),
    "schaffer": Problem(square, lambda: pool_of(square, 301)),
    "beam": Problem(forward.euler_beam, lambda: pool_of(forward.euler_beam, 101, slice(0, 101, 2))),
}


def start(experiment: Experiment, seed: int) -> Tensor:
    """FedAvg's own start [P], in float64."""
    return draw_parameters(experiment.net, experiment.init, torch_stream(seed, "init")).double()


def mean_square(experiment: Experiment, theta: Tensor, points: Mapping[str, Tensor]) -> Tensor:
    """The loss of theta [P] at all of some points, a scalar."""
    points, constants, _ = sums.in_dtype(experiment, points, theta.dtype)
    return experiment.residuals(sums.predicting(experiment, theta), points | constants).square().mean()


def together(data: Data) -> Data:
    """The same points at one client."""
    return data._replace(owners=[np.arange(len(next(iter(data.pool.values()))))])


def data_at(name: str, level: int) -> Data:
    """The data of a problem at a level; at TOGETHER one client owns all points."""
    make, _, points = PROBLEMS[name]
    return together(data_of(make(), points)) if level == TOGETHER else data_of(make(), level)


def at_looks(values: Sequence, looks: Sequence[int]) -> list:
    """After so many evaluations each; where it has ended, the last one stays."""
    return [values[min(look, len(values)) - 1] for look in looks]


def by_sums(
    name: str, levels: Sequence[int], seeds: Sequence[int], looks: Sequence[int], ridges: Sequence[float],
    tuning: Sequence[int], tuned: int,
) -> xarray.Dataset:  # fmt: skip
    """Variable projection by sums, with the ridge of the least median score.

    levels: TOGETHER, too. looks: numbers of evaluations. tuning: seeds that choose, none of ``seeds``, with all points
    of the level 2 in one place and ``tuned`` evaluations.

    Returns:
        tried [ridge, tuning]: mean square residual between the points. error (%), loss [evaluation, level, seed], bytes
        that a client has sent, a mean [evaluation, level, seed], score: the last model's between the points, the CPU's
        seconds of all clients and the server, and how many evaluations it took [level, seed]. On a line: u [evaluation,
        level, x], of the first seed. Attribute chosen_ridge; of equal ones the largest.
    """
    experiment, between = PROBLEMS[name].make(), PROBLEMS[name].between()

    def scored(ridge: float, tuning: int) -> dict:
        data = together(data_of(experiment, 2))
        theta = projected(experiment, data, start(experiment, tuning), tuned, ridge, MEMORY).theta[-1]
        return {"tried": mean_square(experiment, theta, between).item()}

    tried = tabulated(scored, ridge=sorted(ridges, reverse=True), tuning=tuning)
    ridge = tried.tried.median("tuning").idxmin("ridge").item()

    def trained(level: int, seed: int) -> dict:
        data, began = data_at(name, level), time.process_time()
        iterates = projected(experiment, data, start(experiment, seed), max(looks), ridge, MEMORY)
        seconds = time.process_time() - began
        models = at_looks(iterates.theta, looks)
        sent = np.array(at_looks(iterates.bytes, looks)) / len(data.owners)
        errors = [error(experiment, theta, data.test) for theta in models]
        curves = {"error": errors, "loss": at_looks(iterates.loss, looks), "bytes": sent}
        table = {what: ("evaluation", values) for what, values in curves.items()}
        if experiment.coordinates == "x":
            test = places(data)
            u = [answers(experiment, theta, test).astype(np.float32) for theta in models]
            table["u"] = xarray.DataArray(u, {"x": test["x"][:, 0].numpy()}, ("evaluation", "x"))
        score = mean_square(experiment, iterates.theta[-1], between).item()
        return table | {"score": score, "seconds": seconds, "evaluations": len(iterates.loss)}

    table = tabulated(trained, level=levels, seed=seeds).assign_coords(evaluation=[*looks])
    if "u" in table:
        table["u"] = table.u.isel(seed=0, drop=True)
    return tried.merge(table.transpose("evaluation", "level", "seed", ...)).assign_attrs(chosen_ridge=ridge)


def places(data: Data, most: int = 200) -> dict[str, Tensor]:
    """At which a curve is kept: every so many of the test points."""
    every = -(-len(data.test["x"]) // most)
    return {name: values[::every] for name, values in data.test.items()}


def without_projection(name: str, seeds: Sequence[int], looks: Sequence[int]) -> xarray.Dataset:
    """L-BFGS on all weights at once, the last layer's, too, with all points in one place; error (%), loss [evaluation,
    seed], the CPU's seconds and how many evaluations it took [seed]. By added gradients it would be the same."""
    experiment = PROBLEMS[name].make()

    def trained(seed: int) -> dict:
        data, seen, began = data_at(name, TOGETHER), [], time.process_time()

        def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
            theta = torch.from_numpy(theta.copy()).requires_grad_()
            value = mean_square(experiment, theta, data.pool)
            (gradient,) = torch.autograd.grad(value, theta)
            new = value.item(), theta.detach()
            seen.append(min([*seen[-1:], new], key=lambda one: one[0]))
            return new[0], gradient.numpy()

        options = {"maxcor": MEMORY, "maxfun": max(looks), "maxiter": max(looks), "ftol": 0, "gtol": 0}
        minimize(loss, start(experiment, seed).numpy(), jac=True, method="L-BFGS-B", options=options)
        seconds, best = time.process_time() - began, at_looks(seen[: max(looks)], looks)
        errors = [error(experiment, theta, data.test) for _, theta in best]
        curves = {"error": ("evaluation", errors), "loss": ("evaluation", [value for value, _ in best])}
        return curves | {"seconds": seconds, "evaluations": len(seen)}

    table = tabulated(trained, seed=seeds).assign_coords(evaluation=[*looks])
    return table.transpose("evaluation", "seed")
