"""Where a drawn picture is wrong: how far from the letters' edges, and whether the letters have holes.

The two claims in words of FedStNN, Section 5.3, below Fig. 19. Pictures are bool arrays [rows, columns], white True.
"""

from typing import NamedTuple

import numpy as np
from scipy import ndimage

from .picture import SHAPE

BINS = (-np.inf, -3, -2, -1, 0, 1, 2, 3, np.inf)
"""Distances from the edge between which pixels are counted together; letters are at most 5 deep."""
NEAR = 2  # pixels of 40 rows: what lies within is at the edge


def edge_distance(truth: np.ndarray) -> np.ndarray:
    """Distance of every pixel from the letters' edge, negative inside of them, [rows, columns].

    It is the Euclidean distance to the nearest pixel of the other colour: 1 in size beside an edge. Its unit is a
    pixel of a picture of 40 rows, so that pictures of all sizes have the same scale.

    Raises:
        ValueError: a picture of one colour has no edge.
    """
    if truth.all() or not truth.any():
        raise ValueError(f"a picture that is all {'white' if truth.any() else 'black'} has no edge; give both colours")
    outside, inside = map(ndimage.distance_transform_edt, (~truth, truth))
    return (outside - inside) * SHAPE[0] / len(truth)


def counts(pixels: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """How many pixels of a set, bool [..., rows, columns], lie in each of BINS of distance: whole numbers [..., bins].

    A bin contains its end that is farther from the edge: (0, 1] outside, [-1, 0) inside.
    """
    right, left = (np.searchsorted(BINS, distance, side) - 1 for side in ("right", "left"))
    number = np.where(distance > 0, left, right)
    return np.stack([(pixels & (number == i)).sum((-2, -1)) for i in range(len(BINS) - 1)], -1)


def share(pixels: np.ndarray, which: np.ndarray) -> np.ndarray:
    """How many of a set, bool [rows, columns], are in others [..., rows, columns]: [...]; 0 of none."""
    return pixels[..., which].sum(-1) / max(which.sum(), 1)


def holes(white: np.ndarray) -> tuple[int, int]:
    """Number of holes of the white shapes, and their pixels in all.

    A hole is a set of black pixels, connected by their sides (4 neighbours), that does not reach the border of the
    picture: white surrounds it. White is then connected by corners as well (8 neighbours), so that a diagonal line
    of white closes a hole and does not leak.
    """
    sets, n = ndimage.label(~white)
    border = np.concatenate([sets[0], sets[-1], sets[:, 0], sets[:, -1]])
    inside = np.setdiff1d(np.arange(1, n + 1), border)
    return len(inside), int(np.isin(sets, inside).sum())


class Edges(NamedTuple):
    """Where drawn pictures [..., rows, columns] are wrong.

    white [..., bins]: share of the pixels at a distance that is drawn white. near [...]: share of the wrong pixels that
    lies within NEAR of the edge. edge, away [...]: share of the pixels within NEAR, and farther, that is wrong.
    solid [...]: share of the letters' pixels farther than NEAR inside that is white. holes, area [...]: number of holes
    and their pixels, see ``holes``.
    """

    white: np.ndarray
    near: np.ndarray
    edge: np.ndarray
    away: np.ndarray
    solid: np.ndarray
    holes: np.ndarray
    area: np.ndarray


def measured(drawn: np.ndarray, truth: np.ndarray) -> Edges:
    """Of drawn pictures, bool [..., rows, columns], of the true one [rows, columns]."""
    distance, wrong = edge_distance(truth), drawn ^ truth
    near = abs(distance) <= NEAR
    each = np.array([holes(one) for one in drawn.reshape(-1, *truth.shape)]).reshape(*drawn.shape[:-2], 2)
    return Edges(
        counts(drawn, distance) / np.maximum(counts(np.ones_like(truth), distance), 1),
        wrong[..., near].sum(-1) / np.maximum(wrong.sum((-2, -1)), 1),
        share(wrong, near),
        share(wrong, ~near),
        share(drawn, distance < -NEAR),
        *np.moveaxis(each, -1, 0),
    )


def near_share(truth: np.ndarray) -> float:
    """Share of all pixels within NEAR of the edge."""
    return float((abs(edge_distance(truth)) <= NEAR).mean())
