"""What was predicted of levels, beside what their trainings came to."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ....notebook.style import COLORS, log_axis, panels, set_ticks
from .prediction import MEASURES, PROBLEMS
from .ranks import gain, interval

SHOWN = {
    "W1": {"color": "0.55", "ls": "--", "marker": "s"},
    "tenth": {"color": COLORS["other"], "ls": ":", "marker": "^"},
    "network": {"color": "#000000", "ls": "-", "marker": "o"},
}

SIZES = {"W1": 8, "tenth": 11, "network": 14}  # of rings, so that all are seen where measures agree


def order_of_levels(tables: Mapping[str, xarray.Dataset]) -> Figure:
    """A column for each problem: above its errors, below W1 and staged B, each over its largest; a line through all
    where the error is worst, a ring around the level that a measure says is worst.

    tables: of ``prediction.with_errors``.
    """
    fig, (top, bottom) = panels(2, len(tables), size=(2.6, 2.1), sharex="col")
    for (name, table), above, below in zip(tables.items(), top, bottom, strict=True):
        error, levels = table.error, table.level.values
        median = error.median("seed").values
        for values in error.transpose("seed", "level").values:
            above.plot(levels, values, ".", ms=5, color=COLORS["federated"], alpha=0.4, mew=0)
        above.plot(levels, median, color=COLORS["federated"], marker="o", ms=3)
        above.set(title=PROBLEMS[name].title + ", held out" * PROBLEMS[name].held_out)
        for measure, style in SHOWN.items():
            values = np.exp(table.number.sel(measure=measure).mean("seed")).values
            below.plot(levels, values / values.max(), ms=3, label=MEASURES[measure], **style)
            below.plot(
                levels[values.argmax()], 1, "o", ms=SIZES[measure], mfc="none", color=style["color"], clip_on=False
            )
        for ax in (above, below):
            ax.axvline(levels[median.argmax()], color=COLORS["federated"], lw=6, alpha=0.12)
            log_axis(ax.yaxis)
            ax.set_xscale("log")
            set_ticks(ax.xaxis, levels, ticks_apart(levels, levels[median.argmax()]))
            ax.xaxis.set_minor_locator(NullLocator())
            ax.tick_params(axis="x", labelsize=7)
        below.set(xlabel="blocks per axis" if name == "helmholtz" else "pieces")
    top[0].set_ylabel("federated error (%)")
    bottom[0].set_ylabel("over the largest")
    fig.legend(*bottom[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(SHOWN))
    return fig


def ticks_apart(levels: Sequence[int], worst: int) -> list[str]:
    """Labels of ticks on a logarithmic axis: the worst level, and of the others those that leave room; "" for none."""
    room, shown = (max(levels) / min(levels)) ** (1 / 9), [worst]
    for level in levels:
        if all(max(level, other) >= room * min(level, other) for other in shown):
            shown.append(level)
    return [str(level) if level in shown else "" for level in levels]


def order_in_words(orders: Mapping[str, xarray.Dataset]) -> str:
    """The alternative text of ``order_of_levels``. orders: of ``ranks.orders``."""
    parts = [
        f"{PROBLEMS[name].title}: worst at {int(one.worst)}, W1 says {int(one.called.sel(measure='W1'))}, "
        f"staged B {int(one.called.sel(measure='tenth'))} to 10 %, {int(one.called.sel(measure='network'))} to 1 %"
        for name, one in orders.items()
    ]
    return (
        "Above, the federation's error against the number of pieces, all seeds and their median; below, W1 and staged "
        f"B, each over its largest. {'; '.join(parts)}."
    )


ORDER_HEADER = ("problem", "levels, seeds", "worst level", *MEASURES.values(), "staged B to 1 % less W1")


def order_rows(tables: Mapping[str, xarray.Dataset], orders: Mapping[str, xarray.Dataset]) -> list[list[str]]:
    """Rows of ORDER_HEADER: rank correlations, each with the level that it calls worst; the difference with 95 % of
    draws. tables: of ``prediction.with_errors``, orders: of ``ranks.orders``."""
    rows = []
    for name, one in orders.items():
        cells = [f"{rank:.2f}, {called}" for rank, called in zip(one["rank"].values, one.called.values, strict=True)]
        title = PROBLEMS[name].title + " (held out)" * PROBLEMS[name].held_out
        count = f"{tables[name].sizes['level']}, {tables[name].sizes['seed']}"
        worst = f"{int(one.worst)} ({100 * float(one.sure):.0f} %)"
        rows.append([title, count, worst, *cells, interval(*gain([one], "network"))])
    return rows
