"""Pictures and tables of notebook 11: two clients in the plane, curves, rules against rates and against each other."""

from collections.abc import Mapping

import numpy as np
import xarray
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ....federated.rules import RULES
from ....notebook.pictures import curves, shade
from ....notebook.style import CLIENTS, COLORS, OTHERS, panels
from ....numerics.metrics import in_percent, paired_ratio, plus_minus
from .plane import Quadratics, walk
from .study import CENTRAL, CONSTANT, FALLING, PROBLEMS, REPAIR, Best, ratio

LOOKS = {
    "FedAvg": {"color": COLORS["federated"], "marker": "o"},
    "SCAFFOLD": {"color": OTHERS[1], "marker": "D"},
    "fresh correction": {"color": OTHERS[4], "marker": "v"},
    "repair": {"color": OTHERS[0], "marker": "s", "lw": 2.5},
    "Mime": {"color": OTHERS[2], "marker": "^"},
    CENTRAL: {"color": COLORS["centralised"], "marker": "d", "ls": "--"},
}
"""Rules that have a colour and a mark, by ``name_of``."""

COMPARED = ["SCAFFOLD", "averaged moments", "fresh correction", REPAIR, "Mime", CENTRAL]
ORDER = ["FedAvg", *COMPARED]
ORDER += [rule for rule in RULES if rule not in ORDER]


def name_of(rule: str) -> str:
    """What a rule is called in pictures and tables."""
    return "repair" if rule == REPAIR else rule


def in_order(values: xarray.DataArray) -> list[str]:
    """Rules along an axis."""
    return [rule for rule in ORDER if rule in values["rule"]]


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
        ax.plot(*best, "*", color=COLORS["truth"], ms=13, label="truth: best for both")
        ax.plot(*rest, "X", color=COLORS["federated"], ms=9, label="where FedAvg rests")
        off = np.linalg.norm(path.theta[-1] - best)
        ax.set(title=f"{('FedAvg', 'repair')[correct]}: {off:.2f} from the best", xlabel=r"$\theta_1$", aspect="equal")
    axes[0].set(ylabel=r"$\theta_2$", xlim=(-0.2, 2.3), ylim=(-0.2, 2.3))
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


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
            style = {name: value for name, value in LOOKS[name_of(rule)].items() if name != "marker"}
            ax.plot(x, end.u, label=f"{name_of(rule)}, rate {lr:g}: off by {in_percent(float(end.error))}", **style)
        ax.set(title=title, xlabel=xlabel, xlim=(x[0], x[-1]))
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.08), ncols=1)
    axes[0].set_ylabel("u(x)")
    return fig


def against_rate(followed: Mapping[str, xarray.Dataset], printed: float = 1e-3) -> Figure:
    """Error (%) in the end against the rate, a panel for each problem; dotted where the rate falls."""
    ends = {PROBLEMS[name].title: table.error.isel(round=-1, drop=True) for name, table in followed.items()}
    fig = curves({title: lines_of(end) for title, end in ends.items()}, "lr", "line", looks=look, size=(3.6, 2.9))
    for ax in fig.axes:
        ax.axvline(printed, color="0.6", lw=1, ls=":")
    return fig


def lines_of(error: xarray.DataArray) -> xarray.DataArray:
    """Of errors [schedule, rule, ...] a line for each pair, "FedAvg, falling" for instance."""
    pairs = error.stack(line=("rule", "schedule"))
    names = [name_of(rule) + f", {schedule}" * (schedule != CONSTANT) for rule, schedule in pairs.line.values]
    return pairs.drop_vars(("line", "rule", "schedule")).assign_coords(line=names).rename(None)


def look(line: str) -> dict:
    """Of a rule's line, dotted where its rate falls."""
    rule, _, falls = line.partition(", ")
    return LOOKS[rule] | ({"ls": ":", "markerfacecolor": "white"} if falls else {})


def local_steps(values: Mapping[str, xarray.DataArray], central: Mapping[str, xarray.DataArray]) -> Figure:
    """Errors [rule, E, seed] against E, at as many local steps in all, of the rules that have several E.
    central: [seed] of the model that sees all points."""
    shown = {}
    for name, errors in values.items():
        several = errors.notnull().any("seed").sum("E") > 1
        all_points = central[name].reset_coords(drop=True).expand_dims(rule=[CENTRAL], E=errors.E)
        rules = [rule for rule in in_order(errors) if several.sel(rule=rule)]
        lines = xarray.concat([errors.sel(rule=rules), all_points], "rule", combine_attrs="override")
        shown[name] = lines.assign_coords(rule=[*map(name_of, rules), CENTRAL])
    return curves(shown, "E", "rule", looks=look, size=(3.6, 2.9))


def against_fedavg(errors: Mapping[str, xarray.DataArray]) -> Figure:
    """Error of each rule over that of FedAvg, both at rates of their own: a panel for each rule, a row for each problem
    with its interval."""
    fig, (axes,) = panels(1, len(COMPARED), size=(9.2 / len(COMPARED), 0.8 + 0.24 * len(errors)), sharey=True)
    for ax, rule in zip(axes, COMPARED, strict=True):
        style = LOOKS.get(name_of(rule), {"color": "0.5", "marker": "."})
        for row, values in enumerate(errors.values()):
            if rule in values["rule"]:
                r = ratio(values, rule)
                ax.plot([r.low, r.high], [row, row], color=style["color"], lw=1.5)
                ax.plot(r.mean, row, style["marker"], color=style["color"], ms=5)
        ax.axvline(1, color="0.6", lw=1)
        ax.set(xscale="log", xlim=(5e-3, 300), title=name_of(rule))
        ax.set_xticks([0.01, 0.1, 1, 10, 100], ["0.01", "0.1", "1", "10", "100"], fontsize=7)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.grid(axis="x", color="0.92")
    axes[0].set_yticks(range(len(errors)), [values.name for values in errors.values()])
    axes[0].set_ylim(len(errors) - 0.5, -0.5)
    fig.supxlabel("error over that of FedAvg (left: better)", fontsize=9)
    return fig


# tables


SCHEDULE_HEADER = ["problem", "rule", "constant (%)", "from", "falling (%)", "from", "falling over constant"]


def schedule_rows(tried: Mapping[str, Mapping[str, Best]]) -> list[list[str]]:
    """Rows of SCHEDULE_HEADER, of what was tried with both: means ± st.dev. over seeds, the rates that validation
    points chose, and the ratio, paired by seed."""
    rows = []
    for name, both in tried.items():
        for rule in in_order(both[FALLING].error) if FALLING in both else []:
            constant, falling = (both[schedule].error.sel(rule=rule) for schedule in (CONSTANT, FALLING))
            cells = [cell for one in (constant, falling) for cell in (in_short(one), f"{one.lr.item():g}")]
            rows.append([PROBLEMS[name].title, name_of(rule), *cells, str(paired_ratio(falling, constant))])
    return rows


PRICE_HEADER = ["rule", "sent up", "exchanges", "all (%)", "half take part (%)", "a tenth (%)"]


def price_rows(everybody: xarray.DataArray, some: xarray.DataArray) -> list[list[str]]:
    """Rows of PRICE_HEADER: how many vectors of P parameters a client sends in a round, in how many exchanges; errors
    of pendulums [rule, seed], [rule, fraction, seed], where all or a share of the clients take part."""
    rows = []
    for name, rule in RULES.items():
        optimizer, cells = rule.optimizer(rule.knobs[0]), ["-"] * 3
        if name in some["rule"]:
            parts = some.sel(rule=name).transpose("fraction", "seed")
            cells = [in_short(one) for one in (everybody.sel(rule=name), *parts)]
        rows.append([name_of(name), f"{optimizer.sent} P", str(optimizer.exchanges), *cells])
    return [*rows, ["gradients of every step", "E P", "E", *["-"] * 3]]


def in_short(errors: xarray.DataArray) -> str:
    """Errors (%) [seed], mean ± st.dev. with two digits of the mean; "-" where one diverged, or is not trained."""
    mean = errors.values.mean()
    return plus_minus(errors, min(4, max(0, 1 - int(np.floor(np.log10(mean)))))) if np.isfinite(mean) else "-"


def as_table(values: xarray.DataArray) -> dict[str, list]:
    """rule -> numbers, None where a training diverged or is not there, for a result file."""
    return {
        rule: np.where(np.isfinite(part := values.sel(rule=rule).values), part, None).tolist()
        for rule in values["rule"].values.tolist()
    }
