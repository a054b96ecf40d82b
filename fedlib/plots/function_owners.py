"""Pictures of who owns which points of a line and of the unit square, and how far apart the clients are."""

from collections.abc import Mapping, Sequence

import ipywidgets
import numpy as np
from matplotlib.figure import Figure

from ..federated.heterogeneity import mean_pairwise_w1
from ..federated.partitions import checkerboard, hammersley, slices
from ..notebook.style import CLIENTS, log_axis, owners, panels
from ..notebook.widgets import explore
from .functions import legend_above, ordered


def curve_owners(x: np.ndarray, f: np.ndarray, levels: Mapping[str, Sequence[np.ndarray]]) -> Figure:
    """The points (x, f) [N] in the colours of their owners; levels: title -> K index arrays, a panel each."""
    fig, axes = panels(1, len(levels), size=(min(2.6, 7.8 / len(levels)), 2.3), sharey=True)
    for ax, (title, owned) in zip(axes[0], levels.items(), strict=True):
        for k, own in enumerate(owned):
            ax.plot(x[own], f[own], "o", ms=3, mew=0, color=CLIENTS[k % len(CLIENTS)], label=f"client {k + 1}")
        ax.set(xlabel="x", title=title)
    axes[0, 0].set_ylabel("f(x)")
    legend_above(fig, axes[0, 0])
    return fig


def maps(fields: Mapping[str, np.ndarray]) -> Figure:
    """Functions on the unit square, title -> values [n, n] between 0 and 1, first index x."""
    fig, axes = panels(1, len(fields), size=(3.0, 2.5))
    for ax, (title, values) in zip(axes[0], fields.items(), strict=True):
        image = ax.imshow(values.T, extent=(0, 1, 0, 1), origin="lower", vmin=0, vmax=1)
        ax.set(xlabel="x", ylabel="y", title=title)
    fig.colorbar(image, ax=axes, label="f(x, y)")
    return fig


def square_owners(pictures: Mapping[str, Sequence[np.ndarray]]) -> Figure:
    """Partitions of the unit square side by side: title -> K clouds of points [n, 2]."""
    fig, axes = panels(1, len(pictures), size=(7.8 / len(pictures), 1.9), sharey=True)
    for ax, (title, clouds) in zip(axes[0], pictures.items(), strict=True):
        owners(clouds, ax)
        ax.set(xlabel="x", xlim=(0, 1), ylim=(0, 1), aspect="equal", title=title, xticks=(0, 1), yticks=(0, 1))
    axes[0, 0].set_ylabel("y")
    return fig


def w1_curves(methods: Mapping[str, tuple[str, Mapping[int, tuple]]]) -> Figure:
    """W1 over levels: title -> (label of the levels, {K: (levels, W1, closed form)}); the closed form is dotted."""
    fig, axes = panels(1, len(methods), size=(2.6, 2.6))
    for ax, (title, (label, of_K)) in zip(axes[0], methods.items(), strict=True):
        for (K, (levels, values, closed)), style in zip(of_K.items(), ordered(len(of_K)), strict=True):
            ax.plot(levels, values, ms=4, label=f"K = {K}", **style)
            ax.plot(levels, closed, ":", color=style["color"], lw=1)
        log_axis(ax.xaxis)
        log_axis(ax.yaxis)
        ax.set(xlabel=label, title=title)
    axes[0, 0].set_ylabel("mean pairwise $W_1$")
    legend_above(fig, axes[0, 0])
    return fig


def partition_view(clouds: Sequence[np.ndarray]) -> Figure:
    """The clients' points [n, 2] of the unit square, and how far apart the clients are."""
    fig, ((ax,),) = panels(size=(6.4, 3.4))
    owners(clouds, ax, ms=4, labels=True)
    for line, own in zip(ax.get_lines(), clouds, strict=True):
        line.set_label(f"{line.get_label()}: {len(own)} points")
    ax.set(xlabel="x", ylabel="y", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set_title(f"mean pairwise $W_1$ = {mean_pairwise_w1(clouds):.3f}")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside right center")
    return fig


def draw_partition(method: str, clients: int, blocks: int, n_points: int = 400) -> Figure:
    """Hammersley points of the unit square, shared by the "x" (slabs) or the "xy" (checkerboard) method."""
    points = hammersley(n_points)
    if method == "x":
        owned = slices(points[:, 0], 0, 1, clients, blocks)
    else:
        owned = checkerboard(*points.T, (0, 1), clients, blocks)
    return partition_view([points[own] for own in owned])


def partition_explorer() -> ipywidgets.VBox:
    """The partition widget."""
    return explore(
        draw_partition,
        "points of the unit square in the colours of the clients that own them",
        method=ipywidgets.SelectionSlider(options=["xy", "x"]),
        clients=ipywidgets.IntSlider(2, min=2, max=5, description="clients K"),
        blocks=ipywidgets.IntSlider(4, min=1, max=12, description="blocks"),
    )
