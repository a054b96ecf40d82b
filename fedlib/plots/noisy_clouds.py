"""Sampled predictions beside noisy observations, in the paper's arrangement (FedStNN, Figs. 5 to 11)."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import norm

from ..notebook.style import COLORS, panels
from ..problems.fedstnn import curve, surface, surface_grid
from ..problems.noisy_surface import SLICES, on_slice
from ..streams import stream

CLOUDS = {"observed": "#AA4499", "sampled": COLORS["federated"]}
"""Purple and blue as in Figs. 5 to 7; also for those who see few colours one is light and one dark."""


ON_SLICES = {"f": COLORS["centralised"], "observed": COLORS["isolated"], "sampled": COLORS["truth"]}
"""Green, red and black as in Figs. 10 and 11; the markers differ, too."""


def cloud(ax, x: np.ndarray, y: np.ndarray, predicted: np.ndarray) -> None:
    """Observations y [n] and one sampled prediction [n] at each x [n], in random order: none hides the other."""
    order = stream(0, "order of dots").permutation(2 * len(x))
    dots, colors = np.stack([np.tile(x, 2), np.concatenate([y, predicted])]), np.repeat([*CLOUDS.values()], len(x))
    ax.scatter(*dots[:, order], s=2, c=colors[order], lw=0, rasterized=True)
    for label, color in zip(("observations", "one prediction each"), CLOUDS.values(), strict=True):
        ax.plot([], [], "o", color=color, label=label)
    ax.plot(x, curve(x), color=COLORS["truth"], lw=1, label="f")
    ax.set_xlabel("x")


def clouds(x: np.ndarray, y: np.ndarray, predicted: Mapping[str, np.ndarray], known: Mapping[str, tuple]) -> Figure:
    """``cloud`` of models side by side: title -> predictions [n]. known: title -> (low, high), shown in grey."""
    fig, (axes,) = panels(1, len(predicted), size=(2.6, 2.8), sharex=True, sharey=True)
    for ax, (title, values) in zip(axes, predicted.items(), strict=True):
        if title in known:
            ax.axvspan(*known[title], color="0.88", zorder=0)
        cloud(ax, x, y, values)
        ax.set_title(title)
    axes[0].set_ylabel("y")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def surface_clouds(z: np.ndarray, predicted: np.ndarray, some: np.ndarray) -> Figure:
    """Figs. 8 and 9: all noisy observations z [N] on the grid; some [m] of them and of the predictions [N]."""
    fig, ((left, right),) = panels(1, 2, size=(3.8, 3.4), subplot_kw=dict(projection="3d"))
    points = surface_grid()
    left.scatter(*points.T, z, s=1, c=z, cmap="viridis", lw=0, rasterized=True)
    left.set_title(f"all {len(z)} noisy observations")
    at = points[some].T
    right.plot(*at, z[some], "s", ms=4, mfc="none", color=CLOUDS["observed"], label="observation")
    right.plot(*at, predicted[some], ".", ms=5, color=CLOUDS["sampled"], label="prediction")
    for (x, y), low, high in zip(at.T, z[some], predicted[some], strict=True):
        right.plot([x, x], [y, y], [low, high], color="0.5", lw=0.8)
    right.set_title(f"{len(some)} of them, and predictions")
    right.legend(loc="upper left")
    for ax in (left, right):
        ax.set(xlabel="x", ylabel="y", zlabel="z", zlim=(z.min(), z.max()))
        ax.view_init(elev=25, azim=-60)
        ax.set_box_aspect(None, zoom=0.85)  # else the label of z is cut off
    return fig


def slice_dots(z: np.ndarray, predicted: np.ndarray, sigma: float) -> Figure:
    """Figs. 10 and 11: f and its band of 2 sigma, observations z [N] and predictions [N] on the paper's two slices."""
    fig, (axes,) = panels(1, len(SLICES), size=(3.8, 2.8))
    for ax, (name, (axis, _)) in zip(axes, SLICES.items(), strict=True):
        where = on_slice(name)
        points = surface_grid()[where]
        along, f = points[:, 1 - axis], surface(*points.T)
        green = ON_SLICES["f"]
        ax.fill_between(along, f - 2 * sigma, f + 2 * sigma, color=green, alpha=0.25, lw=0, label=r"f $\pm$ 2 $\sigma$")
        ax.plot(along, f, color=green, lw=2, label="f")
        ax.plot(along, z[where], "x", ms=4, color=ON_SLICES["observed"], label="observations")
        ax.plot(along, predicted[where], "o", ms=3, mew=0, color=ON_SLICES["sampled"], label="predictions")
        ax.set(title=f"slice {name}", xlabel="yx"[axis], ylabel="z")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return fig


def residuals(shown: Mapping[str, tuple[np.ndarray, np.ndarray]], sigma: float) -> Figure:
    """Histograms: title -> (sampled prediction - f, observation - f), each [n]; and the density of N(0, sigma^2)."""
    fig, (axes,) = panels(1, len(shown), size=(3.8, 2.6), sharex=True, sharey=True)
    bins = np.linspace(-5 * sigma, 5 * sigma, 61)
    for ax, (title, (sampled, observed)) in zip(axes, shown.items(), strict=True):
        inside = [np.clip(values, bins[0], bins[-1]) for values in (observed, sampled)]  # the ends hold all beyond
        how = dict(bins=bins, density=True)
        ax.hist(inside[0], color=CLOUDS["observed"], alpha=0.4, label="observations - f", **how)
        ax.hist(inside[1], histtype="step", lw=1.8, color=CLOUDS["sampled"], label="predictions - f", **how)
        ax.plot(bins, norm.pdf(bins, scale=sigma), "--", color=COLORS["truth"], lw=1, label=r"N(0, $\sigma^2$)")
        ax.set(title=title, xlabel="residual")
    axes[0].set_ylabel("density")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig
