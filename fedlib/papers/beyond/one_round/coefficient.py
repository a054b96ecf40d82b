"""An unknown function in the equation, by one message: k(x) of FedSciML's Section 5.6 (notebook 06b).

0.01 u'' - k u = f holds a product of the two unknowns, so it is not linear. But clients own observations of u alone,
and in these u is linear: u = b sum_j c_j phi_j. What they know of c is the sum of their rows, sent once. The equation
and its points everybody knows, so the server takes all steps of Gauss-Newton for u and k by itself.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
import xarray
from torch import Tensor

from ....federated import sums
from ....federated.experiment import Experiment, data_of
from ....models.features import random_sines
from ....models.jets import VALUE_ONLY
from ....numerics.tabulated import tabulated
from ....streams import stream
from ...fedsciml.reaction.problem import Pair, constants, equation_points, reaction, residual, vanishing
from .problem import start

RIDGES = np.geomspace(1e-2, 1e-12, 11)
"""Tried one after the other, each from where the last one ended; below, rounding would be fitted."""

STEPS, STILL = 30, 1e-9  # of Gauss-Newton at a ridge, at most; it ends where a step is shorter than this share
SHOWN = slice(None, None, 10)  # of the 1001 test points, those where k is stored


def two_sums_of_sines(inside: int, ends: bool, sines: Sequence[int], scales: Sequence[float], seed: int) -> Experiment:
    """Notebook 06b's problem, u / b and k sums of so many random sines of these scales. Residuals: of observations."""

    def observed(predict: Callable, batch: dict[str, Tensor]) -> Tensor:
        return vanishing(batch["x"])[:, None] * predict(batch["x"], VALUE_ONLY)[0] - batch["u"][:, None]

    experiment, net = reaction(inside, ends), Pair()
    net.u = random_sines(sines[0], scales[0], "x", ("xx",), stream(seed, "features", sines[0]))
    net.k = random_sines(sines[1], scales[1], "x", (), stream(seed, "features of k", sines[1])).net
    return experiment._replace(net=net, residuals=observed, loss=None, constants={})


def message(experiment: Experiment, points: dict[str, Tensor], m: int) -> sums.Sums:
    """What a client sends: the root of its rows for u's m sines and a constant."""
    return sums.statistics(experiment, points, start(experiment), learnt=slice(m + 1))


def evidence(rows: sums.Sums, ridge: float) -> float:
    """-2 log of how likely rows [J, -y] are if y = J theta + noise, theta ~ N(0, a^2), noise ~ N(0, ridge a^2), at the
    best a; up to a constant:

        n log(y^T K^-1 y / n) + log det K,    K = J J^T + ridge I    (MacKay, 1992).
    """
    s, _, _, z, rest = sums.spectrum(rows)
    square = (z**2 / (s**2 + ridge)).sum() + rest / ridge
    return float(rows.n * (square / rows.n).log() + (s**2 + ridge).log().sum() + (rows.n - len(s)) * np.log(ridge))


def u_and_k(experiment: Experiment, total: sums.Sums, points: dict[str, Tensor]) -> tuple[Tensor, float]:
    """The server's work: factors theta [P] of u and of k from the clients' added message, and their evidence.

    points: of the equation. All rows count alike, those of the message and those of the equation. It begins with u of
    the observations alone, and k = 0, and takes of all ``RIDGES`` the one with the best (least) evidence.
    """
    equation = experiment._replace(residuals=lambda predict, batch: residual(predict, batch)[:, None])
    m, theta, tried = total.matrix.shape[1] - 1, start(experiment), []
    theta[:m] = sums.solve(total, RIDGES[0]).step
    R, r = total.matrix[:, :m], total.matrix[:, m:]
    observations = torch.cat([R, R.new_zeros(len(R), len(theta) - m), r], 1)
    for ridge in RIDGES:
        for _ in range(STEPS):
            A = sums.rows(equation, points, theta)
            A[:, -1] -= A[:, :-1] @ theta  # the residual of a linear model at 0
            rows = sums.Sums(torch.cat([observations, A]), total.n + len(A), True)
            before, theta = theta, sums.solve(rows, float(ridge)).step
            if (theta - before).norm() < STILL * theta.norm():
                break
        tried.append((evidence(rows, ridge), theta))
    score, theta = min(tried, key=lambda one: one[0])
    return theta, score


def coefficient_by_sums(
    inside: Sequence[int], with_ends: Sequence[int], levels: Sequence[int], seeds: Sequence[int], sines: Sequence[int],
    scales: Sequence[float], scales_of_k: Sequence[float],
) -> xarray.Dataset:  # fmt: skip
    """u and k at all levels of notebook 06b, each with one message of every client, by points of the equation.

    evidence, error_of_all [points, scale, scale_of_k, seed]: of all scales that were tried, at the first level.
    chosen_scale, chosen_scale_of_k [points]: with the least median of evidence. error_u, error_k (%), bytes that a
    client sends, a mean, and seconds [points, level, seed]; k [points, level, seed, x]: with them.
    """
    choices = {f"{n} inner": (n, False) for n in inside} | {f"{n} inner and 2 end": (n, True) for n in with_ends}

    def solved(points: str, level: int, seed: int, scales: Sequence[float]) -> dict:
        experiment, began = two_sums_of_sines(*choices[points], sines, scales, seed), time.process_time()
        data = data_of(experiment, level)
        messages = [message(experiment, part, sines[0]) for part in sums.parts(data)]
        theta, score = u_and_k(experiment, sums.added(messages), constants(equation_points(*choices[points])))
        seconds, predict = time.process_time() - began, sums.predicting(experiment, theta)
        with torch.no_grad():
            errors = {name: float(error) for name, error in experiment.evaluate(predict, data.test).items()}
            k = experiment.answer(predict, data.test)[SHOWN, 1].numpy()
        x = data.test["x"][SHOWN, 0].numpy()
        k = xarray.DataArray(k, {"x": x}, ["x"])
        return {"evidence": score, **errors, "k": k, "bytes": np.mean([m.bytes for m in messages]), "seconds": seconds}

    def one_try(points: str, scale: float, scale_of_k: float, seed: int) -> dict:
        one = solved(points, levels[0], seed, (scale, scale_of_k))
        return {"evidence": one["evidence"], "error_of_all": one["error_k"]}

    tried = tabulated(one_try, points=[*choices], scale=scales, scale_of_k=scales_of_k, seed=seeds)
    best = tried.evidence.median("seed").argmin(("scale", "scale_of_k"))
    chosen = xarray.Dataset({f"chosen_{name}": tried[name][i].drop_vars(name) for name, i in best.items()})

    def once(points: str, level: int, seed: int) -> dict:
        scales = [float(values.sel(points=points)) for values in chosen.values()]
        return {name: value for name, value in solved(points, level, seed, scales).items() if name != "evidence"}

    return xarray.merge([tried, chosen, tabulated(once, points=[*choices], level=levels, seed=seeds)])
