"""What pictures of all levels of heterogeneity share: medians with every seed, and both axes, W1 and the level."""

from collections.abc import Sequence

import numpy as np
from matplotlib.ticker import NullLocator

from ..notebook.style import log_axis

SHAPES = {"isolated": "s", "federated": "o", "centralised": "d"}


def seeds_and_median(ax, x: Sequence[float], values: np.ndarray, label: str, **style) -> None:
    """A dot for every seed of values [seeds, len(x)] and a line through their medians."""
    shape = style.pop("marker", "o")
    ax.plot(x, np.median(values, 0), marker=shape, ms=4, label=label, **style)
    ax.plot(x, np.transpose(values), shape, ms=3, mew=0, alpha=0.35, color=style["color"], label="_seeds")


def label(levels: Sequence[int]) -> str:
    """Levels at one tick."""
    return ", ".join(map(str, sorted(levels)))


def against_w1(ax, w: Sequence[float], levels: Sequence[int], name: str = "subdomains n", letter: float = 0.024):
    """Logarithmic axes over W1 [levels], and above them the level, called ``name`` if that is not empty.

    Levels whose labels would touch have one tick together; ``letter``: the share of the axis that a letter takes.
    """
    log_axis(ax.xaxis)
    log_axis(ax.yaxis)
    above = ax.twiny()
    above.set_xscale("log")
    above.set_xlim(ax.get_xlim())
    above.xaxis.set_minor_locator(NullLocator())
    wide = np.ptp(np.log(ax.get_xlim()))
    ticks: list[tuple[float, list[int]]] = []
    for at, n in sorted(zip(w, levels, strict=True)):
        touching = letter * (len(label(ticks[-1][1])) + len(str(n)) + 1) / 2 if ticks else 0
        if ticks and np.log(at / ticks[-1][0]) < touching * wide:
            ticks[-1][1].append(n)
        else:
            ticks.append((at, [n]))
    above.set_xticks([at for at, _ in ticks], [label(ns) for _, ns in ticks], fontsize=7)
    above.tick_params(length=2, pad=1)
    if name:
        above.set_xlabel(name, fontsize=8)
    ax.set_xlabel("$W_1$")
