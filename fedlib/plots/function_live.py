"""Notebook 04 live: the fits of all clients and of the server, moving."""

import ipywidgets
import numpy as np

from ..notebook import live
from ..notebook.live import MIXING, SERVERS
from ..notebook.live_views import draw_models
from ..notebook.pictures import shade
from ..notebook.style import COLORS
from ..notebook.watching import Moment, Training
from ..notebook.widgets import slider
from ..problems import function_live as problem

ALT = (
    "left the function with the owners of its points as shades, the fits of the clients and the server's; right the "
    "clients' steps in the plane of weights, and the errors over the rounds"
)


def scene(axes, training: Training, moment: Moment) -> None:
    """The function, who owns what, the clients' fits where they are now, and the server's."""
    (ax,), (pool, test) = axes, problem.points()
    x, truth = test["x"][:, 0].numpy(), test["f"].numpy()
    shade(ax, pool["x"][:, 0].numpy(), training.federations["federated"].shards)
    ax.plot(x, truth, color=COLORS["truth"], lw=2.5, alpha=0.5, label="f")
    fits = (training.of(rows, lambda predict: predict(test["x"])[:, 0]).numpy() for rows in training.now(moment))
    draw_models(ax, x, *fits, moment)
    spread = np.ptp(truth)
    ax.set(xlabel="x", ylabel="f(x)", ylim=(truth.min() - 0.3 * spread, truth.max() + 0.5 * spread), xlim=(-1, 1))
    ax.legend(loc="upper left", ncols=2)


def show() -> None:
    """The live training of notebook 04."""
    live.show(
        "04", problem.training, scene, ALT,
        clients=ipywidgets.IntSlider(2, min=2, max=5, description="clients K"),
        pieces=slider([1, 2, 5, 10, 20], 1, "pieces each"),
        E=slider([1, 2, 5, 20, 50], 20, "local steps E"),
        lr=slider([0.0003, 0.001, 0.003, 0.01], 0.003, "rate"),
        mixing=slider(list(MIXING), "FedAvg", "mixing"),
        server=slider(list(SERVERS), "mean", "server"),
    )  # fmt: skip
