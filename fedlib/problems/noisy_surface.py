"""Noisy observations of a surface, shared among clients in four quadrants (FedStNN, Section 5.2)."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ..federated.federation import Federation, centralised, join
from ..federated.history import History
from ..federated.mixing import isolated
from ..federated.partitions import focused
from ..models.stochastic import SNN
from ..streams import stream
from .fedstnn import Learnt, learnt, quadrants, quality, surface, surface_grid, test_points
from .noisy_curve import Data

SLICES = {"x = -0.64": (0, -0.64), "y = 0.96": (1, 0.96)}
"""The paper's: name -> (which coordinate is fixed, and where)."""


def observe(clients: int, sigma: float, seeds: Sequence[int], other: int = 10) -> tuple[np.ndarray, Data]:
    """Observations z = f + sigma e [S, N] on the grid, and all seeds in one pool: its keys are the seeds.

    A client owns 100 points of its quadrant and ``other`` in total of the rest: 10 in the text, 20 as coded.
    """
    points, shards = surface_grid(), {}
    z = np.stack([stream(s, "noise of the surface").standard_normal(len(points)) for s in seeds])
    z = surface(*points.T) + sigma * z
    pools = {s: {"x": torch.as_tensor(points), "y": torch.as_tensor(own)} for s, own in zip(seeds, z, strict=True)}
    for s in seeds:
        shards[s] = focused(quadrants(points), len(points), clients, 100, other, stream(s, "non-iid 2d"))
    return z, Data(shards, *join(pools))


def first(clients: int) -> list[int]:
    """The first client, 0, 1, ..., of each quadrant."""
    return [clients // 4 * q for q in range(4)]


def federations(data: Data, fraction: float, **common) -> dict[tuple, Federation]:
    """(name, seed) -> Federation: all clients, the first one of each quadrant alone, and one model on all points."""
    feds = {}
    for seed, shards in data.shards.items():
        own, how = data.at(seed, shards), common | dict(seed=seed)
        feds["federated", seed] = Federation(own, fraction=fraction, **how)
        feds["alone", seed] = Federation([own[k] for k in first(len(own))], mixing=isolated, **how)
        feds["central", seed] = centralised(own, **how)
    return feds


def known(net: SNN, sigma: float, paths: int = 20) -> dict[str, Tensor]:
    """``fedstnn.test_points`` of the grid."""
    points = surface_grid()
    return test_points(net, points, surface(*points.T), sigma, paths, "test paths 2d")


def on_slice(name: str) -> np.ndarray:
    """Indices of the grid's points on one of SLICES."""
    axis, at = SLICES[name]
    return np.flatnonzero(np.isclose(surface_grid()[:, axis], at))


def judged(found: Learnt, z: np.ndarray, sigma: float, where=slice(None)) -> dict[str, np.ndarray]:
    """``quality`` on the grid points ``where``, the share of ONE path in the band, its MSE: name -> [S].

    MSE: of the path against the noisy observations z [S, N], point by point.
    """
    f, observed = surface(*surface_grid().T)[where], z[:, where]
    mean, std, path, _ = found.at(where)
    if path.shape != observed.shape:
        raise ValueError(f"a path of shape {path.shape}, observations {observed.shape}: (n, 1) - (n,) would broadcast")
    return quality(mean, std, f, sigma) | {
        "in band": (np.abs(path - f) < 2 * sigma).mean(1),
        "MSE": ((path - observed) ** 2).mean(1),
    }


def report(history: History, z: np.ndarray, sigma: float, clients: int) -> dict[str, dict]:
    """``judged`` models of ``federations`` on the whole grid, on slices, in the own quadrant and elsewhere."""
    federated, everywhere = learnt(history, "federated"), np.arange(z.shape[1])
    rows = {"federated, whole grid": judged(federated, z, sigma)}
    rows |= {f"federated, slice {name}": judged(federated, z, sigma, on_slice(name)) for name in SLICES}
    rows["all data in one place"] = judged(learnt(history, "central"), z, sigma)
    for q, (k, own) in enumerate(zip(first(clients), quadrants(surface_grid()), strict=True)):
        alone, outside = learnt(history, "alone", q), np.setdiff1d(everywhere, own)
        rows[f"client {k + 1} alone, own quadrant"] = judged(alone, z, sigma, own)
        rows[f"client {k + 1} alone, elsewhere"] = judged(alone, z, sigma, outside)
    return rows
