"""Where a drawn picture is wrong: how far from the letters' edges, and whether the letters have holes.

The two claims in words of FedStNN, Section 5.3, below Fig. 19. Pictures are bool arrays [rows, columns], white True.
"""

import numpy as np
import xarray
from scipy import ndimage

from .picture import SHAPE

NEAR = 2  # pixels of 40 rows: what lies within is at the edge
PLACES = np.arange(-3.5, 4)  # distances in whole pixels of 40 rows, which are counted together, by their middles


def edge_distance(truth: np.ndarray) -> np.ndarray:
    """Distance of every pixel from the letters' edge, negative inside of them, [rows, columns].

    It is the Euclidean distance to the nearest pixel of the other colour: 1 in size beside an edge. Its unit is a
    pixel of a picture of 40 rows, so that pictures of all sizes have the same scale.
    """
    outside, inside = map(ndimage.distance_transform_edt, (~truth, truth))
    return (outside - inside) * SHAPE[0] / len(truth)


def holes(white: np.ndarray) -> tuple[int, int]:
    """Number of holes of the white shapes, and their pixels in all: black ones, connected by their sides, that do not
    reach the border of the picture. So a diagonal line of white closes a hole."""
    sets, n = ndimage.label(~white)
    inside = np.setdiff1d(np.arange(1, n + 1), np.concatenate([sets[0], sets[-1], sets[:, 0], sets[:, -1]]))
    return len(inside), int(np.isin(sets, inside).sum())


def measured(drawn: np.ndarray, truth: np.ndarray) -> xarray.Dataset:
    """Of drawn pictures, bool [seed, rows, columns], of the true one [rows, columns].

    white [seed, place]: share of the pixels at a distance that is drawn white, NaN where there are none. near: share of
    the wrong pixels that lies within NEAR of the edge; edge: share of the pixels there that is wrong. holes, area:
    number of holes and their pixels.
    """
    distance, wrong = edge_distance(truth), drawn ^ truth
    near = abs(distance) <= NEAR
    far = np.abs(PLACES).max() - 0.5
    place = np.sign(distance) * (np.ceil(np.clip(abs(distance), None, far + 1)) - 0.5)
    each = np.array([holes(one) for one in drawn]).T
    white = [drawn[:, place == d].mean(1) if (place == d).any() else np.full(len(drawn), np.nan) for d in PLACES]
    numbers = {
        "near": wrong[:, near].sum(1) / np.maximum(wrong.sum((1, 2)), 1),
        "edge": wrong[:, near].sum(1) / max(near.sum(), 1),
        "holes": each[0],
        "area": each[1],
    }
    made = {name: ("seed", values) for name, values in numbers.items()} | {"white": (("place", "seed"), white)}
    return xarray.Dataset(made, {"place": PLACES, "seed": range(len(drawn))})


def near_share(truth: np.ndarray) -> float:
    """Share of all pixels within NEAR of the edge."""
    return float((abs(edge_distance(truth)) <= NEAR).mean())
