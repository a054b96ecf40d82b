"""Figures of notebook 04 that no other room has, of labelled arrays; the others are ``notebook.pictures``."""

from collections.abc import Mapping

import ipywidgets
import numpy as np
import xarray
from matplotlib.figure import Figure

from ....federated.experiment import Experiment, data_of
from ....federated.partitions import checkerboard, hammersley, slices
from ....live.widgets import choice, explore, slider
from ....notebook.pictures import curves, legend_above, shade, style_of
from ....notebook.style import CLIENTS, COLORS, MARKERS, ordered, owners, panels
from ....numerics.heterogeneity import mean_pairwise_w1
from ....streams import stream
from .study import CLIENTS as ALL_K


def half_waves(experiment: Experiment, level: int) -> Figure:
    """What is left of the curve without its polynomial, over the pieces of both clients."""
    fig, ((ax,),) = panels(1, 1, size=(5.8, 2.2))
    data = data_of(experiment, level)
    x, f = (data.pool[name].numpy() for name in ("x", "f"))
    shade(ax, x[:, 0], data.owners)
    fine = np.linspace(-1, 1, 1000)
    ax.plot(fine, -np.sin(10 * np.pi * fine) / (2 * fine + 3), color=COLORS["truth"], lw=1, label="its true wave")
    for k, shard in enumerate(data.owners):
        wave = f[shard] - (x[shard, 0] + 0.5) ** 4
        ax.plot(x[shard, 0], wave, MARKERS[k], ms=3, mew=0, color=CLIENTS[k], label=f"client {k + 1} knows")
    ax.set(xlabel="x", ylabel="u(x) without (x + 1/2)⁴", xlim=(-1, 1), title=f"{level} pieces: half a wave each")
    fig.legend(loc="outside right center")
    return fig


# who owns what, and how far apart (Table 1, Fig. 2)


def kinds(n: int = 60) -> dict[str, tuple[str, list[np.ndarray], float]]:
    """Table 1: kind -> (what is equal and what is not, clouds of (x, y) [n, 2] of two clients, W1 of their x).

    Two of the four ways to differ are about places x, two about what is measured there.
    """
    rng = stream(0, "kinds of heterogeneity")
    x, noise = np.sort(rng.uniform(-1, 1, (2, n)), 1), 0.08 * rng.standard_normal((2, n))
    label = np.arange(n) % 2 > 0  # a class for each point: half and half
    few, most = np.arange(n) % 5 == 0, np.arange(n) % 5 > 0
    shift = np.array([[0.0], [0.8]])
    ways = {
        "covariance shift": (r"$P(x)$ differs, $P(y|x)$ does not", (x - 1) / 2 + [[0], [1]], None),
        "prior probability shift": (r"$P(y)$ differs, $P(x|y)$ does not", None, np.stack([few, most])),
        "concept drift": (r"$P(x|y)$ differs, $P(y)$ does not", None, np.stack([label, label])),
        "concept shift": (r"$P(y|x)$ differs, $P(x)$ does not", np.stack([x[0], x[0]]), None),
    }
    table = {}
    for kind, (words, places, classes) in ways.items():
        if classes is not None:  # two classes, at x about -1/2 and 1/2
            places = classes - 0.5 + 2 * noise + (0.35 * shift if kind == "concept drift" else 0)
            y = classes + noise[::-1] / 2
        else:
            y = np.sin(3 * places) + noise + (shift if kind == "concept shift" else 0)
        clouds = [np.stack([a, b], 1) for a, b in zip(places, y, strict=True)]
        table[kind] = words, clouds, mean_pairwise_w1([cloud[:, :1] for cloud in clouds])
    return table


def four_kinds() -> Figure:
    """Table 1 as pictures."""
    table = kinds()
    fig, axes = panels(1, len(table), size=(2.1, 2.4))
    for ax, (title, (equations, clouds, w1)) in zip(axes[0], table.items(), strict=True):
        for k, cloud in enumerate(clouds):
            ax.plot(*cloud.T, MARKERS[k], ms=3, mew=0, alpha=0.6, color=CLIENTS[k], label=f"client {k + 1}")
        ax.set(xlabel=f"x\n$W_1$ of the inputs {w1:.2f}", xticks=(), yticks=())
        ax.set_title(f"{title}\n{equations}", fontsize=8)
    axes[0, 0].set_ylabel("y")
    legend_above(fig, axes[0, 0], 2)
    return fig


def partition(method: str, clients: int, blocks: int, points: np.ndarray) -> list[np.ndarray]:
    """Clouds of the clients: "x", so many slabs each, or "xy", blocks x blocks of a checkerboard."""
    x, y = points.T
    shards = slices(x, 0, 1, clients, blocks) if method == "x" else checkerboard(x, y, (0, 1), clients, blocks)
    return [points[shard] for shard in shards]


def partitions(n: int = 500) -> Figure:
    """Fig. 2B to D: slabs and checkerboards of n points."""
    shown = [("x", 2, 2), ("x", 3, 2), *(("xy", K, 4) for K in ALL_K)]
    fig, axes = panels(1, len(shown), size=(1.35, 1.9), sharey=True)
    for ax, (method, K, blocks) in zip(axes[0], shown, strict=True):
        owners(partition(method, K, blocks, hammersley(n)), ax)
        ax.set(xlabel="x", xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=(0, 1), yticks=(0, 1))
        ax.set_title(f"{method} method\n{K} clients")
    axes[0, 0].set_ylabel("y")
    return fig


def draw_partition(method: str, clients: int, blocks: int) -> Figure:
    """400 points of the unit square in the colours of their owners, and how far apart these are."""
    clouds = partition(method, clients, blocks, hammersley(400))
    fig, ((ax,),) = panels(size=(6.4, 3.4))
    for k, cloud in enumerate(clouds):
        ax.plot(*cloud.T, "o", ms=4, mew=0, color=CLIENTS[k], label=f"client {k + 1}: {len(cloud)} points")
    ax.set(xlabel="x", ylabel="y", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set_title(f"mean pairwise $W_1$ = {mean_pairwise_w1(clouds):.3f}")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside right center")
    return fig


def partition_explorer() -> ipywidgets.GridBox:
    """Partitions of the square."""
    return explore(
        draw_partition,
        "points of the unit square in the colours of the clients that own them",
        method=choice(["xy", "x"]),
        clients=slider([2, 3, 4, 5], 2, "clients K"),
        blocks=slider(range(1, 13), 4),
    )


def w1_curves(w1: xarray.Dataset) -> Figure:
    """Fig. 2: W1 over levels, as of ``problem.partitions``."""
    ways = {
        "line [-1, 1]": w1.line.sel(pieces_each=[1, 2, 3, 5, 10, 20]).rename(pieces_each="level"),
        "square, x method": w1.slabs.rename(slabs_each="level"),
        "square, xy method": w1.blocks.sel(blocks_per_axis=slice(3, None)).rename(blocks_per_axis="level"),
    }
    words = ("pieces of each client", "slabs of each client", "blocks per axis")
    named = {
        title: values.rename(clients="K").rename(None).assign_attrs(long_name="mean pairwise $W_1$", level=level)
        for (title, values), level in zip(ways.items(), words, strict=True)
    }
    return curves(named, hue="K", size=(2.6, 2.6))


# Fig. 6D, Theorem 3.1, Fig. 3


def federations(errors: Mapping[tuple, xarray.DataArray]) -> Figure:
    """Fig. 6D: federated errors of K clients on the same blocks, by ("blocks", K) -> (%) [kind, level, seed]."""
    of_K = {f"{K} clients": values.sel(kind="federated", drop=True) for (_, K), values in errors.items()}
    of_K["centralised"] = errors["blocks", 2].sel(kind="centralised", drop=True)
    names = xarray.Variable("who", [*of_K])
    lines = xarray.concat([values.drop_vars("distance") for values in of_K.values()], names).rename(None)
    looks = dict(zip(of_K, ordered(len(errors)), strict=False)) | {"centralised": style_of("centralised")}
    return curves({"": lines}, hue="who", looks=looks.get, size=(5.2, 2.8))


def share_of_bound(theorem: xarray.Dataset) -> Figure:
    """Theorem 3.1: measured distances of the models over the bound, a panel for each level."""
    share = (theorem.distance / theorem.bound).sel(E=theorem.E[theorem.E > 1])
    named = share.rename(rounds="round").assign_attrs(long_name="distance over its bound")
    return curves({f"{n} pieces": named.sel(level=n, drop=True) for n in share.level.values}, "round", "E", share=True)


def paths(walks: xarray.Dataset) -> Figure:
    """Fig. 3 with real weights: how far server and centralised model are apart, at the coarsest partition and a fine
    one."""
    apart = walks.distance.rename(level="pieces").rename(None)
    named = apart.assign_attrs(long_name=r"$|\theta_{fed} - \theta_{central}|$", scale="linear")
    return curves({"": named}, "round", "pieces", size=(5.2, 2.8))
