"""Pictures of functions on a line that clients learn together: who owns what, and the models' fits."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import ipywidgets
import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from ..federated.heterogeneity import mean_pairwise_w1
from ..notebook.pictures import shade
from ..notebook.style import CLIENTS, COLORS, panels, shards
from ..notebook.widgets import explore
from ..numerics.metrics import percent


def ordered(n: int) -> list[dict]:
    """Colours and markers of n choices that have an order (clients, layers, steps), none of them a role's colour."""
    colors = colormaps["magma"](np.linspace(0.15, 0.75, n))
    return [{"color": color, "marker": marker} for color, marker in zip(colors, cycle("os^Dv"), strict=False)]


def legend_above(fig: Figure, ax, columns: int = 4) -> None:
    """The legend of one axes above all, where it hides no curve."""
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=columns)


def fits_side_by_side(z, truth, fits: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """A function [n] on z and what models make of it: title -> (federated [n], clients alone [K, n]), a panel each."""
    fig, axes = panels(1, len(fits), size=(3.6, 2.6), sharey=True)
    for ax, (title, (federated, alone)) in zip(axes[0], fits.items(), strict=True):
        draw_curves(ax, z, truth, federated, alone)
        ax.set_title(title)
    axes[0, 0].set_ylabel("f(x)")
    legend_above(fig, axes[0, 0])
    return fig


def examples(x, z, truth, fits: Mapping[int, tuple], central) -> Figure:
    """Fig. 4C: subdomains -> (shards, federated [n], clients alone [K, n]), a panel each, owners as shades behind.

    x [N]: training points; z [n], truth [n], central [n]: the function and the centralised model.
    """
    fig, axes = panels(1, len(fits), size=(3.6, 2.8), sharey=True)
    for ax, (n, (owned, federated, alone)) in zip(axes[0], fits.items(), strict=True):
        shade(ax, x, owned)
        draw_curves(ax, z, truth, federated, alone)
        ax.plot(z, central, "-.", lw=1, color=COLORS["centralised"], label="centralised")
        said = f"federated {percent(federated, truth):.2g} %, centralised {percent(central, truth):.2g} %"
        ax.set_title(f"{n} subdomains\n{said}")
    axes[0, 0].set_ylabel("f(x)")
    legend_above(fig, axes[0, 0], 5)
    return fig


def draw_curves(ax, z, truth, federated, alone, labels: bool = False) -> None:
    """A function and its models, in limits that depend on the function only. labels: with relative L2 errors."""

    def name(label, fit):
        return f"{label}: e = {percent(fit, truth):.1f} %" if labels else label

    ax.plot(z, truth, color=COLORS["truth"], lw=2.5, alpha=0.5, label="f")
    for k, fit in enumerate(alone):
        ax.plot(z, fit, ":", lw=2.5, color=CLIENTS[k % len(CLIENTS)], label=name(f"client {k + 1} alone", fit))
    ax.plot(z, federated, "--", color=COLORS["federated"], label=name("federated", federated))
    spread = np.ptp(truth)
    ax.set(xlabel="x", ylim=(truth.min() - 0.3 * spread, truth.max() + 0.3 * spread))


def fit_view(x, z, truth, owned: Sequence[np.ndarray], federated: np.ndarray, alone: np.ndarray) -> Figure:
    """A function on a line: who owns which points, and what the federation and each client alone make of it.

    Limits and ticks do not depend on the clients, so that an explorer draws them once.

    Args:
        x [N]: training points; owned: K index arrays; z [n], truth [n]: the function; federated [n], alone [K, n].
    """
    clouds = [x[own] for own in owned]
    fig, ((strip,), (curves,)) = panels(2, 1, size=(6.8, 1.8), sharex=True, height_ratios=(1, 3))
    shards(clouds, strip, "", ms=6, alpha=1)
    for k, line in enumerate(strip.get_lines()):
        line.set_ydata(np.full(len(clouds[k]), (k + 0.5) / len(clouds)))
        strip.text(-0.01, (k + 0.5) / len(clouds), f"client {k + 1}", ha="right", va="center", fontsize=8,
                   transform=strip.get_yaxis_transform())  # fmt: skip
    strip.set(ylabel="", yticks=(), ylim=(1, 0), title=f"mean pairwise $W_1$ = {mean_pairwise_w1(clouds):.3f}")
    draw_curves(curves, z, truth, federated, alone, labels=True)
    curves.set_ylabel("f(x)")
    fig.legend(*curves.get_legend_handles_labels(), loc="outside right center")
    return fig


def draw_fits(x, z, truth, fits: Mapping[tuple[int, int], tuple], clients: int, pieces: int) -> Figure:
    """The picture of ``fit_view`` for one entry of fits: (K, p) -> (shards, federated, alone)."""
    if (clients, pieces) not in fits:
        trained = ", ".join(str(p) for K, p in fits if clients == K)
        raise ValueError(
            f"{clients} clients with {pieces} pieces each were not trained here; trained: {trained or '-'}"
        )
    return fit_view(x, z, truth, *fits[clients, pieces])


def fit_explorer(x, z, truth, fits: Mapping[tuple[int, int], tuple]) -> ipywidgets.VBox:
    """The function-approximation widget: number of clients K and pieces per client p."""
    K, p = (sorted({key[i] for key in fits}) for i in (0, 1))
    shared = [q for q in p if all((k, q) in fits for k in K)] or p  # begin where every K has a fit
    return explore(
        lambda **chosen: draw_fits(x, z, truth, fits, **chosen),
        "above who owns which points of the line, below the function and what each model makes of it",
        clients=ipywidgets.SelectionSlider(options=K, description="clients K"),
        pieces=ipywidgets.SelectionSlider(options=p, value=shared[0], description="pieces per client"),
    )
