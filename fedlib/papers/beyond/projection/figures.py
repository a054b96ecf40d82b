"""Figures of notebook 14: error against rounds, against pieces, and the score that chose the ridge."""

from collections.abc import Mapping

import numpy as np
import xarray
from matplotlib.figure import Figure

from ....notebook.pictures import plain, seeds_and_median
from ....notebook.style import COLORS, panels
from ..one_round.study import IN_WORDS, SINGLE, TITLES, Way
from .study import SHOWN

SUMS = COLORS["centralised"]  # what sums give is the centralised network

LEVELS = {"poisson": "pieces", "helmholtz": "blocks per axis"}
LOOKS = {
    "FedAvg, as printed": {"color": COLORS["federated"], "marker": "o", "mfc": "w", "ms": 4, "ls": ":"},
    "FedAvg, best rate": {"color": COLORS["federated"], "marker": "o", "ms": 4},
    "best rule": {"color": COLORS["light"], "marker": "s", "ms": 4, "lw": 2.5},
    "Adam, all data in one place": {"color": "0.4", "ls": "--", "lw": 2},
    "L-BFGS, all data in one place": {"color": "0.4", "lw": 2},
    "sums": {"color": SUMS, "lw": 3},
}
"""How a way is drawn; grey: nobody is apart."""


def race(problems: Mapping[str, Mapping[str, Way]]) -> Figure:
    """Error against rounds and against what a client has sent, at the level of SHOWN; medians over seeds. What is in
    one place sends nothing; its round is an evaluation, or five steps of Adam."""
    fig, axes = panels(len(problems), 2, size=(3.6, 2.6))
    for (left, right), (name, ways) in zip(axes, problems.items(), strict=True):
        for label, way in ways.items():
            if SHOWN[name] not in way.error.level:
                continue
            error, sent = way.error.sel(level=SHOWN[name]).median("seed"), way.bytes.sel(level=SHOWN[name])
            left.plot(error["round"], error, label=label, **LOOKS[label])
            if sent.values.any():
                right.plot(sent / 1e6, error, **LOOKS[label])
        left.set(xlabel="round, or evaluation", ylabel="error (%)", ylim=(SINGLE[name] / 3, 300))
        right.set(xlabel="MB sent by a client", ylim=left.get_ylim())
        for ax in (left, right):
            ax.set(xscale="log", yscale="log")
            ax.axhline(SINGLE[name], color="0.6", lw=1, ls=":")
            plain(ax.xaxis)
            plain(ax.yaxis)
        left.set_title(f"{TITLES[name]}, {IN_WORDS[name].format(SHOWN[name])}")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def against_level(problems: Mapping[str, Mapping[str, Way]]) -> Figure:
    """Errors at the end against the level; dots are seeds, lines medians."""
    fig, axes = panels(1, len(problems), size=(4.2, 3.2))
    for ax, (name, ways) in zip(axes[0], problems.items(), strict=True):
        for label, way in ways.items():
            last = way.error.isel(round=-1).transpose("seed", "level")
            look = {"marker": "D"} | {k: v for k, v in LOOKS[label].items() if k in ("color", "marker", "mfc", "ls")}
            seeds_and_median(ax, last.level.values, last.values, label, **{"ls": "-"} | look)
        levels = ways["sums"].error.level.values
        ax.set(xscale="log", yscale="log", xlabel=LEVELS[name], ylabel="error (%)", title=TITLES[name])
        ax.set_xticks(levels, levels)
        ax.minorticks_off()
        plain(ax.yaxis)
        ax.axhline(SINGLE[name], color="0.6", lw=1, ls=":")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2 + (len(problems) > 1))
    return fig


def ridges(tried: Mapping[str, xarray.DataArray]) -> Figure:
    """What chose the ridge: the mean square residual between the points; a dot for each seed that only chooses."""
    fig, axes = panels(1, len(tried), size=(3.4, 2.6))
    for ax, (name, score) in zip(axes[0], tried.items(), strict=True):
        score, best = score.sortby("ridge"), score.attrs["chosen_ridge"]
        ax.plot(score.ridge, score, "o", ms=4, color=SUMS, mfc="w")
        ax.plot(score.ridge, score.median("tuning"), color=SUMS)
        ax.axvline(best, color=COLORS["truth"], lw=1, ls=":")
        ax.set(xscale="log", yscale="log", xlabel="ridge", ylabel="mean square residual between", title=TITLES[name])
        ax.set_xticks(np.unique(score.ridge)[::2])
    return fig
