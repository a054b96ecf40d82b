"""Pictures of a federation of machines: who sees what, how it learns, what a round costs."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ..notebook.style import CLIENTS, COLORS, log_axis, panels

LOOKS = {
    "in one process": {"color": COLORS["truth"], "marker": "o"},
    "a loop over the sites": {"color": COLORS["federated"], "marker": "s"},
    "Flower's Grid": {"color": COLORS["isolated"], "marker": "^"},
}


def who_sees(points: Mapping[str, Sequence[int]], models: Mapping[str, Sequence[int]]) -> Figure:
    """Machine -> clients whose points it has in its memory (squares), and whose own models it gets (rings)."""
    machines = list(points)
    K = 1 + max(k for clients in points.values() for k in clients)
    fig, ((ax,),) = panels(size=(7.4, 0.42 * len(machines) + 0.9))
    for i, name in enumerate(machines):
        clients, received = points[name], models.get(name, ())
        ax.plot(clients, [i] * len(clients), "s", ms=9, color=CLIENTS[i % len(CLIENTS)])
        ax.plot(received, [i] * len(received), "o", ms=9, mfc="none", mew=1.5, color=COLORS["federated"])
    ax.set(xticks=range(K), yticks=range(len(machines)), yticklabels=machines, xlabel="client")
    ax.set(xlim=(-0.7, K - 0.3), ylim=(len(machines) - 0.5, -0.5))
    ax.tick_params(length=0)
    square, ring = (Line2D([], [], ls="", marker=m, ms=8, mew=1.5, color=c, mfc=f) for m, c, f in (
        ("s", "0.4", "0.4"), ("o", COLORS["federated"], "none"),
    ))  # fmt: skip
    words = ["has the client's points", "receives the client's own model"]
    fig.legend([square, ring], words, loc="outside upper center", ncols=2)
    return fig


def training(losses: Mapping[str, np.ndarray], together: np.ndarray) -> Figure:
    """The mean loss of each site's clients by round [R], and of all clients in one process [R]."""
    fig, ((ax,),) = panels(size=(5.4, 2.8))
    rounds = np.arange(1, len(together) + 1)
    for i, (name, values) in enumerate(losses.items()):
        ax.plot(rounds, values, color=CLIENTS[i % len(CLIENTS)], label=f"clients of {name}")
    some = np.unique(np.linspace(0, len(rounds) - 1, 12).astype(int))
    ax.plot(rounds[some], together[some], "o", ms=5, mfc="none", color=COLORS["truth"], label="all, in one process")
    ax.set(xlabel="round", ylabel="training loss (rad²)")
    log_axis(ax.yaxis)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend()
    return fig


def price(
    clients: Sequence[int], seconds: Mapping[str, Sequence[float]], down: Sequence[int], up: Sequence[int],
    data: Sequence[int],
) -> Figure:  # fmt: skip
    """Of a round, against clients per site [n]: seconds in one process and over messages, megabytes each way.

    data: bytes of all points, which would be sent once instead.
    """
    fig, (axes,) = panels(1, 2, size=(3.6, 2.8))
    left, right = axes
    for name, values in seconds.items():
        left.plot(clients, 1000 * np.asarray(values), label=name, ms=5, **LOOKS[name])
    left.set(ylabel="ms a round", ylim=(0, 1.3 * max(1000 * np.max(v) for v in seconds.values())))
    for words, values, look in (
        ("from sites to server", up, {"color": COLORS["federated"], "marker": "s"}),
        ("from server to sites", down, {"color": COLORS["light"], "marker": "v", "lw": 2.5}),
        ("the points, sent once", data, {"color": COLORS["centralised"], "ls": "--"}),
    ):
        right.plot(clients, np.asarray(values) / 1e6, label=words, ms=5, **look)
    right.set(ylabel="MB a round, all sites")
    log_axis(right.yaxis)
    for ax in axes:
        ax.set_xscale("log")
        ax.set_xticks(clients, [f"{n}" for n in clients])
        ax.set_xticks([], minor=True)
        ax.set(xlabel="clients per site")
        ax.legend()
    return fig
