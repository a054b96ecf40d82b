"""Clouds of points, what moves one into another at the least cost, and what lies between: POT solves it.

A measure is a cloud of atoms x [n, d] with weights w [n].
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import ot

EXACT = {"numItermax": 1_000_000, "center_dual": False, "check_marginals": False}
"""POT's simplex until it is at its end. It neither checks weights nor centres duals, which takes as long as itself."""


class Measure(NamedTuple):
    """Atoms x [n, d] of any real dtype with weights w [n], all > 0, sum 1."""

    x: np.ndarray
    w: np.ndarray


def uniform(x: np.ndarray) -> Measure:
    """Equal weights on the rows of x [n, d]."""
    x = np.asarray(x, float)
    if x.ndim != 2 or not len(x):
        raise ValueError(f"a cloud of shape {x.shape}: expected [n, d] with at least one atom")
    return Measure(x, np.full(len(x), 1 / len(x)))


def cost(x: np.ndarray, y: np.ndarray, p: float) -> np.ndarray:
    """|x_i - y_j|^p, [n, m], in float64: squares of small integers would wrap around."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    return ot.dist(x, y, "sqeuclidean") if p == 2 else ot.dist(x, y, "euclidean") ** p


def check_measures(*measures: Measure) -> None:
    """ValueError where weights are counts or one is not positive, or an atom is NaN: POT takes them as they are."""
    for x, w in measures:
        w = np.asarray(w)
        if w.shape != (len(x),) or not (w > 0).all() or abs(w.sum() - 1) > 1e-6:
            raise ValueError(
                f"weights of shape {w.shape} for {len(x)} atoms, smallest {w.min():g}, sum {w.sum():g}; expected a "
                "number > 0 for each atom, sum 1: leave out what weighs nothing, and divide counts by their sum"
            )
        if not np.isfinite(x).all():
            raise ValueError(f"{(~np.isfinite(x)).any(1).sum()} of {len(x)} atoms are not finite; leave them out")


def plan(X: Measure, Y: Measure, p: float = 2) -> np.ndarray:
    """Optimal plan P [n, m] for the cost |x - y|^p; row sums X.w, column sums Y.w."""
    check_measures(X, Y)
    if X is Y:  # everything stays
        return np.diag(X.w)
    return ot.emd(X.w, Y.w, cost(X.x, Y.x, p), **EXACT)


def wasserstein(X: Measure, Y: Measure, p: float = 2) -> float:
    """W_p(X, Y), in the unit of the atoms."""
    check_measures(X, Y)
    return max(float(ot.emd2(X.w, Y.w, cost(X.x, Y.x, p), **EXACT)), 0.0) ** (1 / p)


def project(P: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Barycentric projection diag(1 / a) P y [n, d]: the mean of where each atom's mass goes."""
    return P @ y / P.sum(1, keepdims=True)


def interpolant(X: Measure, Y: Measure, t: float = 0.5, p: float = 2, exact: bool = False) -> Measure:
    """The measure at t on the geodesic from X (t = 0) to Y (t = 1).

    exact: an atom (1 - t) x_i + t y_j for every P_ij > 0, at most n + m - 1. Otherwise the barycentric approximation
    (1 - t) x + t diag(1 / a) P y on n atoms, which is exact where the plan is a map.
    """
    if not 0 <= t <= 1:
        raise ValueError(f"t = {t:g}: a geodesic runs from t = 0 to t = 1")
    P, x, y = plan(X, Y, p), np.asarray(X.x, float), np.asarray(Y.x, float)
    if exact:
        i, j = np.nonzero(P)
        return Measure((1 - t) * x[i] + t * y[j], P[i, j])
    return Measure((1 - t) * x + t * project(P, y), X.w)


def barycentric_map(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where POT's transport from the cloud x [n, d] to y [m, d] carries x, equal weights: [n, d]."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    return ot.da.EMDTransport(max_iter=1_000_000).fit(Xs=x, Xt=y).transform(Xs=x)


def objective(Q: np.ndarray, clients: Sequence[Measure], weights: Sequence[float] | None = None) -> float:
    """sum_i lambda_i W_2^2(Q, P_i), which the barycenter makes small. Needs all samples: for checks only."""
    weights = np.full(len(clients), 1 / len(clients)) if weights is None else weights
    return float(sum(w * wasserstein(uniform(Q), P) ** 2 for w, P in zip(weights, clients, strict=True)))
