"""What sums tell of the points that they were taken over.

G = sum_i a(x_i) a(x_i)^T is linear in the measure of the points, sum_i delta(x_i), and everybody knows the curve a: the
features. So G is as many equations for n unknown points as the curve has independent products a_j a_k. It does not
matter whether G is one client's, or the total of all.
"""

from collections.abc import Callable, Mapping

import numpy as np
import torch
import xarray
from scipy.optimize import least_squares, nnls
from torch import Tensor

from ...federated.pinn import Equation, pinn
from ...notebook.claims import Verdict

SOFTENED = (1e-12, 1e-9, 1e-6)
"""Added to the singular values by which equations are divided, in units of the largest: near points differ in small
ones only, so the search begins with nearly equal equations; but rounding is as large in all, and so it ends."""


def products(rows: np.ndarray) -> np.ndarray:
    """The products a_j a_k, j <= k, of each row: [T, m] -> [T, m (m + 1) / 2]."""
    j, k = np.triu_indices(rows.shape[1])
    return rows[:, j] * rows[:, k]


def independent_products(curve: Callable[[np.ndarray], np.ndarray], grid: np.ndarray) -> int:
    """How many products of features are linearly independent on a grid [T], to rounding (numpy's matrix_rank).

    curve: x [T] -> features a(x) [T, m].
    """
    return int(np.linalg.matrix_rank(products(curve(grid))))


def points_behind(G: np.ndarray, n: int, curve: Callable[[np.ndarray], np.ndarray], grid: np.ndarray) -> np.ndarray:
    """n points x [n], rising, with sum_i a(x_i) a(x_i)^T = G [m, m]: those of the sum, where they are determined.

    Weights w >= 0 on the grid [T] by non-negative least squares; the start is where the cumulated weight passes 1/2,
    3/2, ..., n - 1/2, for each point weighs 1. Then least squares for the places of n points.

    curve: x [T] -> features a(x) [T, m].
    """
    U, s, V = np.linalg.svd(products(curve(grid)), full_matrices=False)
    sent = G[np.triu_indices(len(G))]
    seen = s > len(grid) * np.finfo(float).eps * s[0]
    weights, _ = nnls(U[:, seen].T, (V @ sent)[seen] / s[seen], maxiter=100 * len(grid))
    x = np.interp(np.arange(n) + 0.5, np.cumsum(weights) - weights / 2, grid)
    for softened in SOFTENED:
        equations = V.T / (s + softened * s[0])

        def missing(x: np.ndarray, equations: np.ndarray = equations) -> np.ndarray:
            return (products(curve(x)).sum(0) - sent) @ equations

        def slope(x: np.ndarray, equations: np.ndarray = equations, step: float = 1e-5) -> np.ndarray:
            beside = products(curve(np.concatenate([x + step, x - step])))
            return ((beside[:n] - beside[n:]) / (2 * step) @ equations).T

        x = least_squares(missing, x, slope, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=40).x
    return np.sort(x)


def poisson_at(x: Tensor) -> Mapping[str, Tensor]:
    """Poisson's equation at any points [T, 1]; f does not matter to J."""
    poisson = Equation(
        operator=lambda u: -u["xx"], f=lambda x: 0 * x[:, 0], g=lambda x: x[:, 0],
        b=lambda x: x[:, 0].tanh() * (torch.pi - x[:, 0]).tanh(), solution=lambda x: x[:, 0], derivatives=["xx"],
    )  # fmt: skip
    points = lambda level: (x, [np.arange(len(x))])  # noqa: E731
    return pinn("", poisson, (1, 1), "x", points, test=x.numpy()).data(2, 0).pool


def every_point(off: xarray.DataArray, within: float) -> Verdict | None:
    """Whether an attack has found every point to so much; off [..., seed]: by how much the worst one is missed."""
    if not off.size:
        return None
    return Verdict(float(off.max()) < within, f"off by at most {float(off.max()):.0e}, {off.sizes['seed']} seeds")
