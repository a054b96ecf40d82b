"""Reference solutions, float64, vectorised over functions."""

from collections.abc import Callable

import numpy as np


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


def pendulum(u: np.ndarray, k: float | np.ndarray = 1.0, T: float = 1.0) -> np.ndarray:
    """Forced pendulum x1' = x2, x2' = -k sin x1 + u(t) on [0, T] from rest (Fed-DeepONet, Eq. 9).

    Args:
        u: torque on the half-step grid of S steps, [n, 2S + 1].
        k: stiffness, one number or one per function [n] (1/s^2).
        T: final time (s).

    Returns:
        x [n, S + 1, 2]: angle (rad) and angular velocity (rad/s) at S + 1 equispaced times.
    """
    k = np.broadcast_to(k, len(u))

    def rhs(x, torque):
        return np.stack([x[:, 1], -k * np.sin(x[:, 0]) + torque], axis=1)

    return rk4(rhs, np.zeros((len(u), 2)), u, 2 * T / (u.shape[1] - 1))


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
