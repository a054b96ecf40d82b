"""Reference solutions, float64, vectorised over functions."""

from collections.abc import Callable, Sequence
from math import factorial

import numpy as np
from scipy.linalg import expm


def rk4(rhs: Callable, x0: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
    """Classical Runge-Kutta of order 4 for x' = rhs(x, u(t)).

    Args:
        rhs: (x [n, d], u [n]) -> [n, d].
        x0: initial states [n, d].
        u: forcing on the half-step grid 0, h/2, h, ..., S h, shape [n, 2S + 1].
        h: step.

    Returns:
        x [n, S + 1, d], the states at 0, h, ..., S h. Global error O(h^4).
    """
    if u.shape[1] % 2 == 0:
        raise ValueError(f"u has {u.shape[1]} columns; S steps need the 2S + 1 values of the half-step grid")
    x = np.empty((len(u), u.shape[1] // 2 + 1, x0.shape[1]))
    x[:, 0] = x0
    for i in range(x.shape[1] - 1):
        left, middle, right = u[:, 2 * i], u[:, 2 * i + 1], u[:, 2 * i + 2]
        k1 = rhs(x[:, i], left)
        k2 = rhs(x[:, i] + h / 2 * k1, middle)
        k3 = rhs(x[:, i] + h / 2 * k2, middle)
        k4 = rhs(x[:, i] + h * k3, right)
        x[:, i + 1] = x[:, i] + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x


def hermite(t: np.ndarray, x: np.ndarray, dx: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Cubic Hermite value of the i-th curve at its own point y[i]; error O(h^4).

    scipy's CubicHermiteSpline evaluates every curve at every point, n^2 values where n are needed.

    Args:
        t: equispaced times [S + 1]; x, dx: values and slopes [n, S + 1]; y: one time per curve [n].
    """
    h, row = t[1] - t[0], np.arange(len(x))
    i = np.clip(((y - t[0]) / h).astype(int), 0, len(t) - 2)
    s = (y - t[i]) / h
    x0, x1, d0, d1 = x[row, i], x[row, i + 1], h * dx[row, i], h * dx[row, i + 1]
    return (1 - s) ** 2 * ((1 + 2 * s) * x0 + s * d0) + s**2 * ((3 - 2 * s) * x1 + (s - 1) * d1)


def chebyshev(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points x_j = cos(j pi / n) [n + 1] and the matrix D with (D u)_j = u'(x_j) for polynomials of degree n.

    (Trefethen, Spectral Methods in MATLAB, 2000, Chapter 6; the diagonal makes every row sum to zero.)
    """
    angle = np.pi * np.arange(n + 1) / n
    x, half = np.sin(np.pi / 2 - angle), angle / 2
    gaps = -2 * np.sin(half[:, None] + half) * np.sin(half[:, None] - half)  # x_i - x_j without cancellation
    c = np.r_[2, np.ones(n - 1), 2] * (-1.0) ** np.arange(n + 1)
    D = np.outer(c, 1 / c) / (gaps + np.eye(n + 1))
    return x, D - np.diag(D.sum(1))


def etdrk4(L: np.ndarray, nonlinear: Callable, v: np.ndarray, h: float) -> Callable:
    """One step v(t) -> v(t + h) of v' = L v + N(v): linear part exactly, nonlinear part to order 4.

    (Cox and Matthews 2002.) The phi functions are blocks of one matrix exponential, so nothing cancels.
    """
    n, zero, one = len(v), np.zeros_like(L), np.eye(len(v))

    def phi(z):
        rows = [[z, one, zero, zero], [zero, zero, one, zero], [zero, zero, zero, one], [zero] * 4]
        return np.split(expm(np.block(rows))[:n], 4, axis=1)

    of_half = phi(h / 2 * L)
    (half, q, *_), (E, p1, p2, p3) = of_half, doubled(of_half)
    q, A, B, C = h / 2 * q, h * (p1 - 3 * p2 + 4 * p3), 2 * h * (p2 - 2 * p3), h * (4 * p3 - p2)

    def step(v):
        N0 = nonlinear(v)
        a = half @ v + q @ N0
        Na = nonlinear(a)
        Nb = nonlinear(half @ v + q @ Na)
        Nc = nonlinear(half @ a + q @ (2 * Nb - N0))
        return E @ v + A @ N0 + B @ (Na + Nb) + C @ Nc

    return step


def doubled(phi: Sequence[np.ndarray]) -> list[np.ndarray]:
    """phi_k(2 z), k = 0, 1, ..., of phi_k(z): what costs another matrix exponential (Skaflestad and Wright 2009)."""
    sums = [sum(phi[j] / factorial(k - j) for j in range(1, k + 1)) for k in range(len(phi))]
    return [(phi[0] @ phi[k] + sums[k]) / 2**k for k in range(len(phi))]


def march(step: Callable, state: np.ndarray, times: int, substeps: int) -> np.ndarray:
    """States [times, ...] after 0, 1, 2, ... times ``substeps`` steps; ValueError unless all are finite."""
    states = [state]
    for _ in range(times - 1):
        for _ in range(substeps):
            state = step(state)
        states.append(state)
    if not np.isfinite(state).all():
        raise ValueError("the reference solution became non-finite: use more substeps or smaller inputs")
    return np.array(states)
