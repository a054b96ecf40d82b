"""Section 5.1: a noisy sine, and who observes it where: clients in ten groups, one for each tenth of the interval."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
import xarray
from torch import Tensor, nn

from ...federated.history import History
from ...federated.partitions import focused
from ...streams import stream
from . import experiment

N, TESTED = 10_000, 200
"""Points that are observed; points where models are judged."""


def curve(x: np.ndarray) -> np.ndarray:
    """f(x) = sin x on [0, 2 pi]."""
    return np.sin(x)


def curve_grid(n: int = N) -> np.ndarray:
    """The n points 2 pi i / n, i = 0..n-1, of [0, 2 pi); the paper's 2e-4 pi i. None of its groups owns 2 pi."""
    return 2 * np.pi * np.arange(n) / n


def inputs(x: np.ndarray) -> Tensor:
    """Points [n] of [0, 2 pi] as inputs [n, 1] of a network, in [-1, 1]."""
    return torch.as_tensor(x / np.pi - 1)[:, None]


def growing(x: np.ndarray) -> np.ndarray:
    """A noise that grows with x: sigma from 0.05 at 0 to 0.2 at 2 pi."""
    return 0.05 + 0.15 * x / (2 * np.pi)


class Sharing(NamedTuple):
    """Points that a client has of its own tenth, and in total of the others."""

    inside: int
    outside: int


SHARINGS = {
    "IID 110": None,
    "non-IID 110": Sharing(100, 10),
    "non-IID 60": Sharing(50, 10),
    "none outside": Sharing(110, 0),
    "30 outside": Sharing(80, 30),
    "60 outside": Sharing(50, 60),
}
"""Ways to share the points, the paper's three first. IID: 110 random points of all; others, too, have 110 in all, but
for 60."""


def owners(sharing: str, clients: int, seed: int, n: int = N) -> list[np.ndarray]:
    """Shards of a way of SHARINGS: client k of group m owns points of the m-th tenth of the n, and of the rest."""
    if SHARINGS[sharing] is None:
        return focused([np.arange(n)], n, clients, 110, 0, stream(seed, "iid"))
    inside, outside = SHARINGS[sharing]
    return focused(np.split(np.arange(n), 10), n, clients, inside, outside, stream(seed, "non-iid", inside))


def some(clients: int) -> list[int]:
    """Clients 1..K that are looked at one by one: of 100 clients 1, 25, 50, 76 and 100, as in the paper."""
    return sorted({1, clients // 4, clients // 2, 3 * clients // 4 + 1, clients})


def region(client: int, clients: int) -> tuple[float, float]:
    """(low, high) of the tenth of the interval that client 1..K knows."""
    tenth = (client - 1) * 10 // clients
    return tenth * np.pi / 5, (tenth + 1) * np.pi / 5


@cache
def standard(seed: int) -> np.ndarray:
    """e [N], the same for every sigma."""
    return stream(seed, "noise of the data").standard_normal(N)


def observed(seed: int, sigma: float | np.ndarray) -> dict[str, Tensor]:
    """The pool: y = f(x) + sigma e at all points; sigma: a number, or one for each point [N]."""
    x = curve_grid()
    return {"x": inputs(x), "y": torch.as_tensor(curve(x) + sigma * standard(seed))}


def probes(net: nn.Module, sigma: float, paths: int) -> dict[str, Tensor]:
    """``experiment.probes`` of the curve."""
    x = curve_grid(TESTED)
    return experiment.probes(net, inputs(x), curve(x), sigma, paths, "test paths")


def as_bands(answers: xarray.Dataset, noise: str, colors: Sequence[str]) -> tuple[xarray.DataArray, xarray.DataArray]:
    """(curves, errors) for ``live.levels.explore``, of ``Answers`` [noise, *controls, model, seed, x].

    Means of the first seed with half the widths of their bands and of the true one; how far spreads are off the noise
    (%).
    """
    answers = answers.transpose(noise, ..., "model", "seed", "x")
    first, sigma = answers.isel(seed=0, drop=True), answers[noise]
    true_half, _ = xarray.broadcast(2 * sigma, first["mean"].isel(model=0, drop=True))
    curves = first["mean"].assign_coords(
        truth=("x", curve(answers.x.values)),
        half=first["mean"].copy(data=2 * first["std"]),
        truth_half=true_half.transpose(*(dim for dim in first["mean"].dims if dim != "model")),
        color=("model", colors),
    )
    errors = 100 * abs((answers["std"] ** 2).mean("x") ** 0.5 / sigma - 1)
    return curves.assign_attrs(xlabel="x", ylabel="y", limits=(-2.0, 2.0)), errors


def answered(history: History | None, **labels) -> xarray.Dataset | None:
    """``experiment.Answers`` after the last round [..., seed, x] of rows with these labels."""
    if history is None:
        return None
    metrics = {name: history.last(name, **labels) for name in experiment.Answers._fields}
    return xarray.Dataset(metrics).rename(i="x").assign_coords(x=curve_grid(TESTED)).drop_attrs()
