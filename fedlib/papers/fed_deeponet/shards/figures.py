"""Figures and tables of notebook 02, functions of the arrays of ``study.Results``."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....notebook.pictures import against_level, curves, seeds_and_median
from ....notebook.style import COLORS, OTHERS, log_axis, panels, shards
from ....numerics.metrics import plus_minus
from ..figures import LOOKS
from ..physics import OUT_OF_DISTRIBUTION
from ..trainings import joined
from .study import ADAM, CURVES, DELTA, SGD, Results

FALLING, CONSTANT = CURVES[:2]

STYLES = {
    FALLING: {"color": COLORS["federated"]},
    CONSTANT: {"color": OTHERS[1], "ls": "--", "marker": "s"},
    SGD: {"color": OTHERS[0], "marker": "^"},
    CURVES[3]: {"color": COLORS["centralised"], "ls": "--", "marker": "d"},
    CURVES[4]: {"color": COLORS["centralised"], "marker": "d"},
}
"""Of each curve; the two of one model in one place are level in the shards."""


def number_of(level: int) -> str:
    """ "1 shard each", "2 shards each"."""
    return f"{level} shard{'s' if level > 1 else ''} each"


def owned(targets: Mapping[int, Sequence[np.ndarray]]) -> Figure:
    """Who owns which targets s (rad): shards of each client -> values of each client's points, a panel each."""
    fig, (axes,) = panels(1, len(targets), size=(2.7, 2.4), sharey=True)
    strips(axes, targets)
    return fig


def strips(axes: Sequence[Axes], targets: Mapping[int, Sequence[np.ndarray]]) -> None:
    """A row for each client, all in one grey: there are more clients than colours that can be told apart."""
    for ax, (level, values) in zip(axes, targets.items(), strict=True):
        shards(values, ax, "angle of an example (rad)", color="0.35", ms=90 / (len(values) + 4))
        ax.set(title=number_of(level), yticks=(), ylabel="")
    axes[0].set_ylabel("client, one a row")


def answer(targets: Mapping[int, Sequence[np.ndarray]], errors: xarray.DataArray) -> Figure:
    """Left who owns which targets (rad) at some numbers of shards; right the error (%) [shards, model, seed] of client
    1 alone and of the federation at all of them."""
    fig, ((*left, right),) = panels(1, len(targets) + 1, size=(2.8, 2.7))
    strips(left, targets)
    for model in errors.model.values:
        values = errors.sel(model=model).transpose("seed", "shards").values
        seeds_and_median(right, errors.shards, values, model, **LOOKS[model])
    right.set_title("mean error (%)")
    errors.shards.attrs["long_name"] = "shards each"
    against_level(right, errors, x="shards")
    log_axis(right.yaxis)
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig


UNSEEN = "unseen: " + ", ".join(OUT_OF_DISTRIBUTION)


def pair(errors: xarray.DataArray, like: str) -> Figure:
    """Error (%) [test, curve, level, seed] of each curve against the level: torques of the tests like those of the
    examples, and unseen ones."""
    panels = {title: errors.sel(test=test) for title, test in ((like, "GRF"), (UNSEEN, "unseen"))}
    return curves(panels, hue="curve", looks=STYLES.get, size=(4.2, 3.0), share=True)


def fig5(results: Results) -> Figure:
    """Error (%) against the shards of each client: Adam at the paper's kind of rate and at ours, SGD, one place."""
    return pair(results.shards, "torques like those of the examples")


def fig6(results: Results) -> Figure:
    """Error (%) against the difference of the two fields, the paper's pair."""
    return pair(results.fields, "like the first field")


def rates(results: Results) -> Figure:
    """Error (%) against the rate in the first round, a panel for each number of shards."""
    errors = results.rates.sel(test="GRF", drop=True)
    errors["lr"].attrs["long_name"] = "rate in the first round"
    adam, plain = errors.sel(algorithm=ADAM, drop=True), errors.sel(algorithm=SGD, decay=1.0, drop=True)
    decays = {FALLING if decay < 1 else CONSTANT: decay for decay in adam.decay.values}
    ways = {name: adam.sel(decay=decay, drop=True) for name, decay in decays.items()} | {SGD: plain}
    panels = {number_of(n): joined(ways, "way").sel(level=n, drop=True) for n in errors.level.values}
    return curves(panels, "lr", "way", looks=STYLES.get, size=(4.2, 2.8), share=True)


def apart(distances: xarray.Dataset) -> Figure:
    """Distance of two clients against the level; ``problem.distances``."""
    words = {"s": "$W_1$ of s", "(u, y, s)": "$W_1$ of (u, y, s)", "exact": "$W_2$ of u, exact"}
    colors = dict(zip(words.values(), (OTHERS[1], OTHERS[0], COLORS["truth"]), strict=True))
    shards = distances.by_shards.rename(shards="level")
    delta = xarray.concat([distances.by_delta, distances.torques.expand_dims(what=["exact"])], "what")
    delta = delta.rename(Delta="level")
    delta["level"].attrs.update(DELTA)
    shards["level"].attrs["long_name"] = "shards each"
    panels = {}
    for title, values in (("sorted shards", shards), ("two fields", delta)):
        named = values.assign_coords(what=[words[what] for what in values.what.values]).rename(None)
        panels[title] = named.assign_attrs(long_name="distance of two clients", scale="linear")
    return curves(panels, hue="what", looks=lambda what: {"color": colors[what]}, size=(4.2, 2.7))


def cell(values: xarray.DataArray) -> str:
    """Mean ± st.dev. over seeds (%)."""
    return plus_minus(values.dropna("seed").values, 1) if values.notnull().any() else "-"


def error_rows(errors: xarray.DataArray, test: str = "GRF") -> list[list[str]]:
    """Rows (level, *curves) of a figure's errors [test, curve, level, seed]."""
    table = errors.sel(test=test).transpose("level", "curve", "seed")
    return [[f"{level:g}", *map(cell, row)] for level, row in zip(table.level.values, table, strict=True)]
