"""What rooms' pictures share, and the paper's two schemes, Figs. 1 and 2."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from ...notebook.style import CLIENTS, COLORS, OTHERS, panels

OBSERVED = OTHERS[3]
"""The colour of observations."""

PI = ((0, np.pi, 2 * np.pi), ("0", r"$\pi$", r"$2\pi$"))
"""Places and names of ticks."""

TRUTH = {"color": COLORS["truth"], "marker": ",", "ls": "--", "lw": 1}
"""Of what should be, in ``pictures.curves``."""


def uncertainty(ax: Axes, x, truth, sigma, mean, std, color: str, model: str = "learnt") -> None:
    """True curve with its band of 2 sigma (dashed), and the mean of what somebody learnt with its band of 2 std."""
    ax.fill_between(x, mean - 2 * std, mean + 2 * std, color=color, alpha=0.25, lw=0, label=f"band, {model}")
    ax.plot(x, truth, color=COLORS["truth"], lw=1, label="true curve")
    for side in (-2, 2):
        label = "true band" if side == 2 else None
        ax.plot(x, truth + side * np.asarray(sigma), "--", color=COLORS["truth"], lw=0.8, label=label)
    ax.plot(x, mean, color=color, lw=1, label=f"mean, {model}")


# the paper's schemes


def who_talks() -> Figure:
    """Figs. 2 and 1: clients around a server, and a ring of clients without one; who talks to whom as arrows."""
    fig, ((left, right),) = panels(1, 2, size=(3.0, 2.8))
    angles = np.pi / 2 + 2 * np.pi * np.arange(5) / 5
    places = np.stack([np.cos(angles), np.sin(angles)], 1)
    for ax, title in ((left, "with a server (Fig. 2)"), (right, "without one (Fig. 1), here a ring")):
        for k, (place, color) in enumerate(zip(places, CLIENTS, strict=True)):
            ax.plot(*place, "o", ms=24, color=color)
            ax.text(*place, f"{k + 1}", color="white", ha="center", va="center")
        empty(ax, title, (-1.35, 1.35))
    left.plot(0, 0, "s", ms=30, color=COLORS["federated"])
    left.text(0, 0, "server", color="white", ha="center", va="center", fontsize=8)
    for k, place in enumerate(places):
        arrow(left, place, (0, 0))
        arrow(right, place, places[(k + 1) % len(places)])
    return fig


def empty(ax: Axes, title: str, limits: tuple[float, float]) -> None:
    """Axes without axes."""
    ax.set(xlim=limits, ylim=limits, title=title, aspect="equal")
    ax.axis("off")


def arrow(ax: Axes, start: Sequence[float], end: Sequence[float]) -> None:
    """A double arrow between two marks."""
    ax.add_patch(FancyArrowPatch(start, end, arrowstyle="<->", shrinkA=16, shrinkB=18, mutation_scale=10, color="0.3"))
