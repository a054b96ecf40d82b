"""Pictures of transport in a federation: geodesics and barycenters of the plane, FedWaD round by round."""

from collections.abc import Mapping, Sequence

import ipywidgets
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, StrMethodFormatter

from ..live.widgets import explore, slider
from ..notebook.style import CLIENTS, COLORS, log_axis, ordered, owners, panels
from ..numerics.transport import FedWaD, Measure, interpolant, wasserstein
from .digits import grid


def draw_plane(X: Measure, Y: Measure, clouds: Sequence[np.ndarray], Q: np.ndarray) -> Figure:
    """Left the geodesic between two clouds of the plane, right the clients' clouds [n, 2] and their barycenter Q."""
    fig, ((left, right),) = panels(1, 2, size=(3.9, 3.4))
    times = (0, 0.25, 0.5, 0.75, 1)
    for t, style in zip(times, ordered(len(times)), strict=True):
        left.plot(*interpolant(X, Y, t).x.T, ".", ms=4, color=style["color"], label=f"t = {t:g}")
    left.set(xlabel="$x_1$", ylabel="$x_2$", title="the geodesic between two clouds", aspect="equal")
    below = dict(loc="upper center", bbox_to_anchor=(0.5, -0.16), markerscale=2, columnspacing=1, handletextpad=0.2)
    left.legend(ncols=3, **below)
    owners(clouds, right, ms=3, labels=True)
    right.plot(*Q.T, ".", ms=4, color=COLORS["truth"], label="barycenter Q")
    right.set(xlabel="$x_1$", ylabel="$x_2$", title="three clients and their barycenter", aspect="equal")
    right.legend(ncols=2, **below)
    return fig


def draw_gaps(studies: Mapping[str, Mapping[str, np.ndarray]]) -> Figure:
    """How far FedWaD's bound lies above W_p (%) in every round: title -> label -> [rounds]; a panel each."""
    fig, axes = grid(len(studies), (3.9, 2.5), columns=2)
    for ax, (title, curves) in zip(axes, studies.items(), strict=True):
        for (label, values), style in zip(curves.items(), ordered(len(curves)), strict=True):
            ax.plot(np.arange(1, len(values) + 1), values, ms=4, label=label, **style)
        rounds, log = max(map(len, curves.values())), min(map(np.min, curves.values())) > 0
        ax.set(xlabel="round", ylabel="bound above $W_p$ (%)", title=title, xlim=(0.5, rounds + 0.5))
        ax.set_yscale("log" if log else "linear")
        low, high = ax.get_ylim()  # room for the legend
        ax.set_ylim(top=high * (high / low) ** 0.4 if log else low + 1.4 * (high - low))
        if log:
            log_axis(ax.yaxis)
        ax.legend(loc="upper right", fontsize=7)
        ax.xaxis.get_major_locator().set_params(integer=True)
    return fig


def draw_fedwad(X: Measure, Y: Measure, run: FedWaD, round: int, t: float = 0.5) -> Figure:
    """The shared cloud xi and the two interpolants of a round, and the chain's length against W_2(X, Y)."""
    if not 1 <= round <= len(run.bound):
        raise ValueError(f"round = {round}: expected 1..{len(run.bound)}")
    fig, ((left, right),) = panels(1, 2, size=(3.9, 3.2))
    xi, W = run.xi[round - 1], wasserstein(X, Y)
    for i, own in enumerate((X, Y)):
        left.plot(*own.x.T, "o", ms=3, mew=0, color=CLIENTS[i], label=f"client {i + 1}")
        left.plot(*interpolant(xi, own, t).x.T, "o", ms=3, mfc="none", mew=0.6, color=CLIENTS[i], label="halfway there")
    left.plot(*xi.x.T, ".", ms=4, color=COLORS["truth"], label=r"shared $\xi$")
    left.set(xlabel="$x_1$", ylabel="$x_2$", title=f"round {round}", aspect="equal")
    low, high = (f([f(X.x, 0), f(Y.x, 0)], 0) for f in (np.min, np.max))  # the same in every round
    left.set(xlim=(low[0] - 0.3, high[0] + 0.3), ylim=(low[1] - 0.3, high[1] + 0.3))
    fig.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=5)
    rounds, gap = np.arange(1, len(run.bound) + 1), 100 * (run.bound / W - 1)
    right.plot(rounds, gap, "o-", ms=3, color=COLORS["federated"])
    right.plot(round, gap[round - 1], "o", ms=9, mfc="none", color=COLORS["federated"])
    right.set(xlabel="round", ylabel="bound above $W_2$ (%)", yscale="log")
    right.set_title(f"bound {run.bound[round - 1]:.4f}, $W_2$ = {W:.4f}")
    right.xaxis.get_major_locator().set_params(integer=True)
    right.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))  # formulas as tick labels are slow
    right.yaxis.set_minor_locator(NullLocator())
    return fig


def fedwad_explorer(X: Measure, Y: Measure, run: FedWaD) -> ipywidgets.GridBox:
    """The second widget of notebook 10: step through FedWaD's rounds."""
    return explore(
        lambda round: draw_fedwad(X, Y, run, round),
        "two clouds of points, the shared cloud between them, and the chain's length above their distance",
        round=slider(range(1, len(run.bound) + 1), 1),
    )
