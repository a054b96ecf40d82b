"""What an error costs: in communication rounds, in local steps, and in bytes that are sent (notebook 01)."""

from collections.abc import Mapping
from itertools import cycle
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from ..notebook.style import CLIENTS, COLORS, band, log_axis, panels
from ..numerics.metrics import mean_sd


class Path(NamedTuple):
    """Mean test error (%) after each round [S, R]; steps, MB: what a model does, and all clients send, in a round."""

    error: np.ndarray
    steps: float
    megabytes: float = 0.0


def sent(active: float, parameters: int) -> float:
    """MB of a round: each of the active clients gets a model in float32 and sends one back."""
    return active * 2 * 4 * parameters / 1e6


def draw_costs(federated: Mapping[str, Path], centralised: Mapping[str, Path], data: float) -> Figure:
    """Error against rounds, against local steps of one model, and against MB sent by all.

    A centralised model has no rounds: left its last error is a line, right a point at the MB of all the data, which it
    needs once (``data``).
    """
    fig, (axes,) = panels(1, 3, size=(2.7, 2.6), sharey=True)
    colors = [COLORS["federated"], COLORS["other"], COLORS["light"], *CLIENTS]
    for (label, path), color in zip(federated.items(), cycle(colors)):
        rounds = np.arange(1, path.error.shape[1] + 1)
        for ax, cost in zip(axes, (1, path.steps, path.megabytes), strict=True):
            band(ax, cost * rounds, path.error, color, label, lw=2)
    for (label, path), dash in zip(centralised.items(), cycle(("--", ":"))):
        style = {"color": COLORS["centralised"], "ls": dash, "lw": 2, "label": label}
        last = mean_sd(path.error[:, -1])[0]
        axes[0].axhline(last, **style)
        axes[1].plot(path.steps * np.arange(1, path.error.shape[1] + 1), path.error.mean(0), **style)
        axes[2].plot(data, last, "s" if dash == "--" else "D", color=COLORS["centralised"], ms=6)
    axes[0].xaxis.get_major_locator().set_params(integer=True)
    axes[0].set(xlabel="communication rounds", ylabel="mean error e (%)")
    axes[1].set(xlabel="steps of one model", xscale="log")
    axes[2].set(xlabel="MB sent, all clients", xscale="log")
    log_axis(axes[0].yaxis)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig
