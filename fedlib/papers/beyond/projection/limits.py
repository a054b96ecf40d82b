"""Where sums for networks end: several steps between two sums, faster waves, and what the messages tell."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
import xarray
from torch import Tensor

from ....federated.experiment import Experiment, data_of
from ....federated.mixing import fedavg
from ....numerics.tabulated import tabulated
from ...fedsciml.forward import problem as forward
from ..one_round.problem import error
from ..points import Curve, points_behind, poisson_rows, spectrum_of
from .algorithm import beginning, descent, evaluate, hidden, joined, projected
from .problem import MEMORY, PROBLEMS, at_looks, data_at, start, together


def stepped(
    experiment: Experiment, clients: Sequence[Mapping[str, Tensor]], w: Tensor, last: slice, ridge: float, E: int,
    lr: float, rounds: int, corrected: bool,
) -> tuple[Tensor, list[float]]:  # fmt: skip
    """The best model [P] after so many rounds, and L of each: a sum for the last layer c, then E steps of Adam at every
    client with c held, then the mean of the hidden weights. Moments stay with the clients.

    corrected: each adds the mean of all first gradients less its own, as the repair of notebook 11.
    """
    sizes = np.array([float(points["w"].sum()) for points in clients])
    n, K = sizes.sum(), len(clients)
    mean = torch.tensor(fedavg(sizes / n, np.ones(K, bool))[0])
    moments, t, best, losses = torch.zeros(2, K, len(w), dtype=w.dtype), 0, None, []
    for _ in range(rounds):
        new = evaluate(experiment, clients, w, last, ridge)
        losses.append(new.reduced / n)
        if best is None or losses[-1] < best[1]:
            best = new.theta, losses[-1]
        if not np.isfinite(losses[-1]):
            break
        c, local = new.theta[last], [w.clone() for _ in clients]
        for step in range(E):
            pairs = zip(clients, local, strict=True)
            g = torch.stack([descent(experiment, points, joined(v, c, last), last)[0] for points, v in pairs])
            g = g * K / n
            if step == 0:
                correction = (g.mean(0) - g) if corrected else 0 * g
            g, t = g + correction, t + 1
            moments = torch.stack([0.9 * moments[0] + 0.1 * g, 0.999 * moments[1] + 0.001 * g**2])
            unbiased = moments[0] / (1 - 0.9**t), moments[1] / (1 - 0.999**t)
            local = [v - lr * a / (b.sqrt() + 1e-8) for v, a, b in zip(local, *unbiased, strict=True)]
        w = mean @ torch.stack(local)
    return best[0], losses


def by_local_steps(
    name: str, level: int, seeds: Sequence[int], steps: Sequence[int], rates: Sequence[float], rounds: int, ridge: float
) -> xarray.Dataset:
    """See ``stepped``: error (%) and the least L of all rounds [corrected, E, lr, seed]. A rate is chosen by L, which
    the server knows."""
    experiment = PROBLEMS[name].make()
    data = data_at(name, level)

    def trained(corrected: bool, E: int, lr: float, seed: int) -> dict:
        clients, w, last, absolute, _ = beginning(experiment, data, start(experiment, seed), ridge, True)
        theta, losses = stepped(experiment, clients, w, last, absolute, E, lr, rounds, corrected)
        return {"error": error(experiment, theta, data.test), "loss": min(losses)}

    return tabulated(trained, corrected=[False, True], E=steps, lr=rates, seed=seeds)


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


def faster_waves(waves: Sequence[int], seeds: Sequence[int], looks: Sequence[int], ridge: float) -> xarray.Dataset:
    """Helmholtz' equation with so many half waves per axis, all points in one place: error (%) [half waves, evaluation,
    seed]."""

    def trained(waves: int, seed: int) -> dict:
        experiment = forward.helmholtz(k0=waves * np.pi)
        data = together(data_of(experiment, 2))
        theta = projected(experiment, data, start(experiment, seed), max(looks), ridge, MEMORY).theta
        return {"error": ("evaluation", [error(experiment, model, data.test) for model in at_looks(theta, looks)])}

    return tabulated(trained, waves=waves, seed=seeds).assign_coords(evaluation=[*looks])


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
