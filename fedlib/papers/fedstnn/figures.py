"""Pictures that both rooms and notebook 08b share; and the paper's two schemes, Figs. 1 and 2."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle
from scipy.stats import norm

from ...notebook.style import CLIENTS, COLORS, panels

OBSERVED = "#AA4499"
"""Purple, as in Figs. 5 to 7; beside the federation's blue one is light, one dark, for those who see few colours."""


def uncertainty(ax: Axes, x, truth, sigma, mean, std, dots=None, color: str = "federated") -> None:
    """True curve with its band of 2 sigma (dashed), learnt mean with its band of 2 std, single paths as dots."""
    ax.fill_between(x, mean - 2 * std, mean + 2 * std, color=COLORS[color], alpha=0.25, lw=0, label="learnt, 2 std")
    if dots is not None:
        ax.plot(x, dots, ".", ms=2, color=COLORS[color], alpha=0.6, label="one path")
    ax.plot(x, truth, color=COLORS["truth"], lw=1, label="true f")
    for side in (-2, 2):
        label = r"true, 2 $\sigma$" if side == 2 else None
        ax.plot(x, truth + side * np.asarray(sigma), "--", color=COLORS["truth"], lw=0.8, label=label)
    ax.plot(x, mean, color=COLORS[color], lw=1, label="learnt mean")


def residuals(shown: Mapping[str, tuple[np.ndarray, np.ndarray]], sigma: float) -> Figure:
    """Histograms: title -> (sampled prediction - f, observation - f), each [n]; and the density of N(0, sigma^2)."""
    fig, (axes,) = panels(1, len(shown), size=(3.8, 2.6), sharex=True, sharey=True)
    bins = np.linspace(-5 * sigma, 5 * sigma, 61)
    for ax, (title, (sampled, observed)) in zip(axes, shown.items(), strict=True):
        inside = [np.clip(values, bins[0], bins[-1]) for values in (observed, sampled)]  # the ends hold all beyond
        args = dict(bins=bins, density=True)
        ax.hist(inside[0], color=OBSERVED, alpha=0.4, label="observations - f", **args)
        ax.hist(inside[1], histtype="step", lw=1.8, color=COLORS["federated"], label="predictions - f", **args)
        ax.plot(bins, norm.pdf(bins, scale=sigma), "--", color=COLORS["truth"], lw=1, label=r"N(0, $\sigma^2$)")
        ax.set(title=title, xlabel="residual")
    axes[0].set_ylabel("density")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


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


SORTS = {
    "horizontal": [(0, 6, 0, 3), (0, 6, 4, 7)],
    "vertical": [(0, 2.7, 0, 7), (3.3, 6, 0, 7)],
    "transfer": [(0, 3.4, 0, 3), (2.6, 6, 2.4, 7)],
}
"""Sort of federation -> (first and last feature, first and last sample) of the data of either client."""


def sorts_of_federation() -> Figure:
    """What two clients have of one table, samples down and features to the right, in three sorts of federation."""
    fig, (axes,) = panels(1, len(SORTS), size=(2.1, 2.3))
    for ax, (name, blocks) in zip(axes, SORTS.items(), strict=True):
        ax.add_patch(Rectangle((0, 0), 6, 7, fill=False, ec="0.6", ls=":"))
        for k, (left, right, top, bottom) in enumerate(blocks):
            ax.add_patch(Rectangle((left, top), right - left, bottom - top, color=CLIENTS[k], alpha=0.6, lw=0))
            ax.text((left + right) / 2, (top + bottom) / 2, f"client {k + 1}", ha="center", va="center", fontsize=8)
        ax.set(xlim=(-0.3, 6.3), ylim=(7.3, -0.3), xticks=[], yticks=[], title=name, xlabel="features")
        ax.spines[:].set_visible(False)
    axes[0].set_ylabel("samples")
    return fig
