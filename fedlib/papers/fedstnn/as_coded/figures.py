"""Pictures of three ways to train FedStNN: their bands, and what they know of the surface."""

import xarray
from matplotlib.figure import Figure

from ....notebook.style import OTHERS, panels, set_ticks
from ..experiment import rms
from ..figures import PI, TRUTH, uncertainty
from ..plane import on_grid
from ..sine import curve as sine
from .problem import WAYS
from .study import SIGMA

LOOKS = {
    "as printed": {"color": OTHERS[1], "marker": "s"},
    "as coded": {"color": OTHERS[0], "marker": "^"},
    "mended": {"color": OTHERS[2], "marker": "o"},
    "frozen paths": {"color": OTHERS[0], "marker": "^"},
    "fresh paths": {"color": OTHERS[1], "marker": "s"},
    "truth": TRUTH,
}
"""Of each way, and of one client's paths, in ``pictures.curves``."""


def bands(curve: xarray.Dataset, sigma: float) -> Figure:
    """The curve as each way knows it in the first seed, with its band and the true one; curve: of ``Results``."""
    fig, (axes,) = panels(1, len(WAYS), size=(2.75, 2.6), sharey=True)
    for ax, way in zip(axes, curve.way.values.tolist(), strict=True):
        one = curve.sel(way=way, level=sigma).isel(seed=0)
        mean, std = one["mean"].values, one["std"].values
        uncertainty(ax, one.x.values, sine(one.x.values), sigma, mean, std, LOOKS[way]["color"], way)
        ax.set(title=f"{way}: a spread of {rms(std):.2g}", xlabel="x")
        set_ticks(ax.xaxis, *PI)
    axes[0].set_ylabel("y")
    handles = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    handles = {label: handle for label, handle in handles.items() if not label.startswith("2 std")}
    fig.legend(handles.values(), handles, loc="outside upper center", ncols=5)
    return fig


def surface(answers: xarray.Dataset) -> Figure:
    """Above the error of each way's mean on the surface, below its spread, in units of sigma, in the first seed;
    answers: ``surface`` of ``Results``."""
    fig, axes = panels(2, len(WAYS), size=(2.4, 2.2), sharex=True, sharey=True)
    n = round(answers.sizes["x"] ** 0.5)
    for i, way in enumerate(answers.way.values.tolist()):
        one = answers.sel(way=way)
        rows = (one["mean"].values - on_grid(), "PuOr", -3), (one["std"].values, "viridis", 0)
        for ax, (values, colours, least) in zip(axes[:, i], rows, strict=True):
            image = values.reshape(n, n).T / SIGMA
            ax.imshow(image, origin="lower", extent=(-1, 1, -1, 1), cmap=colours, vmin=least, vmax=3)
            ax.set(title=way, xlabel="x", ylabel="y", xticks=(-1, 0, 1), yticks=(-1, 0, 1))
            ax.label_outer()
    for row, words in zip(axes, (r"error of the mean / $\sigma$", r"spread / $\sigma$"), strict=True):
        fig.colorbar(row[0].images[0], ax=row, label=words)
    return fig
