"""Where sums for networks end: why nobody can walk on alone, and what the messages tell."""

from collections.abc import Sequence

import numpy as np
import torch
import xarray

from ....federated.experiment import data_of
from ....numerics.tabulated import tabulated
from ...fedsciml.forward import problem as forward
from ..points import Curve, points_behind, poisson_rows, spectrum_of
from .algorithm import beginning, descent, evaluate, hidden, joined, projected
from .problem import MEMORY, PROBLEMS, at_looks, data_at, start


def stiffness(
    name: str, level: int, seeds: Sequence[int], looks: Sequence[int], lengths: Sequence[float], ridge: float
) -> xarray.Dataset:
    """The loss a step of some length down L's gradient, after some evaluations: with the last layer "held", as a client
    sees it who walks on alone, and "solved" anew: loss [evaluation, seed, last layer, length], at the foot [evaluation,
    seed]. size: of the last layer; each: the mean norm of the clients' gradients, mean: the norm of their mean."""
    experiment = PROBLEMS[name].make()
    data = data_at(name, level)
    points = [{**data.pool, "w": torch.ones(len(data.pool["x"]))}]

    def walked(seed: int) -> dict:
        clients, _, last, absolute, n = beginning(experiment, data, start(experiment, seed), ridge, True)
        theta = projected(experiment, data, start(experiment, seed), max(looks), ridge, MEMORY).theta
        cells = []
        for model in at_looks(theta, looks):
            gradients = torch.stack([descent(experiment, shard, model, last)[0] for shard in clients])
            g, held, solved = gradients.sum(0), [], []
            for length in lengths:
                w = hidden(model, last) - length * g / g.norm()
                held.append(descent(experiment, points[0], joined(w, model[last], last), last)[1] / n)
                solved.append(evaluate(experiment, clients, w, last, absolute).loss / n)
            foot = evaluate(experiment, clients, hidden(model, last), last, absolute).loss / n
            scale = len(clients) / n
            each, mean = gradients.norm(dim=1).mean() * scale, g.norm() / n
            cells.append(([held, solved], foot, float(model[last].norm()), float(each), float(mean)))
        names, parts = ("loss", "foot", "size", "each", "mean"), zip(*cells, strict=True)
        dims = [("evaluation", "last layer", "length"), *[("evaluation",)] * 4]
        return {name: (dim, np.array(part)) for name, dim, part in zip(names, dims, parts, strict=True)}

    coords = {"evaluation": [*looks], "last layer": ["held", "solved"], "length": [*lengths]}
    return tabulated(walked, seed=seeds).assign_coords(coords)


def revealed(level: int, seeds: Sequence[int], looks: Sequence[int], ridge: float, size: int = 501) -> xarray.Dataset:
    """Notebook 13's attack on what Poisson's clients send in one evaluation: off [sums, evaluation, seed], the largest
    distance of a point from where it is guessed to be, from the sums of "one client" and from the "total"; products:
    independent ones of the features at these weights [evaluation, seed]. size: of the attack's grid."""
    experiment, grid = forward.poisson(), np.linspace(0, np.pi, size)
    data = data_of(experiment, level)
    x = np.sort(data.pool["x"][:, 0].double().numpy())
    first = np.sort(data.pool["x"][data.owners[0], 0].double().numpy())

    def attacked(seed: int) -> dict:
        _, _, last, _, _ = beginning(experiment, data, start(experiment, seed), ridge, True)
        models = projected(experiment, data, start(experiment, seed), max(looks), ridge, MEMORY).theta
        off, independent = [], []
        for model in at_looks(models, looks):
            rows = poisson_rows(experiment, joined(hidden(model, last), 0 * model[last], last), last)

            def curve(x: np.ndarray, rows: Curve = rows) -> np.ndarray:
                return rows(x)[:, :-1]

            J, spectrum = [curve(points) for points in (first, x)], spectrum_of(curve, grid)
            guesses = [points_behind(A.T @ A, len(A), spectrum) for A in J]
            off.append([np.abs(guess - points).max() for guess, points in zip(guesses, (first, x), strict=True)])
            independent.append(len(spectrum.s))
        return {"off": (("evaluation", "sums"), off), "products": ("evaluation", independent)}

    table = tabulated(attacked, seed=seeds).assign_coords(evaluation=[*looks], sums=["one client", "total"])
    return table.assign_attrs(points=[len(first), len(x)])
