"""Figures of notebook 14: error against rounds and bytes, ways side by side, and where sums for networks end."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....notebook.pictures import plain, seeds_and_median
from ....notebook.style import CLIENTS, COLORS, panels
from ....numerics.metrics import two_digits
from .operators import KINDS
from .problem import TOGETHER
from .study import SHOWN, Results, Way, at_own_rate

SUMS = COLORS["centralised"]  # what sums give is the centralised network

LOOKS = {
    "FedAvg, as printed": {"color": COLORS["federated"], "marker": "o", "mfc": "w", "ms": 4, "ls": ":"},
    "FedAvg, own rate": {"color": COLORS["federated"], "marker": "o", "ms": 4},
    "best rule": {"color": COLORS["light"], "marker": "s", "ms": 4, "lw": 2.5},
    "Adam, one place": {"color": "0.55", "marker": "d", "ms": 4, "ls": "--"},
    "L-BFGS, one place": {"color": "0.55", "marker": "^", "ms": 4},
    "projection, one place": {"color": "0.2", "marker": "x", "ms": 5, "ls": "--", "zorder": 4},
    "sums": {"color": SUMS, "lw": 4, "alpha": 0.9},
}
"""How a way is drawn; grey: nobody is apart."""

FIRST = ("FedAvg, as printed", "FedAvg, own rate", "Adam, one place", "sums")
"""The ways of the first picture."""


def drawn(ax: Axes, ways: Mapping[str, Way], against: str, labels: Sequence[str]) -> None:
    """The median error over seeds against "round" or "MB"; what is in one place sends nothing."""
    for label in [label for label in labels if label in ways]:
        way = ways[label]
        error, x = way.error.median("seed"), way.error["round"] if against == "round" else way.bytes / 1e6
        if x.values.any():
            ax.plot(x, error, label=label, **LOOKS[label])
    ax.set(xscale="log", yscale="log")
    plain(ax.xaxis)
    plain(ax.yaxis)


def first(ways: Mapping[str, Way], name: str) -> Figure:
    """Error against rounds of one problem, four ways, each with its name beside it."""
    fig, ((ax,),) = panels(1, 1, size=(6.6, 3.2))
    drawn(ax, ways, "round", FIRST)
    for label in [label for label in FIRST if label in ways]:
        error = ways[label].error.median("seed")
        beside = (6, 0) if label != "FedAvg, own rate" else (6, 4)
        ax.annotate(
            label, (float(error["round"][-1]), float(error[-1])), beside, textcoords="offset points", va="center",
            color=LOOKS[label]["color"], fontsize=9,
        )  # fmt: skip
    ax.set(xlabel="round, or evaluation (two exchanges)", ylabel="error (%)", xlim=(0.8, 2e4), title=SHOWN[name].title)
    return fig


def race(problems: Mapping[str, Mapping[str, Way]]) -> Figure:
    """Error against rounds, above, and against what a client has sent, below; a column for each problem."""
    fig, axes = panels(2, len(problems), size=(2.5, 2.2), sharey="col")
    for column, (name, ways) in zip(axes.T, problems.items(), strict=True):
        for ax, against in zip(column, ("round", "MB"), strict=True):
            drawn(ax, ways, against, [*LOOKS])
        column[0].set(title=SHOWN[name].title.replace(", ", ",\n"), xlabel="round, or evaluation")
        column[1].set(xlabel="MB sent by a client")
    for ax in axes[:, 0]:
        ax.set_ylabel("error (%)")
    handles = dict(zip(*reversed(axes[0, 0].get_legend_handles_labels()), strict=True))
    fig.legend(handles.values(), handles, loc="outside upper center", ncols=min(4, 1 + len(problems)))
    return fig


def side_by_side(final: Mapping[str, Mapping[str, np.ndarray]]) -> Figure:
    """A row for each problem: error (%) of every way in the end, seeds as strokes, medians as marks."""
    fig, ((ax,),) = panels(1, 1, size=(8.0, 0.75 * len(final) + 0.8))
    for row, ways in enumerate(final.values()):
        for label, error in ways.items():
            look = {"marker": "*", "ms": 13} if label == "sums" else LOOKS[label] | {"ms": 7}
            ax.plot(error, np.full(len(error), row), "|", ms=9, color=LOOKS[label]["color"], alpha=0.6)
            style = {"color": LOOKS[label]["color"], "ls": "", "marker": look["marker"], "ms": look["ms"]}
            ax.plot(np.median(error), row, label=label if row == 0 else None, **style)
    ax.set_yticks(range(len(final)), [SHOWN[name].title.replace(", ", ",\n") for name in final])
    ax.set(xscale="log", xlabel="error (%)", ylim=(len(final) - 0.5, -0.5))
    ax.grid(axis="x", color="0.92")
    plain(ax.xaxis)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def walked_alone(steps: xarray.Dataset, stiff: xarray.Dataset) -> Figure:
    """Left: errors with E steps between two sums, at the rate of the least loss. Right: the loss some way downhill,
    with the last layer held and solved anew, after ten evaluations."""
    fig, ((left, right),) = panels(1, 2, size=(3.9, 2.9))
    best = at_own_rate(steps)
    for corrected, color, marker, label in (
        (False, COLORS["federated"], "o", "each down its own gradient"),
        (True, COLORS["light"], "s", "corrected by the others'"),
    ):
        error = best.sel(corrected=corrected).transpose("seed", "E")
        seeds_and_median(left, error.E.values, error.values, label, color=color, marker=marker)
    left.set(xscale="log", yscale="log", xlabel="steps between two sums", ylabel="error (%)")
    left.set_xticks(best.E.values, best.E.values)
    left.minorticks_off()
    plain(left.yaxis)
    left.legend(fontsize=8)
    shown = stiff.sel(evaluation=sorted(stiff.evaluation.values)[len(stiff.evaluation) // 2])
    for layer, color in (("held", COLORS["federated"]), ("solved", SUMS)):
        loss = shown.loss.sel({"last layer": layer}).transpose("seed", "length") / shown.foot
        words = {"held": "last layer held", "solved": "last layer solved anew"}[layer]
        seeds_and_median(right, loss.length.values, loss.values, words, color=color, marker="o")
    right.axhline(1, color="0.6", lw=1, ls=":")
    right.set(xscale="log", yscale="log", xlabel="length of a step downhill", ylabel="loss, times that before")
    right.legend(fontsize=8)
    return fig


def ends(starts: xarray.Dataset, attack: xarray.Dataset) -> Figure:
    """Left: error of each start against the residual between the points, which the server may know. Right: how far the
    point that notebook 13's attack misses most is off, against evaluations."""
    fig, ((left, right),) = panels(1, 2, size=(3.9, 2.9))
    error = starts.error.isel(evaluation=-1)
    left.plot(starts.score.values.ravel(), error.values.ravel(), "o", color=SUMS, mfc="w")
    left.set(xlabel="mean square residual between the points", ylabel="error (%)", title="starts of Poisson's network")
    for n, (sums, color, marker) in zip(
        attack.points, (("one client", CLIENTS[0], "o"), ("total", SUMS, "D")), strict=True
    ):
        off = attack.off.sel(sums=sums).transpose("seed", "evaluation")
        words = {"one client": "one client's sums", "total": "the total of both"}[sums]
        seeds_and_median(right, off.evaluation.values, off.values, f"{words}: {n} points", color=color, marker=marker)
    right.set(xlabel="evaluation whose sums are attacked", ylabel="worst point off by", title="what sums tell")
    right.legend(fontsize=8)
    for ax in (left, right):
        ax.set(xscale="log", yscale="log")
    plain(left.yaxis)
    plain(right.xaxis)
    return fig


# tables


FINAL = ("problem", "way", "error (%), median", "smallest to largest", "seeds", "rounds", "MB a client sends", "CPU s")


def final_rows(results: Results) -> list[list[str]]:
    """Rows of FINAL; rounds of what is in one place: evaluations, or rounds of five steps of Adam."""
    rows = []
    for name, table in results.final.items():
        for label, error in table.items():
            way, seconds = results.ways[name].get(label), "-"
            if label in ("sums", "projection, one place"):
                level = SHOWN[name].level if label == "sums" else TOGETHER
                seconds = f"{float(results.sums[name].seconds.sel(level=level).median()):.2g}"
            sent = float(way.bytes[-1]) if way else 0.0
            rows.append([
                SHOWN[name].title, label, two_digits(np.median(error)),
                f"{two_digits(error.min())} to {two_digits(error.max())}", str(len(error)),
                str(int(way.error["round"][-1])) if way else "-", f"{sent / 1e6:.3g}" if sent else "-", seconds,
            ])  # fmt: skip
    for name, table in results.kaufman.items():
        error = table.error.isel(round=-1).values
        rows.append([
            SHOWN[name].title, "sums, Kaufman's steps", two_digits(np.median(error)),
            f"{two_digits(error.min())} to {two_digits(error.max())}", str(len(error)), str(table.sizes["round"]),
            f"{float(table.bytes[-1].median()) / 1e6:.3g}", f"{float(table.seconds.median()):.2g}",
        ])  # fmt: skip
    return rows


OPERATOR = ("n", "way", "seeds", *(f"{kind}, median" for kind in KINDS), "smallest to largest", "MB a client sends")


def operator_rows(results: Results) -> list[list[str]]:
    """Rows of OPERATOR: errors (%) in the end on new functions of the clients' own kinds, and on those with all terms,
    of which "smallest to largest" is."""
    ours = results.operators[["error", "bytes"]].isel(evaluation=-1, drop=True).rename(place="way")
    both = xarray.concat([results.averaged, ours.assign_coords(way=["sums", "projection, one place"])], "way")
    rows = []
    for n in both.level.values.tolist():
        for way in both.way.values.tolist():
            cell = both.sel(level=n, way=way)
            medians = [two_digits(float(cell.error.sel(functions=kind).median())) for kind in KINDS]
            unseen, sent = cell.error.sel(functions=KINDS[1]), float(cell.bytes.median()) / 1e6
            spread = f"{two_digits(float(unseen.min()))} to {two_digits(float(unseen.max()))}"
            sent = f"{sent:.3g}" if way in ("FedAvg", "sums") else "-"
            rows.append([str(n), way, str(cell.sizes["seed"]), *medians, spread, sent])
    return rows


def level_rows(sums: Mapping[str, xarray.Dataset]) -> list[list[str]]:
    """Problem, level, error (%) in the end: median, smallest to largest; level 1: all points in one place."""
    rows = []
    for name, table in sums.items():
        for level in table.level.values.tolist():
            error = table.error.sel(level=level).isel(evaluation=-1).values
            spread = f"{two_digits(error.min())} to {two_digits(error.max())}"
            rows.append([SHOWN[name].title.split(",")[0], str(level), two_digits(np.median(error)), spread])
    return rows


def stiff_rows(stiff: xarray.Dataset) -> list[list[str]]:
    """Evaluation; norms of the last layer, of the clients' gradients and of their mean; medians over seeds."""
    middle = stiff.median("seed")
    return [
        [str(n), *(f"{float(middle[name].sel(evaluation=n)):.1e}" for name in ("size", "each", "mean"))]
        for n in stiff.evaluation.values.tolist()
    ]
