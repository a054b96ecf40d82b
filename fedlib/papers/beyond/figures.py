"""What notebooks 13 and 14 both draw: how ways look, and every problem by every way."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from ...notebook.pictures import curves, plain
from ...notebook.style import COLORS, OTHERS, panels
from .ways import Way, joined

LOOKS = {
    "FedAvg, as printed": {"color": COLORS["federated"], "marker": "o", "mfc": "w", "ls": ":"},
    "FedAvg, best rate": {"color": COLORS["federated"], "marker": "o"},
    "best rule": {"color": OTHERS[1], "marker": "s", "lw": 2.5},
    "Adam, one place": {"color": COLORS["centralised"], "marker": "d", "ls": "--"},
    "L-BFGS, one place": {"color": COLORS["centralised"], "marker": "^"},
    "projection, one place": {"color": COLORS["centralised"], "marker": "x", "ls": ":", "zorder": 4},
    "sums": {"color": COLORS["sums"], "marker": "*", "lw": 3},
    "Gauss-Newton": {"color": OTHERS[2], "marker": "P", "lw": 2.5},
    "one round of sums": {"color": COLORS["sums"], "marker": "*", "ms": 12, "ls": ""},
}
"""How a way is drawn."""


def race(
    problems: Mapping[str, Mapping[str, Way]], size: tuple[float, float] = (2.9, 2.7), axis: str = "round"
) -> Figure:
    """Error against rounds; a panel for each problem: title -> way -> ``Way`` at one level. axis: its name."""
    tables = {title: joined(ways) for title, ways in problems.items()}
    for table in tables.values():
        table["round"].attrs["long_name"] = axis
    return curves(tables, "round", "way", looks=LOOKS.get, size=size)


LEAST = 1e-6  # (%), what is below is drawn there


def every_problem(table: Mapping[str, Mapping[str, np.ndarray]], looks: Mapping[str, Mapping] = LOOKS) -> Figure:
    """A row for each problem: error (%) of every way in the end, seeds as strokes, medians as marks.

    table: problem -> way -> errors [seeds], as of ``ways.by_problem``.
    """
    fig, ((ax,),) = panels(1, 1, size=(8.0, 0.42 * len(table) + 1.1))
    handles = {}
    for row, ways in enumerate(table.values()):
        for way, error in ways.items():
            look = {name: looks[way][name] for name in ("color", "marker", "mfc") if name in looks[way]}
            error = np.maximum(error, LEAST)
            ax.plot(error, np.full(len(error), row), "|", ms=9, color=look["color"], alpha=0.6)
            size = 13 if look["marker"] == "*" else 7
            (handles[way],) = ax.plot(np.median(error), row, ls="", ms=size, **look)
    ax.set_yticks(range(len(table)), [*table])
    ax.set(xscale="log", xlabel="error (%)", ylim=(len(table) - 0.5, -0.5))
    ax.grid(axis="y", color="0.92")
    plain(ax.xaxis)
    fig.legend([handles[way] for way in looks if way in handles], [way for way in looks if way in handles],
               loc="outside upper center", ncols=4)  # fmt: skip
    return fig
