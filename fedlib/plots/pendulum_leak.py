"""Pictures of what a server reads off a client's update, and their explorer."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import ipywidgets
import numpy as np
from matplotlib.figure import Figure
from torch import Tensor, nn

from ..live.widgets import choice, explore, slider
from ..notebook.style import COLORS, band, log_axis, panels
from ..problems import pendulum_leak as leak

Case = tuple[str, int, int]
"""Optimiser, local steps E, points n."""


def curves(cases: Mapping[Case, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """Case -> (torque that was read [m], the client's own ones [n, m]): a panel each, all curves with r.m.s. 1."""
    columns = min(3, len(cases))
    rows = -(-len(cases) // columns)
    size = (2.9, 2.5) if len(cases) > 1 else (6.4, 2.9)
    fig, axes = panels(rows, columns, size=size, sharey=True)
    for ax in axes.flat[len(cases) :]:
        ax.set_visible(False)
    for ax, ((optimizer, E, n), (u, own)) in zip(axes.flat, cases.items(), strict=False):
        t = np.linspace(0, 1, len(u))
        many, words = n > 1, "the client's torque" if n == 1 else "the client's torques"
        style = {"color": "0.6", "lw": 1} if many else {"color": COLORS["truth"], "lw": 3.5}
        for i, torque in enumerate(leak.scaled(own)[:20]):
            ax.plot(t, torque, alpha=0.7, label="_" if i else words, **style)
        ax.plot(t, leak.scaled(u), color=COLORS["isolated"], lw=1.8, label="read by the server")
        ax.set(xlabel="t (s)", ylim=(-3.8, 3.8), xlim=(0, 1))
        ax.set_title(f"{optimizer}, E = {E}, {n} point{'s' * many}\nlikeness {leak.likeness(u, own):.2f}")
    for row in axes:
        row[0].set_ylabel("torque, r.m.s. 1")
    axes[0, 0].legend(loc="lower left")
    return fig


def against_points(cases: Mapping[str, Mapping[int, leak.Learnt]], wire: tuple[int, leak.Learnt]) -> Figure:
    """Case -> points n -> what the server learns of all clients; wire: n and what it learns off recorded messages.

    Left likeness to the client's own torques less that to another client's, right pairs told apart; mean ± st.dev.
    """
    fig, (axes,) = panels(1, 2, size=(3.7, 2.8))
    looks = zip(("isolated", "light", "federated"), ("o", "v", "s"), strict=True)
    for (name, by_points), (color, marker) in zip(cases.items(), looks, strict=False):
        n, found = list(by_points), list(by_points.values())
        values = np.array([f.own - f.other for f in found]), 100 * np.array([f.recognised for f in found])
        for ax, of_n in zip(axes, values, strict=True):
            band(ax, n, of_n.T, COLORS[color], name, marker=marker, ms=5)
    n, found = wire
    for ax, value in zip(axes, (found.own - found.other, 100 * found.recognised), strict=True):
        ax.plot(n, value.mean(), "*", ms=12, mfc="none", color=COLORS["truth"], label="on the wire", zorder=5)
        log_axis(ax.xaxis)
        ax.set_xlabel("points of a client")
    axes[0].axhline(0, color="0.6", lw=1, ls="--")
    axes[1].axhline(50, color="0.6", lw=1, ls="--")
    axes[1].text(0.02, 49, "guessing", va="top", fontsize=8, color="0.4", transform=axes[1].get_yaxis_transform())
    axes[0].set_ylabel("likeness, own less another client's")
    axes[1].set(ylabel="own torques told from another's (%)", ylim=(30, 105))
    axes[0].legend(loc="upper right")
    return fig


def reader(net: nn.Module, points: Sequence[Mapping[str, Tensor]]) -> Callable:
    """(client, optimiser, E, n) -> (torque that the server reads, the client's own ones), remembered."""

    @lru_cache(maxsize=1000)
    def found(client: int, optimizer: str, E: int, n: int):
        own = {name: value[:n] for name, value in points[client].items()}
        return leak.read(net, leak.one_round(net, own, E, optimizer)).u, own["u"].numpy()

    return found


def leak_explorer(net: nn.Module, points: Sequence[Mapping[str, Tensor]]) -> ipywidgets.GridBox:
    """The widget of what leaks: how many points, how many local steps, which optimiser, whose."""
    found, most = reader(net, points), min(len(own["s"]) for own in points)
    sizes = [n for n in (1, 2, 3, 5, 10, 20, 50) if n <= most]

    def draw(n: int, E: int, optimizer: str, client: int) -> Figure:
        return curves({(optimizer, E, n): found(client, optimizer, E, n)})

    return explore(
        draw,
        "the torques of a client, and the curve that a server reads off its update",
        n=slider(sizes, 1, "points n"),
        E=slider([1, 2, 5], 1, "local steps E"),
        optimizer=choice(list(leak.OPTIMIZERS), "SGD", "optimiser"),
        client=slider(range(len(points))),
    )
