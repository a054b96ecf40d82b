"""Noisy observations of a curve and a surface, and a picture of three letters (FedStNN, Section 5)."""

import numpy as np
import torch
from torch import Tensor

SHAPE = 40, 120  # pixels of the picture: rows, columns; a letter in each third


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


def letters() -> np.ndarray:
    """The picture: F, S and U, white 1 on black 0, bool [40, 120], drawn from bars and rings (no font)."""
    r, c = np.mgrid[: SHAPE[0], : SHAPE[1]] + 0.5

    def bar(top, bottom, left, right):
        return (top <= r) & (r < bottom) & (left <= c) & (c < right)

    def ring(row, column, radius, keep):
        rho = np.hypot(r - row, c - column)
        return (radius - THICK <= rho) & (rho < radius) & keep

    F = bar(4, 36, 9, 9 + THICK) | bar(4, 4 + THICK, 9, 32) | bar(17, 17 + THICK, 9, 29)
    upper = ring(12.5, 60, 9.5, (c < 60) | (r < 12.5))  # three quarters, open at the lower right
    lower = ring(12.5 + 19 - THICK, 60, 9.5, (c >= 60) | (r >= 12.5 + 19 - THICK))
    U = bar(4, 25, 89, 89 + THICK) | bar(4, 25, 111 - THICK, 111) | ring(25, 100, 11, r >= 25)
    return F | upper | lower | U


THICK = 7.5  # of the strokes, in pixels


def thirds() -> list[np.ndarray]:
    """Pixel numbers (row by row) of the left, middle and right third of the picture."""
    third = np.broadcast_to(3 * np.arange(SHAPE[1]) // SHAPE[1], SHAPE).ravel()
    return [np.flatnonzero(third == i) for i in range(3)]


def pixels() -> Tensor:
    """Coordinates of all pixels [4800, 2]: row in [-1, 1], column in [-3, 3], so that a pixel is about a square."""
    r, c = np.mgrid[: SHAPE[0], : SHAPE[1]]
    scale = [2 * r / (SHAPE[0] - 1) - 1, 6 * c / (SHAPE[1] - 1) - 3]
    return torch.as_tensor(np.stack(scale, -1).reshape(-1, 2))


def psi(scores: Tensor, xi: int) -> Tensor:
    """The paper's Psi: the xi highest scores become white, bool [..., n] with exactly xi ones, also among ties."""
    if not 0 <= xi <= scores.shape[-1]:
        raise ValueError(f"xi = {xi} white pixels in a picture of {scores.shape[-1]}")
    return torch.zeros_like(scores, dtype=torch.bool).scatter(-1, scores.topk(xi).indices, True)


def iou(a: Tensor, b: Tensor) -> Tensor:
    """Intersection over union of two sets of white pixels, bool [..., n] -> [...]."""
    return (a & b).sum(-1) / (a | b).sum(-1)
