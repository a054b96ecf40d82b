"""A picture of three letters, pixel by pixel (FedStNN, Section 5.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

SHAPE = 40, 120  # pixels of our picture: rows, columns; a letter in each third
PAPER_SHAPE = 253, 501  # of the authors' picture, as their code has it


def letters(shape: tuple[int, int] = SHAPE) -> np.ndarray:
    """The picture: F, S and U, white 1 on black 0, bool [rows, columns], drawn from bars and rings (no font).

    The strokes are defined on an area of 40 x 120. A pixel is white where its centre is, so any size has the same
    letters, stretched to it.
    """
    r, c = ((np.mgrid[: shape[0], : shape[1]].T + 0.5) * np.divide(SHAPE, shape)).T  # centres of the pixels

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


THICK = 7.5  # of the strokes, on the area of 40 x 120


def read_png(path: str | Path) -> np.ndarray:
    """The white pixels of a PNG with nothing but black and white, bool [rows, columns]; ValueError for any other."""
    with Image.open(path) as image:
        grey = np.asarray(image.convert("L"))
    white = grey == 255
    if not (white | (grey == 0)).all() or white.all() or not white.any() or min(white.shape) < 3:
        raise ValueError(f"picture = '{path}': expected a PNG of at least 3 x 3 pixels, each black or white, with both")
    return white


def thirds(shape: tuple[int, int] = SHAPE) -> list[np.ndarray]:
    """Pixel numbers (row by row) of the left, middle and right third of the picture."""
    third = np.broadcast_to(3 * np.arange(shape[1]) // shape[1], shape).ravel()
    return [np.flatnonzero(third == i) for i in range(3)]


def pixels(shape: tuple[int, int] = SHAPE) -> Tensor:
    """Coordinates of all n pixels [n, 2]: row in [-1, 1], column in [-columns / rows, columns / rows].

    So a pixel is about a square for the network.
    """
    r, c = np.mgrid[: shape[0], : shape[1]]
    scale = [2 * r / (shape[0] - 1) - 1, (2 * c / (shape[1] - 1) - 1) * shape[1] / shape[0]]
    return torch.as_tensor(np.stack(scale, -1).reshape(-1, 2))


def psi(scores: Tensor, xi: int) -> Tensor:
    """The paper's Psi: the xi highest scores become white, bool [..., n] with exactly xi ones, also among ties."""
    if not 0 <= xi <= scores.shape[-1]:
        raise ValueError(f"xi = {xi} white pixels in a picture of {scores.shape[-1]}")
    return torch.zeros_like(scores, dtype=torch.bool).scatter(-1, scores.topk(xi).indices, True)


def objective(white, C):
    """J = sum_ij |Psi(S(u; (i, j))) - C_ij|^2 (FedStNN, Eq. 41): how many pixels of white [..., n] are wrong [...]."""
    return (white ^ C).sum(-1)


def overlap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Intersection over union of two sets of white pixels, bool [..., n] -> [...]; 1 where both are empty."""
    union = (a | b).sum(-1)
    return np.where(union > 0, (a & b).sum(-1) / np.maximum(union, 1), 1.0)


@dataclass(frozen=True)
class Picture:
    """What the clients learn, and how right a drawing of it is. n pixels, row by row, Xi of them white.

    white: bool [rows, columns]. names: what the thirds show.
    """

    white: np.ndarray
    names: Sequence[str] = ("F", "S", "U")

    @property
    def shape(self) -> tuple[int, int]:
        return self.white.shape

    @cached_property
    def truth(self) -> Tensor:
        """C_ij of the paper: bool [n], white True."""
        return torch.as_tensor(self.white.ravel())

    @cached_property
    def xi(self) -> int:
        """Number of white pixels."""
        return int(self.white.sum())

    @cached_property
    def thirds(self) -> list[np.ndarray]:
        return thirds(self.shape)

    def drawn(self, scores: Tensor) -> Tensor:
        """``psi`` of scores [..., n], with as many white pixels as the picture has: bool [..., n]."""
        return psi(scores, self.xi)

    def wrong(self, white: np.ndarray) -> np.ndarray:
        """How many pixels of drawings [..., n] are wrong: [...]."""
        return objective(white, self.white.ravel())

    def right(self, white: np.ndarray) -> np.ndarray:
        """1 - J / n, the share of right pixels [...]; a black picture has 1 - Xi / n."""
        return 1 - self.wrong(white) / self.white.size

    def overlaps(self, white: np.ndarray) -> np.ndarray:
        """``overlap`` of each letter, each in its third, of drawings [..., n]: [..., 3]."""
        white, truth = np.asarray(white), self.white.ravel()
        return np.stack([overlap(white[..., third], truth[third]) for third in self.thirds], -1)
