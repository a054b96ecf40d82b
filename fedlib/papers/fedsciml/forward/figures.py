"""Figures and tables of notebook 05 that no other room has; the others are ``notebook.pictures``."""

from collections.abc import Mapping, Sequence

import ipywidgets
import numpy as np
from matplotlib.figure import Figure

from ....federated import sweep
from ....federated.experiment import Experiment, data_of
from ....federated.history import History
from ....federated.partitions import private
from ....federated.solved import Solved, stored_solutions
from ....live.widgets import explore, slider
from ....notebook.pictures import alone_and_together, shade
from ....notebook.style import CLIENTS, COLORS, MARKERS, log_axis, panels
from .problem import makers


def solution_figure(solutions: Solved, level: int) -> Figure:
    """What each laboratory finds alone, and what both find together, over the pieces that they own."""
    return alone_and_together(solutions, level, "laboratory", "the solution")


def solution_slider(solutions: Solved) -> ipywidgets.GridBox:
    """A slider over the number of pieces."""
    words = "two laboratories' solutions, each right on its own pieces, and the one that they find together"
    pieces = slider([*solutions.models], min(solutions.models), "pieces")
    return explore(lambda pieces: solution_figure(solutions, pieces), words, pieces=pieces)


def hills_and_valleys(experiment: Experiment, level: int) -> Figure:
    """The right-hand side of Poisson's equation over the pieces of both clients."""
    fig, ((ax,),) = panels(1, 1, size=(5.5, 2.2))
    data = data_of(experiment, level)
    x, f = (data.pool[name].numpy() for name in ("x", "f"))
    fine = np.linspace(0, np.pi, 300)
    last = 8 * np.sin(8 * fine)
    shade(ax, x[:, 0], private(data.owners))
    ax.plot(fine, last, color=COLORS["truth"], lw=1, ls=":", label="its largest part, 8 sin 8x")
    ax.plot(x[:, 0], f, "-", color=COLORS["truth"], label="f")
    for k, own in enumerate(private(data.owners)):
        ax.plot(x[own, 0], f[own], MARKERS[k], ms=4, color=CLIENTS[k], label=f"client {k + 1} knows")
    ax.set(xlabel="x", ylabel="f(x)", xlim=(0, np.pi), title=f"{level} pieces")
    fig.legend(loc="outside right center")
    return fig


def arrays(p: Mapping, histories: Mapping[str, History]) -> tuple[dict, dict, dict]:
    """(experiments, errors [round, kind, level, seed], divergences [seed, level, matrix]) by name, of those that are
    trained at the two ends of their levels: of others nothing can be said yet.

    p: a notebook's parameters.
    """
    experiments, errors, divergences = {}, {}, {}
    for name, (make, arguments) in makers(p).items():
        levels = sweep.whole_levels(histories[name]) if name in histories else []
        if not {min(p["levels"][name]), max(p["levels"][name])} <= {*levels}:
            continue
        experiments[name] = experiment = make(**arguments)
        errors[name] = sweep.errors(histories[name]).sel(level=levels)
        divergences[name] = sweep.divergences(histories[name], experiment.net, levels)
    return experiments, errors, divergences


def solutions(experiments: Mapping[str, Experiment], histories: Mapping[str, History]) -> dict[str, Solved]:
    """What the models of the first seed say, by name."""
    return {name: stored_solutions(histories[name], of) for name, of in experiments.items()}


GAP_HEADER = ("rule", "E", "relative error / 1e-5, median", "smallest to largest", "MB sent up")


def gap_rows(gap: Mapping[str, Mapping], centralised: Sequence[float]) -> list[list[str]]:
    """Rows of GAP_HEADER by median, the centralised model last; gap: of ``problem.gap``, centralised [S] (%)."""

    def cells(e):
        return [f"{1000 * np.median(e):.0f}", f"{1000 * np.min(e):.0f} to {1000 * np.max(e):.0f}"]

    ranked = sorted(gap.values(), key=lambda of: -np.median(of["error_percent"]))
    table = [[of["rule"], str(of["E"]), *cells(of["error_percent"]), f"{of['megabytes']:.0f}"] for of in ranked]
    return [*table, ["centralised", "-", *cells(centralised), "0"]]


NAMED = {
    "FedAvg": (6, 0), "FedAdam": (6, 0), "SCAFFOLD": (7, -4), "averaged moments": (6, 3), "fresh correction": (-6, -9),
    "fresh correction + averaged moments": (6, -3),
}  # fmt: skip
"""Rules whose names stand at their lines, and how far from the last point."""


def gap_view(gap: Mapping[str, Mapping], centralised: np.ndarray) -> Figure:
    """Error (%) against MB that all clients send up in all: a line per rule, through its medians at each E.

    gap: of ``problem.gap``; centralised [S] (%), a line at the median and a band over the seeds. At most six rules,
    those of NAMED, have their names on the line; the others are grey, and in the table.
    """
    fig, ((ax,),) = panels(1, 1, size=(6.6, 3.4))
    for rule in dict.fromkeys(of["rule"] for of in gap.values()):
        points = sorted((of for of in gap.values() if of["rule"] == rule), key=lambda of: of["megabytes"])
        x, medians = [of["megabytes"] for of in points], [np.median(of["error_percent"]) for of in points]
        color = COLORS["federated"] if rule in NAMED else "0.7"
        ax.plot(x, medians, color=color, lw=1, alpha=0.6, label="_line")
        for of, median in zip(points, medians, strict=True):
            filled = color if of["E"] > 1 else "white"
            ax.plot(np.full(len(of["error_percent"]), of["megabytes"]), of["error_percent"], ".", ms=3, color=color,
                    alpha=0.5, label="_seeds")  # fmt: skip
            ax.plot(of["megabytes"], median, "o", ms=6, color=color, markerfacecolor=filled, label="_median")
        if rule in NAMED:
            at = dict(textcoords="offset points", fontsize=7, ha="left" if NAMED[rule][0] > 0 else "right")
            ax.annotate(rule, (x[-1], medians[-1]), NAMED[rule], **at)
    for E in sorted({of["E"] for of in gap.values()}, reverse=True):
        filled = COLORS["federated"] if E > 1 else "white"
        ax.plot([], [], "o", ms=6, color=COLORS["federated"], markerfacecolor=filled, label=f"E = {E}")
    ax.axhspan(np.min(centralised), np.max(centralised), color=COLORS["centralised"], alpha=0.15, lw=0)
    ax.axhline(np.median(centralised), color=COLORS["centralised"], label="centralised")
    ax.set(xlabel="MB that all clients send up in all", ylabel="error (%)")
    for axis in (ax.xaxis, ax.yaxis):
        log_axis(axis)
    ax.set_xlim(None, 4 * ax.get_xlim()[1])
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig
