"""Noisy observations of a curve and of a surface (FedStNN, Sections 5.1 and 5.2)."""

import numpy as np


def curve(x: np.ndarray) -> np.ndarray:
    """f(x) = sin x on [0, 2 pi]. Section 5.1's setting with a function of ours, see notebook 08."""
    return np.sin(x)


def curve_grid(n: int = 10_000) -> np.ndarray:
    """The n points 2 pi i / n, i = 0..n-1, of [0, 2 pi): 2 pi itself has no place in ten groups of n / 10."""
    return 2 * np.pi * np.arange(n) / n


def surface(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """f = a(x) + 1.15 cos(pi y) on [-1, 1]^2, a = sin(pi x) left and sin(2 pi x) right of a kink at x = 0.

    Continuous, separable, variance 1.06 on the grid, like Eq. 40 of Section 5.2; a function of ours, see notebook 08.
    """
    return np.where(x < 0, np.sin(np.pi * x), np.sin(2 * np.pi * x)) + 1.15 * np.cos(np.pi * y)


def surface_grid(n: int = 101) -> np.ndarray:
    """n x n points [n^2, 2] of [-1, 1]^2, the axes included (n odd); the second coordinate runs faster."""
    axis = np.linspace(-1, 1, n)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)


def quadrants(points: np.ndarray) -> list[np.ndarray]:
    """Indices of the points [N, 2] in the closed quadrants (-,-), (-,+), (+,-), (+,+); axes belong to two or four."""
    (x, y), signs = points.T, (-1, 1)
    return [np.flatnonzero((a * x >= 0) & (b * y >= 0)) for a in signs for b in signs]
