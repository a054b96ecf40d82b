"""Notebook 08 live: the bands of three losses as they are stored, and a band that forms while clients train."""

from typing import NamedTuple

import numpy as np
import torch
import xarray
from torch import Tensor

from .... import live
from ....federated.batches import Local
from ....federated.federation import Federation, centralised
from ....federated.partitions import focused
from ....live.levels import explore
from ....live.modules import Piece
from ....live.views import draw_models
from ....live.watched import Moment, Watched
from ....live.widgets import choice, slider
from ....notebook.style import CLIENTS, COLORS, set_ticks
from ....streams import stream, torch_stream
from ....trainings.store import stored
from .. import regression
from ..experiment import SCORES, beside
from ..network import SNN, init_snn
from ..scores import local_loss
from ..sine import answered, as_bands, curve, curve_grid

# as stored

NOISE, NETWORK = "noise σ", "the network's band"
"""A control's name, a model's."""


def explorer() -> Piece:
    """The band that a network draws which has seen all observations, for each noise of the data and each loss."""
    return explore(*explored(), {NOISE: 0.4})


def explored() -> tuple[xarray.DataArray, xarray.DataArray]:
    """(curves, errors): means with half the widths of their bands, and how far spreads are off the noise (%)."""
    answers = {score: answered(stored(regression, ("noise", score)), kind="centralised", client=0) for score in SCORES}
    every = beside("loss", answers).rename(level=NOISE).expand_dims(model=[NETWORK])
    return as_bands(every, NOISE, [COLORS["centralised"]])


# while it trains

POINTS, SHOWN, PATHS = 2000, 60, 64
"""Points that can be observed; points where models are judged and drawn; paths at each of those."""


class Curve(NamedTuple):
    """Points [n], the true f [n] and the noise of paths there; the data's sigma; (x, y) [n_k] of each client."""

    x: np.ndarray
    f: Tensor
    w: Tensor
    sigma: float
    seen: list[tuple[np.ndarray, np.ndarray]]


def law(predict, shown: Curve) -> Tensor:
    """Mean and spread of the paths of ONE model: [2, n]."""
    x = torch.as_tensor(shown.x, dtype=torch.float32)[:, None]
    std, mean = torch.std_mean(predict(x, shown.w), -1)
    return torch.stack([mean, std])


def distance(predict, shown: Curve) -> Tensor:
    """How far the learnt law is from that of the data, in % of f: the Wasserstein distance of two normal laws,

    whose square is (difference of means)^2 + (difference of spreads)^2, here averaged over x."""
    mean, std = law(predict, shown)
    return 100 * (((mean - shown.f) ** 2 + (std - shown.sigma) ** 2).mean() / (shown.f**2).mean()).sqrt()


def training(
    loss: str = "energy score", sigma: float = 0.2, paths: int = 8, clients: int = 4, others: int = 10, E: int = 16,
    lr: float = 0.01,
) -> Watched:  # fmt: skip
    """K clients own 100 points of one part of the interval each and some of the rest; E Adam steps with M paths.

    loss: of SCORES. sigma: st.dev. of the data's noise.
    """
    if paths < (least := {"energy score": 2, "likelihood": 8}.get(loss, 1)):
        raise ValueError(f"the {loss} needs at least {least} paths of the network for each point: paths = {paths}")
    x = curve_grid(POINTS)
    y = curve(x) + sigma * stream(0, "live").standard_normal(POINTS)
    shards = focused(np.array_split(np.arange(POINTS), clients), POINTS, clients, 100, others, stream(1, "live"))
    net = SNN(1, 8, 16, N=2)
    places = np.linspace(0, 2 * np.pi, SHOWN)
    w = torch.randn(SHOWN, *net.noise(PATHS), generator=torch_stream(0, "live"))
    shown = Curve(places, torch.as_tensor(curve(places)).float(), w, sigma, [(x[shard], y[shard]) for shard in shards])
    feds = {"federated": Federation(shards, lr=lr), "centralised": centralised(shards, lr=lr)}
    args = dict(local=Local(E, "steps", 32), init=init_snn, noise=net.noise(paths), reset_moments=True)
    pool = {"x": torch.as_tensor(x[:, None]).float(), "y": torch.as_tensor(y).float()}
    return Watched(net, local_loss(SCORES[loss].loss), pool, feds, args | {"dtype": torch.float32},
                    lambda predict: distance(predict, shown), shown)  # fmt: skip


ALT = (
    "left above the noisy observations of each client, the true sine with its band of two sigma, and means of the "
    "networks with the federation's band; below their spreads and the true sigma; right the clients' steps in the "
    "plane of weights, and the distances of their laws from the data's over the rounds"
)


def scene(axes, watched: Watched, moment: Moment) -> None:
    """Above observations, means and the band of what the round began with or ended with; below all spreads."""
    above, below = axes
    shown = watched.more
    clients, server = (
        watched.values(rows, lambda predict: law(predict, shown)).numpy() for rows in watched.now(moment)
    )
    for k, (x, y) in enumerate(shown.seen):
        above.plot(x, y, ".", ms=3, color=CLIENTS[k % len(CLIENTS)], alpha=0.6)
    f = shown.f.numpy()
    for side in (-2, 2):
        above.plot(shown.x, f + side * shown.sigma, "--", lw=0.8, color=COLORS["truth"])
    mean, std = server[0]
    above.fill_between(shown.x, mean - 2 * std, mean + 2 * std, color=COLORS["federated"], alpha=0.25, lw=0)
    draw_models(above, shown.x, clients[:, 0], server[:, 0], moment, label=False)
    above.set(ylabel="y", xlim=(0, 2 * np.pi), ylim=(-2.4, 2.4))
    set_ticks(above.xaxis, (0, np.pi, 2 * np.pi), ("", "", ""))
    below.axhline(shown.sigma, ls="--", lw=1, color=COLORS["truth"], label=r"true $\sigma$")
    draw_models(below, shown.x, clients[:, 1], server[:, 1], moment)
    below.set(xlabel="x", ylabel="spread", xlim=(0, 2 * np.pi), ylim=(0, 1))
    set_ticks(below.yaxis, (0, 0.5, 1))
    set_ticks(below.xaxis, (0, np.pi, 2 * np.pi), ["0", r"$\pi$", r"$2\pi$"])
    below.legend(loc="upper left", ncols=3)


def show() -> None:
    """The live training of notebook 08."""
    live.show(
        "08", training, scene, ALT, panels=2,
        loss=choice([*SCORES], "energy score", "loss"),
        sigma=slider([0.05, 0.1, 0.2, 0.4], 0.2, "noise sigma"),
        paths=slider([1, 2, 4, 8], 8, "paths M"),
        clients=slider([2, 4, 8], 4, "clients K"),
        others=slider([0, 10, 100], 10, "other points", "Points that a client has outside its own part."),
        E=slider([1, 4, 16, 64], 16, "local steps"),
        lr=slider([0.003, 0.01, 0.03], 0.01, "rate"),
    )  # fmt: skip
