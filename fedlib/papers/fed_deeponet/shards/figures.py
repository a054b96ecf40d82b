"""Figures and tables of notebook 02, functions of the arrays of ``study.Results``."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....notebook.pictures import against_level
from ....notebook.style import CLIENTS, COLORS, band, log_axis, panels, set_ticks, shards
from ....numerics.metrics import mean_sd
from ..physics import OUT_OF_DISTRIBUTION
from .study import ADAM, CURVES, SGD, Results

FALLING, CONSTANT = CURVES[:2]

STYLES = {
    FALLING: {"color": COLORS["federated"]},
    CONSTANT: {"color": COLORS["light"], "ls": "--", "marker": "s"},
    SGD: {"color": COLORS["other"], "marker": "^"},
    CURVES[3]: {"color": COLORS["centralised"], "ls": "--", "marker": ""},
    CURVES[4]: {"color": COLORS["centralised"], "marker": ""},
}
"""Of each curve; the two of one model in one place are level in the shards."""


def number_of(level: int, word: str = "shard") -> str:
    """ "1 shard each", "2 shards each"."""
    return f"{level} {word}{'s' if level > 1 else ''} each"


def owned(targets: Mapping[str, Sequence[np.ndarray]], height: float = 2.4, **style) -> Figure:
    """Who owns which targets s (rad): title -> values of each client's points, a panel each."""
    fig, (axes,) = panels(1, len(targets), size=(2.7, height), sharey=True)
    for ax, (title, values) in zip(axes, targets.items(), strict=True):
        strips(ax, values, title, **style)
    axes[0].set_ylabel("client, one a row")
    return fig


def strips(ax: Axes, values: Sequence[np.ndarray], title: str, **style) -> None:
    """A row for each client, all in one grey: there are more clients than colours that can be told apart."""
    shards(values, ax, "angle of an example (rad)", **{"color": "0.35", "ms": 90 / (len(values) + 4)} | style)
    ax.set(title=title, yticks=(), ylabel="")


def answer(targets: Mapping[int, Sequence[np.ndarray]], errors: xarray.DataArray) -> Figure:
    """Left who owns which targets (rad) at some numbers of shards; right the error (%) [model, shards, seed] of client
    1 alone and of the federation at all of them."""
    fig, (axes,) = panels(1, len(targets) + 1, size=(2.8, 2.7))
    for ax, (level, values) in zip(axes, targets.items(), strict=False):
        strips(ax, values, number_of(level))
    axes[0].set_ylabel("client, one a row")
    for model in errors.model.values:
        color = COLORS["federated"] if model == "federated" else CLIENTS[0]
        error = errors.sel(model=model).transpose("seed", "shards")
        axes[-1].plot(error.shards, error.values.T, ".", ms=3, alpha=0.5, color=color, label="_seeds")
        axes[-1].plot(error.shards, error.mean("seed"), "--" if model != "federated" else "-", color=color, label=model)
    axes[-1].set_title("mean error (%)")
    shards_axis(axes[-1], errors.shards.values)
    log_axis(axes[-1].yaxis)
    fig.legend(*axes[-1].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig


def shards_axis(ax: Axes, levels: np.ndarray) -> None:
    """Logarithmic, with a tick at every number of shards; the smallest, of which the paper's claim speaks, is named."""
    values = xarray.DataArray(levels, {"level": levels}, "level", attrs={"level": "shards each"})
    against_level(ax, values, mark=levels.min())


def delta_axis(ax: Axes, levels: np.ndarray) -> None:
    """Linear, for it begins at 0, with a tick at every difference of the fields."""
    set_ticks(ax.xaxis, levels, [f"{level:g}" for level in levels])
    ax.set_xlabel(r"difference $\Delta$ of the length scales (s)")


UNSEEN = "unseen: " + ", ".join(OUT_OF_DISTRIBUTION)
TITLES = {"GRF": "like the first field", "unseen": UNSEEN, "second": "like the second field", "mixture": "half of each"}


def error_figure(
    errors: xarray.DataArray, tests: Sequence[str], level_axis: Callable, size: tuple[float, float],
    titles: Mapping = TITLES,
) -> Figure:  # fmt: skip
    """Error (%) [test, curve, level, seed] of each curve against the level, a panel for each test set."""
    fig, (axes,) = panels(1, len(tests), size=size, sharey=True)
    for ax, test in zip(axes, tests, strict=True):
        for curve in [curve for curve in CURVES if curve in errors.curve]:
            line = errors.sel(test=test, curve=curve).dropna("level", how="all").transpose("seed", "level")
            line = line.dropna("seed", how="all")
            band(ax, line.level, line.values, **{"label": curve, "ms": 4} | STYLES[curve])
        ax.set_title(titles[test])
        level_axis(ax, errors.level.values)
        log_axis(ax.yaxis)
    axes[0].set_ylabel("mean error (%)")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def fig5(results: Results) -> Figure:
    """Error (%) against the shards of each client: Adam at the paper's kind of rate and at ours, SGD, one place."""
    titles = {"GRF": "torques like those of the examples", "unseen": UNSEEN}
    return error_figure(results.shards, ("GRF", "unseen"), shards_axis, (4.2, 3.0), titles)


def fig6(results: Results) -> Figure:
    """Error (%) against the difference of the two fields, the paper's pair."""
    return error_figure(results.fields, ("GRF", "unseen"), delta_axis, (4.2, 3.0))


def rates(results: Results) -> Figure:
    """Error (%) against the rate in the first round, a panel for each number of shards."""
    errors = results.rates.sel(test="GRF")
    fig, (axes,) = panels(1, errors.sizes["level"], size=(3.4, 2.8), sharey=True)
    for ax, level in zip(axes, errors.level.values, strict=True):
        for algorithm, decay in ((ADAM, "falls"), (ADAM, "stays"), (SGD, "stays")):
            values = errors.sel(level=level, algorithm=algorithm)
            values = values.sel(decay=values.decay < 1 if decay == "falls" else values.decay == 1)
            if not values.sizes["decay"]:
                continue
            line = values.isel(decay=0).dropna("lr").sortby("lr").transpose("seed", "lr")
            style = STYLES[{"falls": FALLING, "stays": CONSTANT}[decay] if algorithm == ADAM else SGD]
            band(ax, line.lr, line.values, **{"label": f"{algorithm}, its rate {decay}", "ms": 4} | style)
        ax.set(title=number_of(level), xlabel="rate in the first round", xscale="log")
        log_axis(ax.yaxis)
    axes[0].set_ylabel("mean error (%)")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def apart(distances: xarray.Dataset) -> Figure:
    """Distance of two clients against the level; ``problem.distances``."""
    fig, (axes,) = panels(1, 2)
    axes_of = {"shards": ("by_shards", shards_axis), "Delta": ("by_delta", delta_axis)}
    for ax, (level, (name, level_axis)) in zip(axes, axes_of.items(), strict=True):
        for what, color in (("s", "federated"), ("(u, y, s)", "other")):
            values = distances[name].sel(what=what).transpose("seed", level)
            band(ax, values[level], values.values, COLORS[color], f"$W_1$ of {what}", ms=4, lw=2)
        ax.axhline(0, color="0.8", lw=0.8, zorder=0)
        ax.set_ylabel("distance of two clients")
        level_axis(ax, distances[level].values)
    exact = distances.torques.transpose("seed", "Delta")
    band(axes[1], exact.Delta, exact.values, COLORS["truth"], "$W_2$ of u, exact", ls="--", marker="", lw=1.5)
    fig.legend(*axes[1].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def cell(values: xarray.DataArray) -> str:
    """Mean ± st.dev. over seeds (%)."""
    values = values.dropna("seed").values
    if not len(values):
        return "-"
    return "{:.1f} ± {:.1f}".format(*mean_sd(values)) if len(values) > 1 else f"{values[0]:.1f}"


def error_rows(errors: xarray.DataArray, test: str = "GRF") -> list[list[str]]:
    """Rows (level, *curves) of a figure's errors [test, curve, level, seed]."""
    table = errors.sel(test=test)
    return [[f"{level:g}", *map(cell, table.sel(level=level))] for level in table.level.values]


def settings_of(errors: xarray.DataArray) -> list[str]:
    """Columns of ``setting_rows``: the labels of the one axis beside test, level and seed."""
    axis = [name for name in errors.dims if name not in ("test", "level", "seed")]
    return [str(label) for name in axis for label in errors[name].values] or ["error (%)"]


def setting_rows(errors: xarray.DataArray, test: str = "GRF") -> list[list[str]]:
    """Rows (level, *settings) of errors [test, level, seed, setting], or without settings."""
    table = errors.sel(test=test)
    axis = [name for name in table.dims if name not in ("level", "seed")]
    return [
        [f"{level:g}", *map(cell, row.transpose(*axis, "seed") if axis else [row])]
        for level, row in zip(table.level.values, table.transpose("level", ...), strict=True)
    ]


RATES_HEADER = ("shards each", "local steps by", "first rate x 1000", "its factor", "validation (%)", "test (%)")


def rate_rows(rates: xarray.DataArray) -> list[list[str]]:
    """Rows of RATES_HEADER, of each number of shards by rising validation error; those diverged for a seed are out."""
    rows = rates.stack(rate=("level", "algorithm", "lr", "decay")).dropna("rate")
    rows = rows.sortby(rows.sel(test="validation").mean("seed")).sortby("level")
    return [
        [str(level), algorithm, f"{1000 * lr:g}", f"{decay:g}", *(cell(row.sel(test=t)) for t in ("validation", "GRF"))]
        for (level, algorithm, lr, decay), row in zip(rows.rate.values, rows.transpose("rate", ...), strict=True)
    ]
