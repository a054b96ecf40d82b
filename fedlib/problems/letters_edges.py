"""Where a drawn picture is wrong: how far from the letters' edges, and whether the letters have holes.

The two claims in words of FedStNN, Section 5.3, below Fig. 19. Pictures are bool arrays [rows, columns], white True.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from .letters import SHAPE

BINS = (-np.inf, -3, -2, -1, 0, 1, 2, 3, 4, 6, 10, np.inf)
"""Distances from the edge between which pixels are counted together; letters are at most 5 deep."""
LIMITS = 1, 2, 3, 4, 6, 10
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


def counts(which: np.ndarray, distance: np.ndarray, bins: Sequence[float] = BINS) -> np.ndarray:
    """How many pixels of a set, bool [..., rows, columns], lie in each bin of distance: whole numbers [..., bins].

    A bin contains its end that is farther from the edge: (0, 1] outside, [-1, 0) inside.
    """
    bins = np.asarray(bins)
    at = np.where(
        distance > 0, np.searchsorted(bins, distance, "left") - 1, np.searchsorted(bins, distance, "right") - 1
    )
    return np.stack([(which & (at == i)).sum((-2, -1)) for i in range(len(bins) - 1)], -1)


def within(which: np.ndarray, distance: np.ndarray, limits: Sequence[float] = LIMITS) -> np.ndarray:
    """Share of a set of pixels, bool [..., rows, columns], at most so far from the edge: [..., limits]; 0 of none."""
    n = np.maximum(which.sum((-2, -1)), 1)
    return np.stack([(which & (abs(distance) <= limit)).sum((-2, -1)) / n for limit in limits], -1)


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

    white [..., bins]: share of the pixels at a distance that is drawn white. wrong [..., LIMITS]: share of the wrong
    pixels that lies within; near [...]: within NEAR. at, away [...]: share of the pixels within NEAR of the edge, and
    farther, that is wrong. solid [...]: share of the letters' pixels farther than NEAR inside that is white.
    holes, area [...]: number of holes and their pixels, see ``holes``.
    """

    white: np.ndarray
    wrong: np.ndarray
    near: np.ndarray
    at: np.ndarray
    away: np.ndarray
    solid: np.ndarray
    holes: np.ndarray
    area: np.ndarray


def measured(drawn: np.ndarray, truth: np.ndarray) -> Edges:
    """Of drawn pictures, bool [..., rows, columns], of the true one [rows, columns]."""
    distance, wrong = edge_distance(truth), drawn ^ truth
    near, all_of = abs(distance) <= NEAR, counts(np.ones_like(truth), distance)
    deep = distance < -NEAR
    found = np.array([holes(one) for one in drawn.reshape(-1, *truth.shape)]).reshape(*drawn.shape[:-2], 2)
    return Edges(
        counts(drawn, distance) / np.maximum(all_of, 1),
        within(wrong, distance),
        within(wrong, distance, [NEAR])[..., 0],
        wrong[..., near].sum(-1) / max(near.sum(), 1),
        wrong[..., ~near].sum(-1) / max((~near).sum(), 1),
        drawn[..., deep].sum(-1) / max(deep.sum(), 1),
        *np.moveaxis(found, -1, 0),
    )
