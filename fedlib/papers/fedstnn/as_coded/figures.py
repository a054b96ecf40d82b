"""Pictures of three ways to train FedStNN: their bands, and whether these know the noise."""

from collections.abc import Mapping

import numpy as np
import xarray
from matplotlib.figure import Figure

from ....notebook.style import COLORS, band, log_axis, panels, set_ticks
from ..experiment import rms
from ..figures import uncertainty
from ..plane import on_grid
from ..sine import curve as sine
from .problem import WAYS
from .study import Results, alone, spreads

LOOKS = {
    "as printed": ("paper", "s"),
    "as coded": ("other", "^"),
    "mended": ("federated", "o"),
    "frozen paths": ("other", "^"),
    "fresh paths": ("paper", "s"),
}
"""Colour and marker of each way, and of one client's paths."""

PI = ((0, np.pi, 2 * np.pi), ("0", r"$\pi$", r"$2\pi$"))


def bands(curve: xarray.Dataset, sigma: float) -> Figure:
    """The curve as each way knows it in the first seed, with its band and the true one; curve: of ``Results``."""
    fig, (axes,) = panels(1, len(WAYS), size=(2.75, 2.6), sharey=True)
    for ax, way in zip(axes, curve.way.values.tolist(), strict=True):
        one = curve.sel(way=way, level=sigma).isel(seed=0)
        mean, std = one["mean"].values, one["std"].values
        uncertainty(ax, one.x.values, sine(one.x.values), sigma, mean, std, color=LOOKS[way][0])
        ax.set(title=f"{way}: a spread of {rms(std):.2g}", xlabel="x")
        set_ticks(ax.xaxis, *PI)
    axes[0].set_ylabel("y")
    handles, labels = axes[-1].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=5)
    return fig


def against_noise(results: Results) -> Figure:
    """The spread of each way over the noise of the data."""
    return against(spreads(results), "a federation of a hundred clients")


def frozen(results: Results) -> Figure:
    """The same of one client alone, with frozen and with fresh paths."""
    return against(alone(results), "one client alone, squared error, exact gradient")


def against(stds: Mapping[str, Mapping[float, np.ndarray]], title: str) -> Figure:
    """Learnt spreads over the data's sigma: name -> sigma -> [seed], with the diagonal that is right."""
    fig, ((ax,),) = panels(1, 1, size=(4.6, 3.4))
    for name, values in stds.items():
        color, marker = LOOKS[name]
        band(ax, list(values), np.stack(list(values.values()), 1), COLORS[color], name, marker=marker, ms=5, lw=2)
    sigmas = list(next(iter(stds.values())))
    ax.plot(sigmas, sigmas, "--", color=COLORS["truth"], lw=1, label="truth")
    for axis in (ax.xaxis, ax.yaxis):
        log_axis(axis)
    set_ticks(ax.xaxis, sigmas, [f"{sigma:g}" for sigma in sigmas])
    set_ticks(ax.yaxis, [0.01, 0.03, 0.1, 0.3], ["0.01", "0.03", "0.1", "0.3"])
    ax.set(xlabel=r"$\sigma$ of the data", ylabel="learnt spread", title=title)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=4)
    return fig


def surface(results: Results) -> Figure:
    """Above the error of each way's mean on the surface, below its spread, in units of sigma, in the first seed."""
    answers, sigma = results.surface, results.sigma
    fig, axes = panels(2, len(WAYS), size=(2.4, 2.2), sharex=True, sharey=True)
    n = round(answers.sizes["x"] ** 0.5)
    for i, way in enumerate(answers.way.values.tolist()):
        one = answers.sel(way=way)
        rows = (one["mean"].values - on_grid(), "PuOr", -3), (one["std"].values, "viridis", 0)
        for ax, (values, colours, least) in zip(axes[:, i], rows, strict=True):
            image = values.reshape(n, n).T / sigma
            ax.imshow(image, origin="lower", extent=(-1, 1, -1, 1), cmap=colours, vmin=least, vmax=3)
            ax.set(title=way, xlabel="x", ylabel="y", xticks=(-1, 0, 1), yticks=(-1, 0, 1))
            ax.label_outer()
    for row, words in zip(axes, (r"error of the mean / $\sigma$", r"spread / $\sigma$"), strict=True):
        fig.colorbar(row[0].images[0], ax=row, label=words)
    return fig
