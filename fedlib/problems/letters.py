"""A picture of three letters, pixel by pixel (FedStNN, Section 5.3)."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from ..federated.federation import Federation, centralised
from ..federated.mixing import isolated

SHAPE = 40, 120  # pixels of the picture: rows, columns; a letter in each third


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


def drawn(scores: Tensor | np.ndarray) -> Tensor:
    """``psi`` of scores [..., 4800], with as many white pixels as the picture has: bool [..., 4800]."""
    return psi(torch.as_tensor(scores), int(letters().sum()))


def ious(scores: Tensor | np.ndarray) -> np.ndarray:
    """IoU of F, S and U, each in its third, of what scores [..., 4800] draw: [..., 3]."""
    picture, truth = drawn(scores), torch.as_tensor(letters().ravel())
    return torch.stack([iou(picture[..., t], truth[t]) for t in thirds()], -1).numpy()


def accuracy(scores: Tensor | np.ndarray) -> np.ndarray:
    """Share of right pixels of what scores [..., 4800] draw; a black picture has 1 - Xi / 4800."""
    return (drawn(scores) == torch.as_tensor(letters().ravel())).float().mean(-1).numpy()


def federations(shards: Mapping[int, Sequence[np.ndarray]], fraction: float, **common) -> dict[tuple, Federation]:
    """(name, seed) -> Federation: all clients; each of them alone; one model with the pixels of all.

    shards: seed -> pixels of each client. fraction: of the clients in a round. common: settings of all.
    """
    feds = {}
    for seed, own in shards.items():
        feds["federation", seed] = Federation(own, fraction=fraction, seed=seed, **common)
        feds["alone", seed] = Federation(own, mixing=isolated, seed=seed, **common)
        feds["central", seed] = centralised(own, seed=seed, **common)
    return feds


def evaluate(predict, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Scores of ONE model: one path for every pixel."""
    return {"score": predict(test["x_test"], test["w_test"])[:, 0]}
