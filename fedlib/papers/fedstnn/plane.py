"""Section 5.2: a noisy surface, and who observes it where: clients in four groups, one for each quadrant."""

from collections.abc import Mapping

import numpy as np
import xarray
from torch import Tensor, nn

from ...federated.history import History
from ...federated.partitions import focused
from ...streams import stream
from . import experiment

SLICES = {"x = -0.64": (0, -0.64), "y = 0.96": (1, 0.96)}
"""The paper's: name -> (which coordinate is fixed, and where)."""


def surface(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """f(x, y) = a(x) + b(y) on [-1, 1]^2 (Eq. 40, whose four cases are this sum).

    a = x^2, b = y^2 where x, y >= 0; a = sin(2 pi x), b = cos(2 pi y) - 1 where they are below. Continuous, from -3 to
    2; at x = 0 the slope of a falls from 2 pi to 0.
    """
    a = np.where(x >= 0, x**2, np.sin(2 * np.pi * x))
    return a + np.where(y >= 0, y**2, np.cos(2 * np.pi * y) - 1)


def surface_grid(n: int = 101) -> np.ndarray:
    """n x n points [n^2, 2] of [-1, 1]^2, the axes included (n odd); the second coordinate runs faster."""
    axis = np.linspace(-1, 1, n)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)


def on_grid() -> np.ndarray:
    """f at the points of the grid [N]."""
    return surface(*surface_grid().T)


def quadrants(points: np.ndarray) -> list[np.ndarray]:
    """Indices of the points [N, 2] in the closed quadrants I, II, III, IV; points of the axes belong to two or four.

    Eq. 40 prints closed squares; the authors' code gives the axes to the side with x >= 0 or y >= 0.
    """
    (x, y), signs = points.T, [(1, 1), (-1, 1), (-1, -1), (1, -1)]
    return [np.flatnonzero((a * x >= 0) & (b * y >= 0)) for a, b in signs]


def on_slice(name: str) -> np.ndarray:
    """Indices of the grid's points on one of SLICES."""
    axis, place = SLICES[name]
    return np.flatnonzero(np.isclose(surface_grid()[:, axis], place))


def observations(seed: int, sigma: float) -> np.ndarray:
    """z = f + sigma e at the points of the grid [N]."""
    return on_grid() + sigma * stream(seed, "noise of the surface").standard_normal(101**2)


def owners(clients: int, outside: int, seed: int) -> list[np.ndarray]:
    """A client owns 100 points of its quadrant and so many in total of the rest: 10 in the text, 20 as coded."""
    points = surface_grid()
    return focused(quadrants(points), len(points), clients, 100, outside, stream(seed, "non-iid 2d"))


def first(clients: int) -> list[int]:
    """The first client, 0, 1, ..., of each quadrant."""
    return [clients // 4 * q for q in range(4)]


def probes(net: nn.Module, sigma: float, paths: int = 20) -> dict[str, Tensor]:
    """``experiment.probes`` of the grid."""
    return experiment.probes(net, surface_grid(), on_grid(), sigma, paths, "test paths 2d")


def answered(
    net: nn.Module, constants: Mapping, history: History, kind: str, level: float, client: int = 0
) -> xarray.Dataset:
    """``experiment.Answers`` of models at all points of the grid [seed, x]; constants: ``probes``."""
    seeds = history.labels("seed")
    rows = [experiment.asked(net, history.model(kind, level, seed, client=client), constants) for seed in seeds]
    dims = {name: ("seed", "x")[: 1 + values.ndim] for name, values in rows[0].items()}
    return xarray.Dataset({name: (dims[name], np.stack([row[name] for row in rows])) for name in dims}, {"seed": seeds})
