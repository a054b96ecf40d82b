"""Pictures of the noisy sine: who observes it where, and what is learnt of it; looks of its curves."""

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....notebook.style import CLIENTS, COLORS, MARKERS, OTHERS, panels, set_ticks
from ....streams import stream
from ..experiment import rms
from ..figures import OBSERVED, PI, TRUTH, uncertainty
from ..sine import N, curve, curve_grid, observed, owners, region, some
from .study import MAIN, Results, shown

LOOKS = {
    "squared error": {"color": OTHERS[0], "marker": "s"},
    "likelihood": {"color": OTHERS[1], "marker": "^", "lw": 5},
    "energy score": {"color": OTHERS[2], "marker": "o"},
    "g a network of X": {"color": OTHERS[0], "marker": ",", "lw": 2.5},
    "one g per block and neuron": {"color": OTHERS[2], "marker": ","},
    "each client": {"color": OTHERS[4], "marker": "o"},
    "the quiet half": {"color": OTHERS[1], "marker": "o"},
    "the loud half": {"color": OTHERS[0], "marker": "s"},
    "truth": TRUTH,
}
"""Of losses, diffusions and clients, in ``pictures.curves``."""


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
        ax.plot(x[few], y[few], ".", ms=2.5, color=OBSERVED, alpha=0.6, label="measurements")
        grid = one.x.values
        values = (one[name].values for name in ("mean", "std"))
        uncertainty(ax, grid, curve(grid), sigma, *values, color=COLORS["centralised"], model="all in one place")
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
    left.plot(x, y, ",", color=OBSERVED, rasterized=True)
    for edge in range(1, 10):
        left.axvline(edge * np.pi / 5, color="0.8", lw=0.6)
    shards, (one, another, *_, third, _) = owners(MAIN, clients, seed), some(clients)
    for i, k in enumerate((one, another, third)):
        shard = shards[k - 1]
        right.plot(x[shard], y[shard], MARKERS[i], ms=3.5, mew=0, alpha=0.8, color=CLIENTS[i], label=f"client {k}")
    for ax, title in (
        (left, rf"all {N} measurements, $\sigma$ = {sigma:g}, ten groups"),
        (right, f"the {len(shards[0])} measurements of three of {clients} clients"),
    ):
        ax.plot(x, curve(x), color=COLORS["truth"], lw=1, label="true curve")
        ax.set(xlabel="x", title=title)
        set_ticks(ax.xaxis, *PI)
    left.set_ylabel("y")
    right.legend(loc="upper right")
    return fig


def cloud(ax: Axes, x: np.ndarray, y: np.ndarray, predicted: np.ndarray, role: str) -> None:
    """Observations y [n] and one sampled prediction [n] at each x [n], in random order: none hides the other."""
    order = stream(0, "order of dots").permutation(2 * len(x))
    words = {"federated": "one answer each, federated", "isolated": "one answer each, alone"}[role]
    colors = {"measurements": OBSERVED, words: COLORS[role]}
    dots = np.stack([np.tile(x, 2), np.concatenate([y, predicted])])
    ax.scatter(*dots[:, order], s=2, c=np.repeat([*colors.values()], len(x))[order], lw=0, rasterized=True)
    for label, color in colors.items():
        ax.plot([], [], "o", color=color, label=label)
    ax.plot(x, curve(x), color=COLORS["truth"], lw=1, label="true curve")
    ax.set_xlabel("x")
    set_ticks(ax.xaxis, *PI)


def clouds(results: Results) -> Figure:
    """Figs. 5 to 7 in the first seed: federations with 110 and 60 points a client, and one client's own model."""
    k = shown(results.clients)
    titles = {"110": "110 points a client", "60": "60 points a client", "alone": f"client {k} alone"}
    drawn = {name: pair for name, pair in results.samples.items() if name in titles}
    fig, (axes,) = panels(1, len(drawn), size=(2.6, 2.8), sharex=True, sharey=True)
    for ax, (name, (path, y)) in zip(axes, drawn.items(), strict=True):
        if name == "alone":
            ax.axvspan(*region(k, results.clients), color="0.88", zorder=0)
        cloud(ax, curve_grid(), y[0], path[0], "isolated" if name == "alone" else "federated")
        ax.set_title(titles[name])
    axes[0].set_ylabel("y")
    handles = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    fig.legend(handles.values(), handles, loc="outside upper center", ncols=4)
    return fig


def alone(results: Results) -> Figure:
    """What clients learn alone; the tenth of the interval that each of them knows is grey."""
    some_of = results.alone.isel(seed=0)
    fig, (axes,) = panels(1, some_of.sizes["client"], size=(1.75, 2.4), sharey=True)
    x = some_of.x.values
    for ax, k in zip(axes, some_of.client.values.tolist(), strict=True):
        ax.axvspan(*region(k, results.clients), color="0.88")
        values = (some_of[name].sel(client=k).values for name in ("mean", "std"))
        uncertainty(ax, x, curve(x), results.sigma, *values, color=COLORS["isolated"], model="alone")
        ax.set(title=f"client {k} alone", xlabel="x")
        set_ticks(ax.xaxis, *PI)
    axes[0].set_ylabel("y")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return fig
