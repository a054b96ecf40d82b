"""Pictures of what is measured on drawn letters: their edges, and accuracy over the number of pixels."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

from ..notebook.style import COLORS, band, log_axis, panels
from ..numerics.metrics import mean_sd
from ..problems.letters_edges import BINS, LIMITS, NEAR, Edges, counts, edge_distance, within

ROLES = {"federation": ("federated", "o"), "one model with all pixels": ("centralised", "s")}


def edges_view(found: Mapping[str, Edges], truth: np.ndarray) -> Figure:
    """Left what is drawn white across the letters' edge, right how far from it the wrong pixels lie.

    found: name of ``ROLES`` -> what was measured, [S, ...]. truth: the picture, bool [rows, columns].
    """
    fig, ((left, right),) = panels(1, 2, size=(3.8, 2.9))
    distance, everything = edge_distance(truth), np.ones_like(truth)
    there = counts(everything, distance) > 0
    names, x = np.array(bin_names())[there], np.arange(there.sum())
    left.plot(x, (distance_of_bins() < 0)[there], color=COLORS["truth"], lw=1, ls="--", label="the picture itself")
    right.plot(LIMITS, within(everything, distance), color=COLORS["truth"], lw=1, ls="--", label="all pixels")
    for name, edges in found.items():
        role, marker = ROLES[name]
        band(left, x, edges.white[:, there], COLORS[role], name, marker=marker, ms=4)
        band(right, LIMITS, edges.wrong, COLORS[role], f"wrong ones, {name}", marker=marker, ms=4)
    left.set(ylabel="share of pixels drawn white", ylim=(-0.03, 1.03), xlabel="distance from the edge (pixels)")
    left.set_xticks(x, names, rotation=60)
    left.legend(loc="upper right", title="inside: below 0")
    right.axvline(NEAR, color="0.7", lw=1, zorder=0)
    right.set(xlabel="at most so far from the edge (pixels)", ylabel="share of pixels", ylim=(-0.03, 1.03))
    right.legend(loc="lower right")
    return fig


def bin_names() -> list[str]:
    """The bins of distance as text, such as "1 to 2"."""
    ends = [f"{b:g}" for b in BINS]
    inner = [f"{a} to {b}" for a, b in pairwise(ends[1:-1])]
    return [f"below {ends[1]}", *inner, f"above {ends[-2]}"]


def distance_of_bins() -> np.ndarray:
    """A distance in each bin [bins]."""
    ends = np.clip(BINS, -99, 99)
    return (ends[1:] + ends[:-1]) / 2


def sweep_view(levels: Sequence[int], right: np.ndarray, ious: np.ndarray, black: float) -> Figure:
    """Share of right pixels and mean IoU over L: right [S, levels], ious [S, levels, 3]; black: of a black picture."""
    fig, ((left, other),) = panels(1, 2, size=(3.6, 2.7))
    band(left, levels, right, COLORS["federated"], "federation")
    left.axhline(black, color=COLORS["truth"], ls=":", lw=1, label="a black picture")
    left.set(ylabel="accuracy", ylim=(None, 1.005))
    left.legend(loc="center right")
    band(other, levels, ious.mean(-1), COLORS["federated"], "mean of three letters")
    other.plot(levels, mean_sd(ious.min(-1))[0], color=COLORS["other"], marker="^", lw=2.5, label="worst letter")
    other.set(ylabel="IoU", ylim=(0, 1.02))
    other.legend(loc="lower right")
    for ax in (left, other):
        log_axis(ax.xaxis)
        ax.set(xlabel="L, own pixels of a client (L : F = 100 : 3)", xticks=levels, xticklabels=levels)
    return fig
