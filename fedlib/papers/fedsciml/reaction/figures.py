"""Pictures of notebook 06b that no other room has: u and k of the models, and where the residual sits."""

from collections.abc import Mapping

import numpy as np
import torch
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....notebook.pictures import curves, legend_above, style_of
from ....notebook.style import COLORS, log_axis, panels
from ....numerics.metrics import in_percent, percent
from .problem import vanishing


def draw_models(ax: Axes, answers: xarray.DataArray, models: list[str]) -> None:
    """What models say of a field over the truth; answers: [model, x] of one seed, level and field."""
    x, truth, name = answers.x.values, answers.truth.values, answers.field.item()
    ax.plot(x, truth, color=COLORS["truth"], lw=4, alpha=0.25, label="truth")
    for model in models:
        ax.plot(x, answers.sel(model=model).values, **style_of(model) | {"marker": None, "lw": 1.8}, label=model)
    spread = np.ptp(truth)
    ax.set(xlabel="x", ylabel=name, ylim=(truth.min() - 0.4 * spread, truth.max() + 0.4 * spread))


def answer_figure(answers: Mapping[str, xarray.DataArray], points: Mapping[str, np.ndarray]) -> Figure:
    """k of the federation and of the model with all observations, a panel for each choice of points of the equation.

    answers: choice -> [model, x] of k, of one seed and level. points: choice -> where the equation is asked for [n].
    """
    fig, (axes,) = panels(1, len(answers), size=(3.4, 3.0), sharey=True)
    for ax, (choice, one) in zip(axes, answers.items(), strict=True):
        draw_models(ax, one, ["centralised", "federated"])
        ax.plot(points[choice], np.full(len(points[choice]), 0.04), "v", ms=5, color="0.3", clip_on=False,
                transform=ax.get_xaxis_transform(), label="the equation is asked for here")  # fmt: skip
        error = in_percent(percent(one.sel(model="federated").values, one.truth.values))
        ax.set_title(f"{choice} points: off by {error}")
    legend_above(fig, axes[0], 2)
    return fig


def seeds_figure(answers: xarray.DataArray) -> Figure:
    """The third and fourth column of Fig. 11: k and u of all seeds at the coarsest and the finest partition."""
    levels = answers.level.values[[0, -1]].tolist()
    fig, axes = panels(2, 2, size=(3.4, 2.6))
    for row, name in zip(axes, "ku", strict=True):
        for ax, level in zip(row, levels, strict=True):
            some = answers.sel(level=level, field=name)
            draw_models(ax, some.isel(seed=0), ["client 1 alone", "client 2 alone", "centralised", "federated"])
            for kind in ("centralised", "federated"):
                ax.plot(some.x, some.sel(model=kind).values[1:].T, color=COLORS[kind], lw=1, alpha=0.6, label="_seeds")
            ax.set_title(f"{level} pieces" if name == "k" else "")
    legend_above(fig, axes[0, 0], 3)
    return fig


def points_figure(errors: Mapping[str, xarray.DataArray]) -> Figure:
    """Errors of k against the level, a panel for each choice of points of the equation, all on one scale.

    errors: choice -> [round, kind, level, seed] (%).
    """
    named = {name: one.rename(f"{name} points").assign_attrs(long_name="error of k") for name, one in errors.items()}
    return curves(named, share=True)


def residual_figure(squares: xarray.DataArray, answers: xarray.DataArray) -> Figure:
    """Left, how much of the squared residual each point of the equation has; right, N_u = u / b near the left end.

    squares: [seed, x]; answers: u [seed, x] of the same models.
    """
    fig, ((left, right),) = panels(1, 2, size=(3.5, 2.9))
    share = 100 * squares / squares.sum("x")
    left.plot(share.x, share.T, "o", ms=4, mew=0, alpha=0.5, color=COLORS["centralised"])
    left.set(xlabel="x, a point of the equation", ylabel="share of the squared residual (%)")
    log_axis(left.yaxis)
    near = answers.sel(x=slice(0.005, 0.2))
    b = vanishing(torch.tensor(near.x.values)[:, None]).numpy()
    right.plot(near.x, near.truth / b, color=COLORS["truth"], lw=4, alpha=0.25, label="exact")
    for i, u in enumerate(near.values):
        label = "_seeds" if i else "all measurements, each start"
        right.plot(near.x, u / b, color=COLORS["centralised"], lw=1, alpha=0.7, label=label)
    right.set(xlabel="x", ylabel="$N_u$")
    legend_above(fig, right, 2)
    return fig


FOUND = ("points of the equation", "pieces", "found", "error of k where found, median", "where lost")


def found_rows(many: Mapping[str, xarray.DataArray]) -> list[list[str]]:
    """Rows of FOUND: how many seeds have an error of u below half; many: of ``Results``."""
    rows = []
    for choice, errors in many.items():
        for level, (u, k) in zip(errors.level.values, errors.transpose("level", "field", "seed").values, strict=True):
            near = u < 50
            medians = [in_percent(np.median(k[some])) if some.any() else "-" for some in (near, ~near)]
            rows.append([choice, str(level), f"{near.sum()} of {len(near)}", *medians])
    return rows
