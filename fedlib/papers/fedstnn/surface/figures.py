"""Pictures of the noisy surface, in the paper's arrangement (FedStNN, Figs. 8 to 11), and maps of it."""

import numpy as np
from matplotlib.figure import Figure

from ....notebook.style import COLORS, panels
from ....streams import stream
from ..figures import OBSERVED
from ..plane import SLICES, on_grid, on_slice, surface_grid
from .study import DRAWN, Results


def maps(results: Results) -> Figure:
    """The true surface, what the federation and what client 1 alone learn of it, and the federation's spread."""
    federated, alone = (results.answers.sel(model=name) for name in DRAWN)
    fig, axes = panels(2, 2, size=(3.8, 2.8), sharex=True, sharey=True)
    fields = {"true f": on_grid(), "federated mean": federated["mean"].values}
    fields["client 1 alone"], std = alone["mean"].values, federated["std"].values
    limit, sigma = max(np.abs(field).max() for field in fields.values()), results.sigma
    drawn = [(title, field, dict(cmap="PuOr", vmin=-limit, vmax=limit)) for title, field in fields.items()]
    drawn.append((f"federated std (true: {sigma:g})", std, dict(cmap="viridis", vmin=0, vmax=3 * sigma)))
    for ax, (title, values, colours) in zip(axes.flat, drawn, strict=True):
        square = values.reshape(2 * [round(len(values) ** 0.5)])
        image = ax.imshow(square.T, origin="lower", extent=(-1, 1, -1, 1), **colours)
        ax.set(xlabel="x", ylabel="y", title=title)
        ax.label_outer()
        fig.colorbar(image, ax=ax, label="std" if values is std else "f")
    return fig


def clouds(results: Results) -> Figure:
    """Figs. 8 and 9: all noisy observations of the surface, and fifty of them, each joined to a prediction."""
    z = results.observed.isel(seed=0).values
    predicted = results.answers["path"].isel(seed=0).values
    chosen = stream(0, "points of the paper's figure 9").choice(len(z), 50, replace=False)
    fig, ((left, right),) = panels(1, 2, size=(3.8, 3.4), subplot_kw=dict(projection="3d"))
    points = surface_grid()
    left.scatter(*points.T, z, s=1, c=z, cmap="viridis", lw=0, rasterized=True)
    left.set_title(f"all {len(z)} noisy observations")
    places = points[chosen].T
    right.plot(*places, z[chosen], "s", ms=4, mfc="none", color=OBSERVED, label="observation")
    right.plot(*places, predicted[chosen], ".", ms=5, color=COLORS["federated"], label="prediction, federated")
    for (x, y), low, high in zip(places.T, z[chosen], predicted[chosen], strict=True):
        right.plot([x, x], [y, y], [low, high], color="0.5", lw=0.8)
    right.set_title(f"{len(chosen)} of them, and predictions")
    right.legend(loc="upper left")
    for ax in (left, right):
        ax.set(xlabel="x", ylabel="y", zlabel="z", zlim=(z.min(), z.max()))
        ax.view_init(elev=25, azim=-60)
        ax.set_box_aspect(None, zoom=0.85)  # else the label of z is cut off
    return fig


def slices(results: Results) -> Figure:
    """Figs. 10 and 11: two slices of the surface with its band of two sigma, observations and predictions."""
    z, predicted = (values.isel(seed=0).values for values in (results.observed, results.answers["path"]))
    fig, (axes,) = panels(1, len(SLICES), size=(3.8, 2.8))
    for ax, (name, (axis, _)) in zip(axes, SLICES.items(), strict=True):
        where = on_slice(name)
        along, f, sigma = surface_grid()[where, 1 - axis], on_grid()[where], results.sigma
        band = {"color": COLORS["truth"], "alpha": 0.15, "lw": 0, "label": r"true f $\pm$ 2 $\sigma$"}
        ax.fill_between(along, f - 2 * sigma, f + 2 * sigma, **band)
        ax.plot(along, f, color=COLORS["truth"], lw=1.5, label="true f")
        ax.plot(along, z[where], "x", ms=4, color=OBSERVED, label="observations")
        predictions = {"color": COLORS["federated"], "label": "one prediction each, federated"}
        ax.plot(along, predicted[where], "o", ms=3, mew=0, **predictions)
        ax.set(title=f"slice {name}", xlabel="yx"[axis], ylabel="z")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return fig
