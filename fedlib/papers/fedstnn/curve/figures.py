"""Pictures of the noisy sine: who observes it where, what is learnt of it and of its noise, and for whom the band is
right."""

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....notebook.style import CLIENTS, COLORS, MARKERS, band, log_axis, panels, set_ticks
from ....streams import stream
from ..experiment import rms
from ..figures import OBSERVED, uncertainty
from ..sine import SHARINGS, N, curve, curve_grid, growing, observed, owners, region, some
from .study import MAIN, Results, models, shares

SCORES = {"squared error": ("other", "s"), "likelihood": ("light", "^"), "energy score": ("centralised", "o")}
"""Colour and marker of models that see all data and differ in their loss."""

DIFFUSIONS = {"vector": "one g per block and neuron", "net": "g a network of X"}

PI = ((0, np.pi, 2 * np.pi), ("0", r"$\pi$", r"$2\pi$"))
"""Places and names of ticks."""

NOMINAL = 0.9545
"""What a band of two st.dev. covers of a normal law."""


def observations(seed: int, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """x, y [N]."""
    return curve_grid(), observed(seed, sigma)["y"].numpy()


def answer(one_place: xarray.Dataset, sigma: float, scores=("squared error", "energy score")) -> Figure:
    """What two losses make of the same observations at a noise, in the first seed; one_place: of ``Results``."""
    fig, (axes,) = panels(1, len(scores), size=(3.8, 2.7), sharey=True)
    x, y = observations(0, sigma)
    few = stream(0, "drawn observations").choice(N, 600, replace=False)
    for ax, score in zip(axes, scores, strict=True):
        one = one_place.sel(score=score, level=sigma).isel(seed=0)
        ax.plot(x[few], y[few], ".", ms=2.5, color="0.7", label="observations")
        grid = one.x.values
        uncertainty(ax, grid, curve(grid), sigma, one["mean"].values, one["std"].values, color="centralised")
        spread = rms(one["std"].values)
        ax.set(xlabel="x", title=f"{score}: a spread of {spread:.2g}, the data have {sigma:g}")
        set_ticks(ax.xaxis, *PI)
    axes[0].set_ylabel("y")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return fig


def data_figure(clients: int, sigma: float, seed: int) -> Figure:
    """Figs. 3 and 4: left all observations and the borders of the ten groups, right those of three clients."""
    x, y = observations(seed, sigma)
    fig, ((left, right),) = panels(1, 2, size=(3.8, 2.6), sharey=True)
    left.plot(x, y, ",", color=COLORS["light"], rasterized=True)
    for edge in range(1, 10):
        left.axvline(edge * np.pi / 5, color="0.8", lw=0.6)
    shards, (one, another, *_, third, _) = owners(MAIN, clients, seed), some(clients)
    for i, k in enumerate((one, another, third)):
        shard = shards[k - 1]
        right.plot(x[shard], y[shard], MARKERS[i], ms=3.5, mew=0, alpha=0.8, color=CLIENTS[i], label=f"client {k}")
    for ax, title in (
        (left, rf"all {N} observations, $\sigma$ = {sigma:g}, ten groups"),
        (right, f"the {len(shards[0])} observations of three of {clients} clients"),
    ):
        ax.plot(x, curve(x), color=COLORS["truth"], lw=1, label="true f")
        ax.set(xlabel="x", title=title)
        set_ticks(ax.xaxis, *PI)
    left.set_ylabel("y")
    right.legend(loc="upper right")
    return fig


def cloud(ax: Axes, x: np.ndarray, y: np.ndarray, predicted: np.ndarray) -> None:
    """Observations y [n] and one sampled prediction [n] at each x [n], in random order: none hides the other."""
    order = stream(0, "order of dots").permutation(2 * len(x))
    colors = {"observations": OBSERVED, "one prediction each": COLORS["federated"]}
    dots = np.stack([np.tile(x, 2), np.concatenate([y, predicted])])
    ax.scatter(*dots[:, order], s=2, c=np.repeat([*colors.values()], len(x))[order], lw=0, rasterized=True)
    for label, color in colors.items():
        ax.plot([], [], "o", color=color, label=label)
    ax.plot(x, curve(x), color=COLORS["truth"], lw=1, label="true f")
    ax.set_xlabel("x")
    set_ticks(ax.xaxis, *PI)


def clouds(results: Results) -> Figure:
    """Figs. 5 to 7 in the first seed: federations with 110 and 60 points a client, and one client's own model."""
    titles = {"110": "110 points a client", "60": "60 points a client", "alone": f"client {results.shown} alone"}
    drawn = {name: pair for name, pair in results.samples.items() if name in titles}
    fig, (axes,) = panels(1, len(drawn), size=(2.6, 2.8), sharex=True, sharey=True)
    for ax, (name, (path, y)) in zip(axes, drawn.items(), strict=True):
        if name == "alone":
            ax.axvspan(*region(results.shown, results.clients), color="0.88", zorder=0)
        cloud(ax, curve_grid(), y[0], path[0])
        ax.set_title(titles[name])
    axes[0].set_ylabel("y")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def bands(results: Results) -> Figure:
    """Learnt sines of the first seed and their bands beside the true band of two sigma."""
    rows = {name: answers for name, answers in models(results).items() if not name.startswith("all")}
    fig, axes = panels(len(rows) // 2, 2, size=(3.8, 2.4), sharex=True, sharey=True)
    for ax, (title, answers) in zip(axes.flat, rows.items(), strict=True):
        one = answers.isel(seed=0)
        x, values = one.x.values, (one[name].values for name in ("mean", "std", "path"))
        uncertainty(ax, x, curve(x), results.sigma, *values)
        ax.set(title=title, xlabel="x", ylabel="y")
        ax.label_outer()
        set_ticks(ax.xaxis, *PI)
    fig.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return fig


def alone(results: Results) -> Figure:
    """What clients learn alone; the tenth of the interval that each of them knows is grey."""
    some_of = results.alone.isel(seed=0)
    fig, (axes,) = panels(1, some_of.sizes["client"], size=(1.75, 2.4), sharey=True)
    x = some_of.x.values
    for ax, k in zip(axes, some_of.client.values.tolist(), strict=True):
        ax.axvspan(*region(k, results.clients), color="0.88")
        values = (some_of[name].sel(client=k).values for name in ("mean", "std"))
        uncertainty(ax, x, curve(x), results.sigma, *values, color="isolated")
        ax.set(title=f"client {k} alone", xlabel="x")
        set_ticks(ax.xaxis, *PI)
    axes[0].set_ylabel("y")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return fig


def noise(one_place: xarray.Dataset) -> Figure:
    """Does the spread follow a noise that is the same everywhere? In units of it; markers of three losses stand beside
    each other."""
    fig, ((ax,),) = panels(1, 1, size=(3.8, 2.9))
    sigmas = one_place.level.values
    ax.axhline(1, ls="--", color=COLORS["truth"], lw=1, label="truth")
    for i, (score, (color, marker)) in enumerate(SCORES.items()):
        std = rms(one_place["std"].sel(score=score).transpose("seed", "level", "x").values)
        band(ax, sigmas * 1.1 ** (i - 1), std / sigmas, COLORS[color], score, marker=marker, ms=5, lw=1)
    for axis in (ax.xaxis, ax.yaxis):
        log_axis(axis)
    set_ticks(ax.xaxis, sigmas, [f"{sigma:g}" for sigma in sigmas])
    set_ticks(ax.yaxis, (0.03, 0.1, 0.3, 1), ("0.03", "0.1", "0.3", "1"))
    ax.set(xlabel=r"$\sigma$ of the data", ylabel=r"learnt std / $\sigma$", title="a noise that is the same everywhere")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    return fig


def noise_that_grows(varied: xarray.Dataset) -> Figure:
    """The spread beside a noise that grows with x; varied: ``growing`` of ``Results``."""
    fig, ((ax,),) = panels(1, 1, size=(3.8, 2.9))
    x = varied.x.values
    for diffusion, color in zip(DIFFUSIONS, ("centralised", "other"), strict=True):
        std = varied["std"].sel(diffusion=diffusion).transpose("seed", "x").values
        band(ax, x, std, COLORS[color], DIFFUSIONS[diffusion], marker="", lw=2.5 if color == "other" else 1.5)
    ax.plot(x, growing(x), "--", color=COLORS["truth"], label=r"true $\sigma(x)$")
    ax.set(xlabel="x", ylabel="std of the paths", title="a noise that grows with x", ylim=(0, None))
    set_ticks(ax.xaxis, *PI)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    return fig


def coverage(results: Results) -> Figure:
    """What the one band of the federation covers of new observations of each client, against how much clients differ,
    left in where they observe, right in how well."""
    fig, ((left, right),) = panels(1, 2, size=(3.8, 3.0), sharey=True)
    levels, random = shares(results), stream(0, "scatter of dots")
    for i, level in enumerate(levels):
        values = results.coverage.sel(level=level).values.ravel()
        left.plot(i + random.uniform(-0.3, 0.3, values.size), values, ".", ms=2, alpha=0.3, color=COLORS["federated"])
        left.plot(i, np.median(values), "_", ms=24, mew=2.5, color=COLORS["federated"], label="_median")
    names = ["IID" if SHARINGS[level] is None else str(SHARINGS[level].outside) for level in levels]
    set_ticks(left.xaxis, range(len(levels)), names)
    left.set(
        xlabel="points outside of the own tenth, of 110", ylabel="covered of new observations", title="other places"
    )
    noises = results.coverage_noises.sortby("level", ascending=False)
    for kind, color, marker in (("quiet", CLIENTS[0], "o"), ("loud", CLIENTS[1], "s")):
        values = noises.sel(kind=kind).transpose("level", "seed")
        places = np.arange(values.sizes["level"])
        words = f"the {kind} half of the clients"
        right.plot(places, values.mean("seed"), marker, ls="-", ms=4, mew=0, color=color, lw=1.2, label=words)
        right.plot(places, values, marker, ms=4, mew=0, alpha=0.4, color=color)
    loud = [f"{q:g}, {2 * results.sigma - q:g}" for q in noises.level.values]
    set_ticks(right.xaxis, range(len(loud)), loud)
    right.set(xlabel=r"$\sigma$ of even and of odd clients", title="other noises")
    for ax in (left, right):
        ax.axhline(NOMINAL, ls="--", lw=1, color=COLORS["truth"], label="a true band: 95 %")
    right.legend(loc="lower left")
    return fig
