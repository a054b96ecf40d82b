"""Unknown numbers in the equation, by one message: C1 and C2 of FedSciML's Section 5.5 (notebook 06), with the flow
behind a cylinder and its pressure, which nobody has observed.

As in ``coefficient``, only observations are divided, here of the velocity, and in these the model is linear: a stream
function psi and a pressure p, both sums of random sines; u = 1 + psi_y and v = -psi_x, so that nothing is lost, and the
inflow is 1. Navier-Stokes' equations and their points everybody knows. The server does all the rest alone.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
import xarray
from torch import Tensor, nn
from torch.func import jacrev, vmap

from ....federated import sums
from ....federated.experiment import Experiment, data_of
from ....models.features import random_sines
from ....models.jets import VALUE_ONLY, Jet
from ....numerics.tabulated import tabulated
from ....streams import stream
from ...fedsciml.flow.problem import TRUTH, WithCoefficients, field_errors, flow, navier_stokes, residual_points
from .problem import start
from .table import chosen

SHAPE = (1, 1.5, 1 / 6)
"""How fast sines swing in x, y, t: the wake changes more across than along, and little in the time that is seen."""

RIDGES = (1e-2, 1e-3, 1e-4)
"""Tried one after the other, each from where the last one ended."""

STEPS, STILL = 8, 0.01  # of Gauss-Newton at a ridge, at most; it ends where the score moves by less than this share

PSI = {"": "yx", "x": ("xy", "xx"), "y": ("yy", "xy"), "t": ("ty", "tx"), "xx+yy": ("xxy+yyy", "xxx+xyy")}
"""Channel of the flow -> what u and -v are of psi."""


class Stream(nn.Module):
    """(x, y, t) -> u = 1 + psi_y, v = -psi_x, p, with their jets: what notebook 06's network answers.

    psi is a sum of m random sines, p of two fifths as many. scale: st.dev. of their frequencies in x, see SHAPE. They
    move downstream: x is x - drift t.
    """

    def __init__(self, m: int, scale: float, drift: float, seed: int):
        super().__init__()
        channels = {"psi": [name for names in PSI.values() for name in names], "p": [*PSI][1:]}
        for (name, derivatives), many in zip(channels.items(), (m, 2 * m // 5), strict=True):
            rng = stream(seed, f"features of {name}", many)
            net = random_sines(many, scale * np.array(SHAPE), "xyt", derivatives, rng)
            net.net[0].weight[:, 2] -= drift * net.net[0].weight[:, 0]
            setattr(self, name, net)

    def forward(self, x: Tensor, value_only: bool = False) -> Jet | Tensor:
        """x [n, 3] -> jet of (u, v, p), each [n, 3], or its value."""
        psi, p = self.psi(x), self.p(x)
        jet = {name: torch.cat([psi[a], -psi[b], p[name]], 1) for name, (a, b) in PSI.items()}
        jet[""] = jet[""] + jet[""].new_tensor([1.0, 0.0, 0.0])
        return jet[""] if value_only else Jet(jet)


def flow_of_sines(m: int, scale: float, drift: float, seed: int) -> Experiment:
    """Notebook 06's problem with ``Stream`` in the place of its network. Residuals: of observations."""

    def observed(predict: Callable, batch: dict[str, Tensor]) -> Tensor:
        return predict(batch["x"], VALUE_ONLY)[0][:, :2] - batch["u"]

    net = WithCoefficients(Stream(m, scale, drift, seed), [0.0] * len(TRUTH))
    return flow()._replace(net=net, residuals=observed, loss=None, constants={})


def psi_of(experiment: Experiment) -> tuple[slice, Tensor]:
    """Which parameters are those of psi's sines, and their squared wave numbers in x and y [m]."""
    k2 = experiment.net.net.psi.net[0].weight[:, :2].square().sum(1)
    return slice(len(TRUTH), len(TRUTH) + len(k2)), k2


def message(experiment: Experiment, points: dict[str, Tensor]) -> sums.Sums:
    """What a client sends: the root of its rows for psi."""
    return sums.statistics(experiment, points, start(experiment), learnt=psi_of(experiment)[0])


# at the server


class Fields(NamedTuple):
    """Jets of (u, v, p) at the points of the equation, J theta + offset: [n, 15, P], [n, 15]."""

    J: Tensor
    offset: Tensor

    def momentum(self, theta: Tensor) -> Tensor:
        """Rows [2 n, P + 1] of the two momentum equations, linear as they are at theta [P], as rows at 0."""
        C, jets = theta[: len(TRUTH)], self.J @ theta + self.offset
        by_jet, by_C = vmap(jacrev(momentum, (0, 1)), (0, None))(jets, C)
        A = by_jet @ self.J
        A[..., : len(C)] += by_C
        r = vmap(momentum, (0, None))(jets, C)
        return torch.cat([A, (r - A @ theta)[..., None]], -1).flatten(0, 1)


def momentum(jet: Tensor, C: Tensor) -> Tensor:
    """What is left over in the two momentum equations at a point, [2], of the jet of (u, v, p) there, [15]."""
    return navier_stokes(dict(zip(PSI, jet.reshape(len(PSI), 1, 3), strict=True)), C)[0, :2]


def fields(experiment: Experiment, points: Tensor) -> Fields:
    """The jets of a model that is linear but for C, at points [n, 3]."""

    def jet(theta: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        values = torch.cat([*sums.predicting(experiment, theta)(x[None])[0].values()], 1)[0]
        return values, values

    return Fields(*vmap(jacrev(jet, has_aux=True), (None, 0), chunk_size=sums.CHUNK)(start(experiment), points))


def ridged(A: Tensor, n: float, ridge: Tensor) -> tuple[Tensor, float]:
    """theta [P] with the least |J theta + r|^2 + sum_j ridge_j theta_j^2, of rows A = [J, r], and its score by
    ``sums.cross_validation``'s rule; n: how many rows A stands for."""
    J, r = A[:, :-1], A[:, -1]
    root = torch.linalg.cholesky(J.T @ J + ridge.diag())
    theta = -torch.cholesky_solve((J.T @ r)[:, None], root)[:, 0]
    free = n - len(theta) + float(ridge @ torch.cholesky_inverse(root).diagonal())
    return theta, n * float((J @ theta + r).square().sum()) / free**2


def solved(experiment: Experiment, total: sums.Sums, points: Tensor) -> tuple[Tensor, float]:
    """The server's work: theta [P] from the clients' added message and the equation at points [n, 3], with the ridge of
    RIDGES whose score is least, and that score.

    All rows count alike; a sine of psi counts in the ridge as its velocity does. It begins with the flow of the
    observations alone, and C1 = C2 = 0.
    """
    equation, theta, (psi, k2), tried = fields(experiment, points), start(experiment), psi_of(experiment), []
    weights = torch.ones_like(theta)
    weights[psi] = k2
    A = total.matrix.new_zeros(len(total.matrix), len(theta) + 1)
    A[:, psi], A[:, -1] = total.matrix[:, :-1], total.matrix[:, -1]
    theta, score = ridged(A, total.n, RIDGES[0] * weights)
    for ridge in RIDGES:
        for _ in range(STEPS):
            rows = torch.cat([A, equation.momentum(theta)])
            before, (theta, score) = score, ridged(rows, total.n + 2 * len(points), ridge * weights)
            if abs(score / before - 1) < STILL:
                break
        tried.append((score, theta))
    score, theta = min(tried, key=lambda one: one[0])
    return theta, score


def flow_in_one_round(
    seeds: Sequence[int], features: Sequence[int], scales: Sequence[float], drifts: Sequence[float],
    residual: Sequence[int] = (700, 200, 100), level: int = 2,
) -> xarray.Dataset:  # fmt: skip
    """C1, C2, velocity and pressure of notebook 06, each with one message of every client; residual: how many
    ``residual_points``.

    gcv, error_of_all (%, of the pressure), bytes that a client sends [m, scale, drift]: of all sines that were tried,
    at the first seed. error (%) [seed, quantity], seconds [seed]: of the sines with the least gcv.
    """
    points = residual_points(*residual)

    def one(m: int, scale: float, drift: float, seed: int) -> dict:
        experiment, began = flow_of_sines(m, scale, drift, seed), time.process_time()
        data = data_of(experiment, level, seed)
        messages = [message(experiment, part) for part in sums.parts(data)]
        theta, gcv = solved(experiment, sums.added(messages), points)
        seconds, predict = time.process_time() - began, sums.predicting(experiment, theta)
        with torch.no_grad():
            errors = field_errors(experiment.answer(predict, data.test), data.test["u"])
        C = 100 * (theta[: len(TRUTH)] / torch.tensor([*TRUTH.values()]) - 1).abs()
        errors = dict(zip(TRUTH, C, strict=True)) | errors
        error = xarray.DataArray([float(e) for e in errors.values()], {"quantity": [*errors]}, ["quantity"])
        return {"gcv": gcv, "error": error, "bytes": np.mean([m.bytes for m in messages]), "seconds": seconds}

    def one_try(m: int, scale: float, drift: float) -> dict:
        tried = one(m, scale, drift, seeds[0])
        error = float(tried["error"].sel(quantity="pressure"))
        return {"gcv": tried["gcv"], "error_of_all": error, "bytes": tried["bytes"]}

    tried = tabulated(one_try, m=features, scale=scales, drift=drifts)
    best = chosen(tried)

    def once(seed: int) -> dict:
        values = one(int(best.m), float(best.scale), float(best.drift), seed)
        return {name: values[name] for name in ("error", "seconds")}

    return tried.merge(tabulated(once, seed=seeds))
