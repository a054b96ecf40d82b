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
from ....notebook.style import CLIENTS, COLORS, MARKERS, log_axis, ordered, owners, panels
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
    ax.plot(fine, -np.sin(10 * np.pi * fine) / (2 * fine + 3), color=COLORS["truth"], lw=1, label="its wave")
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
    """Fig. 2: W1 over levels, as of ``problem.partitions``; dotted its closed form for continuous uniform pieces.

    That is h (K + 1) / 3 for slabs of width h, on a line of length 2 or in x, and h / 3 for blocks of side h and two
    clients.
    """
    ways = {"line [-1, 1]": ("line", "pieces", 2), "square, x method": ("slabs", "slabs n", 1)}
    ways["square, xy method"] = ("blocks", "blocks per axis s", None)
    w1 = w1.sel(pieces_each=[1, 2, 3, 5, 10, 20], blocks_per_axis=slice(3, None))  # more would hide each other
    fig, axes = panels(1, len(ways), size=(2.6, 2.6))
    for ax, (title, (name, words, length)) in zip(axes[0], ways.items(), strict=True):
        for row, style in zip(w1[name], ordered(w1.sizes["clients"]), strict=True):
            values = row.dropna(row.dims[0])
            K, counts = values.clients.item(), values[row.dims[0]].values
            levels = K * counts if length else counts
            ax.plot(levels, values, ms=4, label=f"K = {K}", **style)
            if length or K == 2:
                closed = length * (K + 1) / (3 * levels) if length else 1 / (3 * levels)
                ax.plot(levels, closed, ":", color=style["color"], lw=1)
        log_axis(ax.xaxis)
        log_axis(ax.yaxis)
        ax.set(xlabel=words, title=title)
    axes[0, 0].set_ylabel("mean pairwise $W_1$")
    legend_above(fig, axes[0, 0], 4)
    return fig


# Fig. 6D, Theorem 3.1, Fig. 3


def federations(errors: Mapping[int, xarray.DataArray]) -> Figure:
    """Fig. 6D: federated errors of K clients on the same blocks, by K -> (%) [kind, level, seed]."""
    of_K = {f"{K} clients": values.sel(kind="federated", drop=True) for K, values in errors.items()}
    of_K["centralised"] = errors[2].sel(kind="centralised", drop=True)
    names = xarray.Variable("who", [*of_K])
    lines = xarray.concat([values.drop_vars("distance") for values in of_K.values()], names).rename(None)
    looks = dict(zip(of_K, ordered(len(errors)), strict=False)) | {"centralised": style_of("centralised")}
    return curves({"": lines}, hue="who", looks=looks.get, size=(5.2, 2.8))


def bound(theorem: xarray.Dataset) -> Figure:
    """Theorem 3.1: measured distances of the models (solid), a panel each, below the bound (dotted)."""
    fig, axes = panels(1, theorem.sizes["level"], size=(3.4, 2.6), sharey=True)
    drawn = theorem.sel(E=[E for E in theorem.E.values if E > 1])
    for ax, level in zip(axes[0], theorem.level.values, strict=True):
        for E, style in zip(drawn.E.values, ordered(drawn.sizes["E"]), strict=True):
            ax.plot(drawn["rounds"], drawn.distance.sel(E=E, level=level), ms=4, label=f"E = {E}", **style)
            ax.plot(drawn["rounds"], drawn.bound.sel(E=E), ":", **style, ms=3)
        log_axis(ax.xaxis)
        ax.set(xlabel="rounds l", yscale="log", title=f"{level} pieces")
    axes[0, 0].set_ylabel(r"$\|\theta_{fed} - \theta_{central}\|$")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center", title="dotted: bound")
    return fig


def paths(walks: xarray.Dataset) -> Figure:
    """Fig. 3 with real weights: the first two rounds at the coarsest partition; and how far apart, at every one."""
    fig, ((left, right),) = panels(1, 2, size=(3.6, 2.9))
    first = walks.isel(level=0)
    steps, server, share = (first[name].values for name in ("steps", "server", "share"))
    for k, of_client in enumerate(np.moveaxis(steps, 1, 0)):
        for r, path in enumerate(of_client):
            name = f"client {k + 1}, each step" if r == 0 else f"_{k}"
            left.plot(*path.T, marker=".", color=CLIENTS[k], label=name)
            left.plot(*np.stack([path[-1], server[r + 1]]).T, ":", lw=1, color="0.5", label="_mean")
    left.plot(*first.central.values.T, ".--", lw=1.5, color=COLORS["centralised"], label="centralised")
    left.plot(*server.T, "o-", ms=5, lw=2, color=COLORS["federated"], label="server")
    left.set(xlabel=f"PC 1 ({share[0]:.0%})", ylabel=f"PC 2 ({share[1]:.0%})")
    left.set_title(f"the first two rounds, {first.level.item()} pieces")
    for distance, ls, marker in zip(walks.distance, ("-", "--"), "os", strict=False):
        look = {"ls": ls, "marker": marker, "ms": 3, "color": COLORS["federated"]}
        right.plot(walks["round"], distance, label=f"{distance.level.item()} pieces", **look)
    right.set(xlabel="round $l$", ylabel=r"$|\theta_{fed} - \theta_{central}|$", title="how far apart")
    log_axis(right.xaxis)
    right.legend(loc="upper left")
    legend_above(fig, left, 4)
    return fig
