"""Notebook 08 live: the band of a stochastic network forming around a noisy sine."""

import numpy as np

from .. import live
from ..live.views import draw_models
from ..live.watched import Moment, Watched
from ..live.widgets import choice, slider
from ..notebook.style import CLIENTS, COLORS, set_ticks
from ..problems import noisy_live as problem

ALT = (
    "left above the noisy observations of each client, the true sine with its band of two sigma, and means of the "
    "networks with the federation's band; below their spreads and the true sigma; right the clients' steps in the "
    "plane of weights, and the distances of their laws from the data's over the rounds"
)


def scene(axes, watched: Watched, moment: Moment) -> None:
    """Above observations, means and the band of what the round began with or ended with; below all spreads."""
    above, below = axes
    shown = watched.more
    clients, given = (
        watched.values(rows, lambda predict: problem.law(predict, shown)).numpy() for rows in watched.now(moment)
    )
    for k, (x, y) in enumerate(shown.seen):
        above.plot(x, y, ".", ms=3, color=CLIENTS[k % len(CLIENTS)], alpha=0.6)
    f = shown.f.numpy()
    for side in (-2, 2):
        above.plot(shown.x, f + side * shown.sigma, "--", lw=0.8, color=COLORS["truth"])
    mean, std = given[0]
    above.fill_between(shown.x, mean - 2 * std, mean + 2 * std, color=COLORS["federated"], alpha=0.25, lw=0)
    draw_models(above, shown.x, clients[:, 0], given[:, 0], moment, label=False)
    above.set(ylabel="y", xlim=(0, 2 * np.pi), ylim=(-2.4, 2.4))
    set_ticks(above.xaxis, (0, np.pi, 2 * np.pi), ("", "", ""))
    below.axhline(shown.sigma, ls="--", lw=1, color=COLORS["truth"], label=r"true $\sigma$")
    draw_models(below, shown.x, clients[:, 1], given[:, 1], moment)
    below.set(xlabel="x", ylabel="spread", xlim=(0, 2 * np.pi), ylim=(0, 1))
    set_ticks(below.yaxis, (0, 0.5, 1))
    set_ticks(below.xaxis, (0, np.pi, 2 * np.pi), ["0", r"$\pi$", r"$2\pi$"])
    below.legend(loc="upper left", ncols=3)


def show() -> None:
    """The live training of notebook 08."""
    live.show(
        "08", problem.training, scene, ALT, panels=2,
        loss=choice(list(problem.LOSSES), "energy score", "loss"),
        sigma=slider([0.05, 0.1, 0.2, 0.4], 0.2, "noise sigma"),
        paths=slider([1, 2, 4, 8], 8, "paths M"),
        clients=slider([2, 4, 8], 4, "clients K"),
        others=slider([0, 10, 100], 10, "other points", "Points that a client has outside its own part."),
        E=slider([1, 4, 16, 64], 16, "local steps"),
        lr=slider([0.003, 0.01, 0.03], 0.01, "rate"),
    )  # fmt: skip
