"""Pictures and tables of notebook 11: two clients in the plane, curves, rules against rates and against each other."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import xarray
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ....federated.rules import RULES
from ....federated.stack import parameter_count
from ....notebook.pictures import seeds_and_median, shade
from ....notebook.style import CLIENTS, COLORS, log_axis, panels
from ....numerics.metrics import in_percent, paired_ratio, plus_minus
from . import ladders
from .plane import Quadratics, walk
from .ranks import gain
from .study import CENTRAL, CONSTANT, FALLING, PROBLEMS, REPAIR, Best, ratio

NAMES = {REPAIR: "repair", "federated": "FedAvg"}
"""What a rule is called in pictures and tables, where it is not by its own name."""

LOOKS = {
    "FedAvg": {"color": COLORS["federated"], "marker": "o"},
    "SCAFFOLD": {"color": COLORS["light"], "marker": "D"},
    "fresh correction": {"color": "0.3", "marker": "v"},
    REPAIR: {"color": COLORS["other"], "marker": "s", "lw": 2.5},
    "Mime": {"color": COLORS["paper"], "marker": "^"},
    CENTRAL: {"color": COLORS["centralised"], "marker": "d", "ls": "--"},
}
"""Six rules have a colour and a mark; the others are grey."""

GREY = {"color": "0.78", "marker": ".", "lw": 1}
ORDER = [*LOOKS, *(rule for rule in RULES if rule not in LOOKS)]


def name_of(rule: str) -> str:
    return NAMES.get(rule, rule)


def in_order(values: xarray.DataArray) -> list[str]:
    """Rules along an axis, the grey ones first, so that they lie below."""
    present = {*values["rule"].values.tolist()}
    return [rule for rule in reversed(ORDER) if rule in present]


# the plane


def plane(problem: Quadratics, E: int, rounds: int, lr: float = 0.5) -> Figure:
    """Two clients and their server over some rounds of E steps: left FedAvg, right with the repair."""
    fig, (axes,) = panels(1, 2, size=(3.4, 3.2), sharex=True, sharey=True)
    grid = np.stack(np.meshgrid(np.linspace(-0.2, 2.3, 60), np.linspace(-0.2, 2.3, 60)), -1)
    best, rest = problem.optimum(), problem.fixed_point(E, lr)
    for ax, correct in zip(axes, (False, True), strict=True):
        path = walk(problem, correct, E, rounds, lr)
        ax.contour(*np.moveaxis(grid, -1, 0), problem.value(grid), 12, colors="0.85", linewidths=0.8)
        for c, client in enumerate(np.moveaxis(path.local, 1, 0)):
            for r, steps in enumerate(client):
                label = f"client {c + 1}, {E} step{'s' * (E > 1)} a round" if r == 0 else None
                ax.plot(*steps.T, ".-", color=CLIENTS[c], ms=4, lw=1.2, label=label)
        ax.plot(*path.theta.T, "o--", color=COLORS["federated"], ms=5, lw=1.5, label="server")
        ax.plot(*best, "*", color=COLORS["truth"], ms=13, label="best for both")
        ax.plot(*rest, "X", color=COLORS["paper"], ms=9, label="where FedAvg rests")
        off = np.linalg.norm(path.theta[-1] - best)
        ax.set(title=f"{('FedAvg', 'repair')[correct]}: {off:.2f} from the best", xlabel=r"$\theta_1$", aspect="equal")
    axes[0].set(ylabel=r"$\theta_2$", xlim=(-0.2, 2.3), ylim=(-0.2, 2.3))
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


# curves on the way


def side_by_side(curves: xarray.Dataset, chosen: Mapping[str, Mapping[str, float]], xlabel: str = "x") -> Figure:
    """What models say in the end, a panel for each title -> {rule: constant rate}; curves: as of ``followed``."""
    fig, (axes,) = panels(1, len(chosen), size=(3.9, 2.9), sharey=True)
    truth, x, curves = curves.truth.values, curves.x.values, curves.sel(schedule=CONSTANT)
    owners = [np.flatnonzero(curves.owner.values == k) for k in range(int(curves.owner.max()) + 1)]
    for ax, (title, rates) in zip(axes, chosen.items(), strict=True):
        shade(ax, x, owners)
        ax.plot(x, truth, color=COLORS["truth"], lw=4, alpha=0.25, label="truth")
        for rule, lr in rates.items():
            end = curves.sel(rule=rule, lr=lr).isel(round=-1, seed=0)
            style = {name: value for name, value in LOOKS[rule].items() if name != "marker"}
            ax.plot(x, end.u, label=f"{name_of(rule)}, rate {lr:g}: off by {in_percent(float(end.error))}", **style)
        ax.set(title=title, xlabel=xlabel, xlim=(x[0], x[-1]))
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.08), ncols=1)
    axes[0].set_ylabel("u(x)")
    return fig


ENDS = {CONSTANT: {}, FALLING: {"ls": ":", "markerfacecolor": "white"}}
"""How lines of a schedule look, beside the colour and the mark of their rule."""


def against_rate(curves: Mapping[str, xarray.Dataset], printed: float = 1e-3) -> Figure:
    """Error (%) in the end against the rate, a panel for each problem; dots are starts, lines medians; dotted where the
    rate falls."""
    fig, (axes,) = panels(1, len(curves), size=(3.6, 3.1))
    for ax, (name, table) in zip(axes, curves.items(), strict=True):
        error = table.error.isel(round=-1)
        for rule, (schedule, end) in product(in_order(error), ENDS.items()):
            values = error.sel(rule=rule, schedule=schedule).transpose("seed", "lr").values
            label = name_of(rule) + f", {schedule}" * (schedule != CONSTANT)
            seeds_and_median(ax, error.lr.values, values, label, **LOOKS[rule] | end)
        ax.axvline(printed, color="0.6", lw=1, ls=":", label="rate of the papers")
        rates_axis(ax, error.lr.values)
        log_axis(ax.yaxis)
        ax.set(title=PROBLEMS[name].title, xlabel="rate at the beginning", ylabel="error (%)")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return fig


def rates_axis(ax, rates: Sequence[float]) -> None:
    """A logarithmic axis with a tick at every value, aslant where these are long and many."""
    words = [f"{rate:g}" for rate in rates]
    aslant = sum(map(len, words)) > 20
    ax.set_xscale("log")
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticks(rates, words, fontsize=7, rotation=45 * aslant)


# rules


def legend_of_rules(fig: Figure, axes, columns: int = 4) -> None:
    """One legend of all panels, each rule once, the coloured ones first."""
    handles = {}
    for ax in axes:
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    order = [label for label in map(name_of, ORDER) if label in handles] + ["others"] * ("others" in handles)
    fig.legend([handles[label] for label in order], order, loc="outside upper center", ncols=columns)


COMPARED = ("SCAFFOLD", "averaged moments", "fresh correction", REPAIR, "Mime", CENTRAL)


def against_fedavg(errors: Mapping[str, xarray.DataArray]) -> Figure:
    """Error of each rule over that of FedAvg, both at rates of their own: a panel for each rule, a row for each problem
    with its interval."""
    shown = [rule for rule in COMPARED if any(rule in values["rule"] for values in errors.values())]
    fig, (axes,) = panels(1, len(shown), size=(9.2 / max(4, len(shown)), 0.8 + 0.24 * len(errors)), sharey=True)
    for ax, rule in zip(axes, shown, strict=True):
        style = LOOKS.get(rule, {"color": "0.5", "marker": "."})
        for row, values in enumerate(errors.values()):
            if {rule, "FedAvg"} <= {*values["rule"].values.tolist()} and np.isfinite((r := ratio(values, rule)).mean):
                ax.plot([r.low, r.high], [row, row], color=style["color"], lw=1.5)
                ax.plot(r.mean, row, style["marker"], color=style["color"], ms=5)
            elif rule in values["rule"]:
                ax.text(1, row, "diverged", ha="center", va="center", fontsize=7)
        ax.axvline(1, color="0.6", lw=1)
        ax.set(xscale="log", xlim=(2e-3, 50), title=name_of(rule))
        ax.set_xticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"], fontsize=7)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.grid(axis="x", color="0.92")
    axes[0].set_yticks(range(len(errors)), [PROBLEMS[name].title for name in errors])
    axes[0].set_ylim(len(errors) - 0.5, -0.5)
    fig.supxlabel("error over that of FedAvg (left: better)", fontsize=9)
    return fig


def local_steps(values: Mapping[str, xarray.DataArray], central: Mapping[str, xarray.DataArray]) -> Figure:
    """Errors [rule, E, seed] against E, at as many local steps in all; dots are starts, lines medians. central: [seed]
    of the model that sees all points."""
    fig, (axes,) = panels(1, len(values), size=(3.6, 2.9))
    for ax, (name, errors) in zip(axes, values.items(), strict=True):
        E = errors.E.values
        for rule in in_order(errors):
            several = errors.sel(rule=rule).notnull().any("seed").sum() > 1
            if rule in LOOKS and rule != CENTRAL and several:
                seeds_and_median(
                    ax, E, errors.sel(rule=rule).transpose("seed", "E").values, name_of(rule), **LOOKS[rule]
                )
        if name in central:
            ax.axhline(float(central[name].median()), color=COLORS["centralised"], ls="--", lw=1, label=CENTRAL)
        rates_axis(ax, E)
        log_axis(ax.yaxis)
        ax.set(title=PROBLEMS[name].title, xlabel="local steps E in a round", ylabel="error (%)")
    legend_of_rules(fig, axes)
    return fig


def costs(paths: Mapping[str, xarray.DataArray], E: int = 5) -> Figure:
    """Mean error (%) [rule, round] against rounds, and against what all clients send up; a row for each problem."""
    fig, axes = panels(len(paths), 2, size=(3.6, 2.4), sharey="row")
    for row, (name, values) in zip(axes, paths.items(), strict=True):
        for rule in in_order(values):
            line = values.sel(rule=rule).dropna("round")
            for ax, x in zip(row, (line["round"], line["round"] * megabytes(name, rule, E)), strict=True):
                style = {"markevery": 0.2, "ms": 4, **LOOKS.get(rule, GREY)}
                ax.plot(x, line, label=name_of(rule) if rule in LOOKS else "others", **style)
                ax.set_xscale("log")
                ax.xaxis.set_minor_formatter("")
        log_axis(row[0].yaxis)
        row[0].set(ylabel="error (%)", title=PROBLEMS[name].title, xlabel="rounds")
        row[1].set(xlabel="MB sent up by all clients")
    legend_of_rules(fig, axes.flat)
    return fig


def megabytes(name: str, rule: str, E: int) -> float:
    """What all clients send up in a round, in float32; the centralised model is the gradients of every step."""
    experiment, level = PROBLEMS[name].make(), PROBLEMS[name].level
    clients = len(experiment.data(level, 0).owners)
    vectors = E if rule == CENTRAL else RULES[rule].optimizer(RULES[rule].knobs[0]).sent
    return 4e-6 * vectors * clients * parameter_count(experiment.net)


def stale(off: xarray.DataArray) -> Figure:
    """How far a corrected gradient is off along the local steps [lr, client, step], a line for each client."""
    fig, ((ax,),) = panels(size=(4.6, 2.8))
    for color, lr in zip((COLORS["federated"], COLORS["other"]), off.lr.values, strict=True):
        for k, values in enumerate(off.sel(lr=lr).values):
            ax.plot(
                np.arange(1, len(values)), values[1:], color=color, lw=1.2, label=f"rate {lr:g}" if k == 0 else None
            )
    ax.axhline(1, color="0.6", lw=1, ls=":")
    ax.set(xlabel="local steps since the correction was made", ylabel="corrected gradient:\nhow far off, relative")
    log_axis(ax.yaxis)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig


# measures


MEASURED = dict(zip(ladders.MEASURES, (("0.45", "s"), (COLORS["federated"], "o"), (COLORS["other"], "^")), strict=True))
"""Colour and mark of each measure."""


def rank_figure(orders: Mapping[str, xarray.Dataset]) -> Figure:
    """Rank correlation of each measure with the errors of a ladder's levels, and what B at the start gains over W1;
    lines are 95 % of draws."""
    fig, (axes,) = panels(1, 2, size=(4.0, 0.9 + 0.4 * len(orders)), sharey=True)
    left, right = axes
    for row, order in enumerate(orders.values()):
        for k, (measure, (color, marker)) in enumerate(MEASURED.items()):
            one, y = order.sel(measure=measure), row + 0.22 * (k - 1)
            left.plot(np.nanquantile(one.drawn_rank, [0.025, 0.975]), [y, y], color=color, lw=1.2)
            left.plot(float(one["rank"]), y, marker, color=color, ms=5, label=measure if row == 0 else None)
        value, *ends = gain([order], "B at the start")
        right.plot(ends, [row, row], color=COLORS["federated"], lw=1.2)
        right.plot(value, row, "o", color=COLORS["federated"], ms=5)
    for ax in axes:
        ax.axvline(0, color="0.6", lw=1)
        ax.grid(axis="x", color="0.92")
    left.set_yticks(range(len(orders)), list(orders))
    left.set(ylim=(len(orders) - 0.5, -0.5), xlabel="rank correlation with the error")
    right.set(xlabel="of B at the start, less that of $W_1$")
    fig.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


# tables


def error_rows(errors: Mapping[str, xarray.DataArray]) -> tuple[list[str], list[list[str]]]:
    """(header, a row for each problem): mean ± st.dev. over seeds of each rule at its own rate."""
    rules = [rule for rule in ORDER if any(rule in values["rule"] for values in errors.values())]
    return ["error (%)", *map(name_of, rules)], [
        [PROBLEMS[name].title, *(in_short(values.sel(rule=r)) if r in values["rule"] else "-" for r in rules)]
        for name, values in errors.items()
    ]


SCHEDULE_HEADER = ["problem", "rule", "constant (%)", "from", "falling (%)", "from", "falling over constant"]


def schedule_rows(tried: Mapping[str, Mapping[str, Best]]) -> list[list[str]]:
    """Rows of SCHEDULE_HEADER, of what was tried with both: means ± st.dev. over seeds, the rates that validation
    points chose, and the ratio, paired by seed."""
    rows = []
    for name, both in tried.items():
        for rule in reversed(in_order(both[FALLING].error) if FALLING in both else []):
            constant, falling = (both[schedule].error.sel(rule=rule) for schedule in (CONSTANT, FALLING))
            cells = [cell for one in (constant, falling) for cell in (in_short(one), f"{one.lr.item():g}")]
            rows.append([PROBLEMS[name].title, name_of(rule), *cells, str(paired_ratio(falling, constant))])
    return rows


def in_short(errors: xarray.DataArray, lost: float = 1000) -> str:
    """Errors (%) [seed] in few letters; a mean says nothing where some are lost."""
    values = errors.values
    if not np.isfinite(values).all():
        return "diverged"
    if beyond := int((values > lost).sum()):
        return f"{beyond} of {len(values)} above {lost:g}"
    digits = max(0, 1 - int(np.floor(np.log10(values.mean()))))
    return plus_minus(values, min(digits, 4))


def as_table(values: xarray.DataArray) -> dict[str, list]:
    """rule -> numbers, None where a training diverged or is not there, for a result file."""
    return {
        rule: np.where(np.isfinite(part := values.sel(rule=rule).values), part, None).tolist()
        for rule in values["rule"].values.tolist()
    }


def dissimilarity_rows(B: xarray.DataArray) -> list[list[str]]:
    """A row for each problem: 1 / B of each seed, the share of the gradients that does not cancel: at the start, on the
    way."""
    share = 1 / B.transpose("problem", "when", "seed")
    return [
        [PROBLEMS[name].title, *(" ".join(f"{value:.2g}" for value in one) for one in share.sel(problem=name).values)]
        for name in B.problem.values.tolist()
    ]


def level_rows(tables: Mapping[str, xarray.Dataset], resonances: Mapping[str, Sequence]) -> list[list[str]]:
    """Around a resonance: level, median error (%), and all measures."""
    rows = []
    for name in [name for name in resonances if name in tables]:
        table = tables[name].sel(level=[*resonances[name]])
        for level in table.level.values:
            one = table.sel(level=level)
            values = (one.error.median(), *one.number.values)
            rows.append([name, f"{level:g}", *(f"{float(value):.2f}" for value in values)])
    return rows


def some_rows(some: xarray.DataArray, errors: xarray.DataArray) -> list[list[str]]:
    """A row for each rule: mean ± st.dev. with all clients, and with shares of them."""
    return [
        [
            name_of(rule),
            in_short(errors.sel(rule=rule)),
            *(in_short(some.sel(rule=rule, fraction=f)) for f in some.fraction),
        ]
        for rule in some["rule"].values.tolist()
    ]
