"""Figures and tables of notebook 05 that no other room has; the others are ``notebook.pictures``."""

from collections.abc import Mapping, Sequence

import ipywidgets
import numpy as np
import xarray
from matplotlib.figure import Figure
from torch import Tensor

from ....federated.experiment import KINDS, Experiment, data_of, models_of, of_each
from ....federated.heterogeneity import weight_divergence
from ....federated.history import History
from ....federated.partitions import private
from ....federated.stack import as_dict
from ....notebook.pictures import Solved, shade, solved, with_distance
from ....notebook.style import CLIENTS, COLORS, DASHES, MARKERS, log_axis, panels
from ....notebook.trainings import levels_of
from ....notebook.widgets import explore, slider
from ....numerics.metrics import percent, plus_minus
from .problem import distances, makers


def answer(of: Solved, level: int) -> Figure:
    """What each laboratory finds alone, and what both find together, over the pieces that they own."""
    fig, ((ax,),) = panels(1, 1, size=(6.2, 3.0))
    x, models = of.x[:, 0], of.models[level]
    data = data_of(of.experiment, level)
    shade(ax, data.pool["x"][:, 0].numpy(), private(data.owners))
    ax.plot(x, of.truth, color=COLORS["truth"], lw=4, alpha=0.25, label="the solution")
    alone = [label for label in models if label.startswith("isolated")]
    for k, label in enumerate(alone):
        words = f"laboratory {k + 1} alone: off by {percent(models[label], of.truth):.3g} %"
        ax.plot(x, models[label], color=CLIENTS[k], ls=DASHES[k], lw=2, label=words)
    words = f"together: off by {percent(models['federated'], of.truth):.3g} %"
    ax.plot(x, models["federated"], color=COLORS["federated"], label=words)
    low, high = of.truth.min(), of.truth.max()
    ax.set(xlabel="x", ylabel="u(x)", xlim=(x[0], x[-1]), ylim=(low - 0.6 * (high - low), high + 0.6 * (high - low)))
    ax.set_title(f"{level} pieces, owned in turn (shades)")
    fig.legend(loc="outside right center")
    return fig


def answers(of: Solved) -> ipywidgets.GridBox:
    """A slider over the number of pieces."""
    pieces = slider([*of.models], min(of.models), "pieces")
    words = "two laboratories' solutions, each right on its own pieces, and the one that they find together"
    return explore(lambda pieces: answer(of, pieces), words, pieces=pieces)


def stored_solutions(history: History, experiment: Experiment) -> Solved:
    """What the models of the first seed say, at all levels."""
    seed = history.labels("seed")[0]
    return solved(experiment, {n: labelled(history, n, seed) for n in levels_of(history)})


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
        levels = levels_of(histories[name]) if name in histories else []
        if not {min(p["levels"][name]), max(p["levels"][name])} <= {*levels}:
            continue
        experiments[name] = experiment = make(**arguments)
        w1 = distances(experiment, levels)
        errors[name] = with_distance(of_each(histories[name]).sel(level=levels), experiment, w1)
        divergences[name] = with_distance(divergence(experiment, histories[name], levels), experiment, w1)
    return experiments, errors, divergences


def solutions(experiments: Mapping[str, Experiment], histories: Mapping[str, History]) -> dict[str, Solved]:
    """What the models of the first seed say, by name."""
    return {name: stored_solutions(histories[name], of) for name, of in experiments.items()}


def labelled(history: History, level: int, seed: int) -> dict[str, Tensor]:
    """Label -> parameters [P] of all models of a level and a seed, as pictures name them."""
    alone = {f"isolated client {k + 1}": row for k, row in enumerate(models_of(history, "isolated", level, seed))}
    return alone | {kind: models_of(history, kind, level, seed)[0] for kind in ("federated", "centralised")}


def divergence(experiment: Experiment, history: History, levels: Sequence[int]) -> xarray.DataArray:
    """Relative divergence of the federated weights from the centralised ones [seed, level, matrix]."""
    seeds = history.labels("seed")

    def of(level, seed) -> list[float]:
        pair = (models_of(history, kind, level, seed)[0] for kind in ("federated", "centralised"))
        return [float(v) for v in weight_divergence(*(as_dict(experiment.net, theta) for theta in pair)).values()]

    values = np.array([[of(level, seed) for level in levels] for seed in seeds])
    coords = {"seed": seeds, "level": list(levels), "matrix": 1 + np.arange(values.shape[-1])}
    return xarray.DataArray(values, coords, ("seed", "level", "matrix"))


HEADER = ("e (%)", "n", "federated", "isolated", "centralised", "federated / centralised")


def metrics_of(final: Mapping[str, xarray.DataArray], divergences: Mapping[str, xarray.DataArray]) -> dict:
    """The numbers of a run, each by name of the problem: errors (%) [kind, level, seed], divergences, levels, w1."""
    return {
        "levels": {name: e.level.values.tolist() for name, e in final.items()},
        "w1": {name: e.w1.values.tolist() for name, e in final.items()},
        "error_percent": {
            name: {kind: e.sel(kind=kind).transpose("seed", "level").values for kind in KINDS}
            for name, e in final.items()
        },
        "weight_divergence": {name: values.values for name, values in divergences.items()},
    }


def error_rows(metrics: Mapping, digits: int = 2) -> list[list[str]]:
    """A row of HEADER for each problem and level: mean ± st.dev. over seeds, and the ratio of the means."""
    rows = []
    for name, error in metrics["error_percent"].items():
        for j, n in enumerate(metrics["levels"][name]):
            federated, isolated, central = (np.array(error[kind])[:, j] for kind in KINDS)
            cells = [plus_minus(e, digits) for e in (federated, isolated, central)]
            rows.append([name, str(n), *cells, f"{federated.mean() / central.mean():.1f}"])
    return rows


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
