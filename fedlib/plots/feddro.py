"""Pictures of FedDRO's training: loss and accuracy over the rounds, and what robustness gains."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray
from matplotlib.figure import Figure

from ..notebook.style import COLORS, band
from ..numerics.metrics import mean_sd
from .digits import grid, size_of

METHODS = {  # by the data: the clients' own, mapped ones, and the barycenter's, which are the same for everybody
    "FedAvg": {"color": COLORS["other"], "lw": 2.5},
    "mapped": {"color": COLORS["federated"]},
    "barycenter Q": {"color": COLORS["centralised"], "ls": "--"},
}


def finish(fig: Figure, axes: Sequence, ylabel: str) -> Figure:
    """The y label of the first column, and the legend above all panels, where it hides no curve."""
    for ax in axes:
        if ax.get_subplotspec().is_first_col():
            ax.set_ylabel(ylabel)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return fig


def noted(fig: Figure, text: str) -> Figure:
    """The figure with a note, such as the data's name, below its left corner and a line below the run's label."""
    fig.text(0, 0, f"\n{text}", ha="left", va="top", fontsize=6, color="0.4")
    return fig


def draw_rounds(values: xarray.DataArray, ylabel: str) -> Figure:
    """Curves of METHODS over the rounds, a panel per |Lambda|, and per partition where that is an axis; on one scale.

    values [partition, level, way, seed, round], in any order. A seed that was not trained is NaN.
    """
    prefix = "partition" in values.dims
    values = values if prefix else values.expand_dims("partition")
    studies = {
        (f"{p}, " if prefix else "") + size_of(level): values.sel(partition=p, level=level)
        for p in values.partition.values
        for level in values.level.values
    }
    columns = min(values.sizes["level"], 4)
    fig, axes = grid(len(studies), (max(2.0, 5.2 / columns), 2.3), columns, sharey=True)
    for ax, (title, study) in zip(axes, studies.items(), strict=True):
        for way in study.way.values:
            curves = study.sel(way=way).dropna("seed").transpose("seed", "round")
            band(ax, curves["round"], curves.values, label=way, marker="", **METHODS[way])
            ax.plot(curves["round"][-1], curves[:, -1].mean(), "o", ms=3, color=METHODS[way]["color"])
        ax.set(xlabel="round", title=title)
        ax.xaxis.get_major_locator().set_params(integer=True)
    return finish(fig, axes, ylabel)


def draw_controls(values: xarray.DataArray, xlabel: str) -> Figure:
    """What helps? A row for each way to train, a panel for each |Lambda|: seeds as dots, their mean as a line.

    values [way, level, seed]. The dotted line is guessing.
    """
    ways = values.way.values
    fig, axes = grid(
        values.sizes["level"], (2.3 if values.sizes["level"] > 2 else 3.2, 2.6), 4, sharex=True, sharey=True
    )
    for ax, level in zip(axes, values.level.values, strict=True):
        for j, way in enumerate(ways):
            seen = values.sel(way=way, level=level).dropna("seed").values
            color = COLORS["other"] if way == "FedAvg" else COLORS["federated"]
            ax.plot(seen, np.full(len(seen), j), "o", ms=4, mfc="none", color=color)
            ax.plot([seen.mean()] * 2, [j - 0.3, j + 0.3], "-", lw=2.5, color=color)
        ax.axvline(10, color="0.5", lw=0.8, ls=":")
        ax.set(title=size_of(level), xlabel=xlabel, ylim=(len(ways) - 0.5, -0.5))
        ax.set_yticks(range(len(ways)), ways)
        ax.grid(axis="y", lw=0.4)
    return fig


def draw_accuracy(views: Mapping[str, xarray.DataArray], ylabel: str) -> Figure:
    """Bars over |Lambda|: title -> values [way, level, seed]; "... + ascent" is hatched. 10 % is guessing."""
    fig, axes = grid(len(views), (2.7, 2.8), columns=len(views), sharey=True)
    for ax, (title, rows) in zip(axes, views.items(), strict=True):
        levels, width = rows.level.values, 0.8 / rows.sizes["way"]
        for j, way in enumerate(rows.way.values):
            at = np.arange(len(levels)) + (j - (rows.sizes["way"] - 1) / 2) * width
            style = {"color": METHODS[way.split(" +")[0]]["color"], "edgecolor": "white", "lw": 0.5}
            style |= {"hatch": "////"} if "ascent" in way else {}
            mean, sd = mean_sd(rows.sel(way=way), "seed")
            error = sd if rows.sizes["seed"] > 1 else None
            ax.bar(at, mean, width, yerr=error, label=way, error_kw={"lw": 1}, **style)
        ax.axhline(10, color="0.5", lw=0.8, ls=":")
        ax.set(title=title, xlabel=r"size of the shift $|\Lambda|$")
        ax.set_xticks(range(len(levels)), [f"{v:g}" for v in levels])
    return finish(fig, axes, ylabel)
