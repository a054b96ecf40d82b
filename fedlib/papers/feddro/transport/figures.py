"""Figures and tables of notebook 10, functions of the arrays of ``study.Results``."""

from collections.abc import Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....notebook.pictures import panels_of
from ....notebook.style import CLIENTS, COLORS, OTHERS, log_axis, ordered, owners, panels
from ..measures import Measure, interpolant
from .problem import PANELS


def cloud_axes(ax: Axes, title: str) -> None:
    ax.set(xlabel="$x_1$", ylabel="$x_2$", title=title, aspect="equal")


def shared_cloud(ax: Axes, walks: xarray.Dataset, start: str, round: int) -> None:
    """Both clients' clouds, the shared one at the beginning of a round, and how far both go from it."""
    place = walks.sel(start=start, round=round)
    for k, color in enumerate(CLIENTS[:2]):
        ax.plot(*walks.cloud[k].values.T, "o", ms=2.5, mew=0, color=color, label=f"client {k + 1}")
        ax.plot(*place.eta[k].values.T, "o", ms=2.5, mfc="none", mew=0.5, color=color, label="halfway there")
    ax.plot(*place.xi.values.T, ".", ms=3, color=COLORS["federated"], label="shared cloud")
    cloud_axes(ax, f"round {round}")


def answer(walks: xarray.Dataset, start: str, rounds: Sequence[int] = (1, 3)) -> Figure:
    """Two rounds of FedWaD, and how much longer (%) than the distance its way is, in each; none that is not there."""
    rounds = [round for round in rounds if round <= walks.sizes["round"]]
    fig, (axes,) = panels(1, len(rounds) + 1, size=(2.9, 2.9))
    for ax, round in zip(axes, rounds, strict=False):
        shared_cloud(ax, walks, start, round)
    gap = walks.gap.sel(start=start)
    axes[-1].plot(gap["round"], gap, "o-", ms=4, color=COLORS["federated"])
    axes[-1].axhline(1, color="0.5", ls=":", lw=1)
    axes[-1].set(xlabel="round", title="the way above the distance (%)")
    log_axis(axes[-1].yaxis)
    axes[-1].xaxis.get_major_locator().set_params(integer=True)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return fig


def gaps(bounds: xarray.Dataset) -> Figure:
    """How far FedWaD's bound lies above W_p (%) in every round, a panel for each place of PANELS."""
    fig, axes = panels_of([*PANELS], (3.9, 2.5), most=2)
    for title, ax in axes.items():
        for case, color, marker in zip(PANELS[title], OTHERS[2::-1], "os^", strict=False):
            line = bounds.gap.sel(case=case).dropna("round")
            label = IN_WORDS.get(case, case).format(bounds.atoms.sel(case=case).item())
            ax.plot(line["round"], line.where(line > LEAST), color=color, marker=marker, ms=4, label=label)
        ax.set(xlabel="round", ylabel="the way above $W_p$ (%)", title=title, xlim=(0.5, bounds.sizes["round"] + 0.5))
        ax.set_yscale("log")
        ax.legend(fontsize=7)
        ax.xaxis.get_major_locator().set_params(integer=True)
    return fig


LEAST = 1e-4  # %: below it rounding decides

IN_WORDS = {
    "200, 200; tight start": "200 and 200 points, start in one point",
    "200, 200; wide start": "200 and 200, wide start",
    "150, 200; tight start": "150 and 200, start in one point",
    "barycentric": "the mean of the parts, {:.0f} points",
    "exact": "all parts, {:.0f} points",
}
"""Of cases, as the text names them."""


def plane(X: Measure, Y: Measure, clouds: Sequence[np.ndarray], Q: np.ndarray) -> Figure:
    """Left the geodesic between two clouds of the plane, right the clients' clouds [n, 2] and their barycenter Q."""
    fig, ((left, right),) = panels(1, 2, size=(3.9, 3.4))
    times = (0, 0.25, 0.5, 0.75, 1)
    for t, style in zip(times, ordered(len(times)), strict=True):
        left.plot(*interpolant(X, Y, t).x.T, ".", ms=4, color=style["color"], label=f"t = {t:g}")
    cloud_axes(left, "from one cloud to another")
    owners(clouds, right, ms=3, labels=True)
    right.plot(*Q.T, ".", ms=4, color=COLORS["federated"], label="shared barycenter Q")
    cloud_axes(right, "three clients and their barycenter")
    below = dict(loc="upper center", bbox_to_anchor=(0.5, -0.16), markerscale=2, columnspacing=1, handletextpad=0.2)
    for ax, columns in ((left, 3), (right, 2)):
        ax.legend(ncols=columns, **below)
    return fig


BARYCENTER_HEADER = ("barycenter of three clouds", "objective above the centralised (%)", "mean off by", "spread (1)")


def barycenter_rows(table: xarray.Dataset) -> list[list[str]]:
    """A row for each variant of Algorithm 1: means over the seeds."""
    mean = table.mean("seed").assign(ratio=100 * (table.ratio.mean("seed") - 1))
    names = table.variant.values.tolist()
    return [
        [name, *(f"{mean[column].sel(variant=name):.2f}" for column in ("ratio", "off", "spread"))] for name in names
    ]
