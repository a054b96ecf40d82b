"""Table 2 of FedSciML: how long until the coefficients of the flow are found, printed and ours.

The table is first passage: the least epochs at which a coefficient comes within a tolerance. "Stays" is the time from
which on it never leaves again, which nobody prints. A model is called by its kind and level, ("federated", 10), as in
``problems.flow_study``; times are in thousands of epochs, [2, tolerances], not finite for never.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ..notebook.style import log_axis, panels
from ..notebook.verdicts import paper_numbers
from ..numerics.metrics import plus_minus
from ..problems.flow import TRUTH
from ..problems.flow_study import GAINS
from ..problems.flow_times import TOLERANCES, numbers, settled
from .inverse import label, model_styles


def ids(kind: str, n: int) -> list[list[str]]:
    """What the numbers of Table 2 are called for a model: [2][tolerances] for C1 and C2; not all are printed."""
    row = {"federated": f"n{n}", "summed": f"n{n}, summed"}.get(kind, "central")
    return [[f"fedsciml.table2.{row}.C{i}.{t}" for t in TOLERANCES] for i in (1, 2)]


def most_observed(models: Iterable[tuple[str, int]]) -> tuple[str, int]:
    """The centralised model that the printed one is compared with: that with most observations (the code has 7000)."""
    return max((m for m in models if m[0] not in GAINS), key=lambda m: m[1])


def measured(times: Mapping[tuple, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """(id, one value per seed) of the federations and of the model of ``most_observed``, first of C1.

    times: model -> [seeds, 2, tolerances].
    """
    for i in (0, 1):
        for model in [m for m in times if m[0] == "federated"] + [most_observed(times)]:
            yield from zip(ids(*model)[i], times[model][:, i].T, strict=True)


def printed_times(models: Iterable[tuple[str, int]]) -> dict[tuple, np.ndarray]:
    """Table 2 as printed: model -> times, infinite for blank cells (never), NaN for models that it lacks.

    Of several centralised models only that of ``most_observed`` has printed numbers.
    """
    known, models = {id: number.value for id, number in paper_numbers().items()}, list(models)
    compared = {m for m in models if m[0] in GAINS} | {most_observed(models)}
    return {m: np.array([[known.get(id, np.nan) * (m in compared or np.nan) for id in row] for row in ids(*m)])
            for m in models}  # fmt: skip


def text(time: float) -> str:
    """A time with its digits, "-" for never or not printed."""
    return f"{time:.{3 if time >= 1 else 2}g}" if np.isfinite(time) else "-"


def passage_table(
    first: Mapping[tuple, np.ndarray], stays: Mapping[tuple, np.ndarray], printed: Mapping[tuple, np.ndarray]
) -> tuple[list, list]:
    """Header and rows: printed first passage, ours, and the time from which on ours stays, for each tolerance."""
    header = ["", *(f"{t} %: {what}" for t in TOLERANCES for what in ("printed", "reaches", "stays"))]
    rows = []
    for i in (0, 1):
        for model in first:
            each = zip(printed[model][i], first[model][i], stays[model][i], strict=True)
            rows.append([f"C{i + 1}, {label(*model)}", *(text(v) for cell in each for v in cell)])
    return header, rows


def ratios(times: Mapping[tuple, np.ndarray], levels: tuple[int, int] = (2, 10), i: int = 0) -> list[str]:
    """How many times longer C_i+1 takes with few than with many subdomains, per tolerance; "-" where one never does."""
    few, many = (times.get(("federated", n)) for n in levels)
    if few is None or many is None:
        return ["-"] * len(TOLERANCES)
    return [text(a / b) if np.isfinite([a, b]).all() else "-" for a, b in zip(few[i], many[i], strict=True)]


def passages(
    first: Mapping[tuple, np.ndarray], printed: Mapping[tuple, np.ndarray], stays: Mapping[tuple, np.ndarray] | None
) -> Figure:
    """When each coefficient comes within each tolerance, printed and ours; below from when on ours stays, if given."""
    fig, axes = panels(2 if stays else 1, 2, size=(3.6, 2.2 if stays else 2.8), sharex=True, sharey=True)
    at, styles = range(len(TOLERANCES)), model_styles(list(first))
    for i, column in enumerate(axes.T):
        for model in first:
            style = {"marker": "o", "ms": 5} | {k: v for k, v in styles[model].items() if k != "markevery"}
            if np.isfinite(printed[model]).any():
                name = "centralised" if model[0] not in GAINS else label(*model)
                column[0].plot(at, printed[model][i], **(style | {"ls": "--", "lw": 0.8, "mfc": "none"}),
                               label=f"{name}, printed")  # fmt: skip
            for ax, times in zip(column, (first, stays), strict=False):
                shown = np.where(np.isfinite(times[model][i]), times[model][i], np.nan)
                ax.plot(at, shown, label=label(*model), **style)
        column[0].set_title(f"$C_{i + 1}$")
        column[-1].set(xlabel="within (%)", xticks=at, xticklabels=TOLERANCES)
        column[-1].set_xlim(-0.3, len(TOLERANCES) - 0.7)
    log_axis(axes[0, 0].yaxis)
    for ax, what in zip(axes[:, 0], ("reach it", "stay there"), strict=False):
        ax.set_ylabel(f"epochs to {what}\n(thousands)")
    named = dict(zip(*reversed(axes[0, 0].get_legend_handles_labels()), strict=True))
    names = sorted(named, key=lambda name: "printed" not in name)
    fig.legend([named[name] for name in names], names, loc="outside upper center", ncols=4)
    return fig


def named(times: Mapping[str, Sequence]) -> dict[tuple, np.ndarray]:
    """Times of a result file ("federated 10" -> [seeds][2][tolerances]) as model -> their means over seeds."""
    keys = {name: name.split() for name in times}
    return {(kind, int(n)): numbers(times[name]).mean(0) for name, (kind, n) in keys.items()}


def ends_table(result: Mapping) -> tuple[list, list]:
    """Header and rows of where a committed result ends: C and the errors of velocity and pressure, mean over seeds."""
    metrics, rows = result["metrics"], []
    for name, C in metrics["coefficients"].items():
        kind, n = name.split()
        off = 100 * (np.array(C) / TRUTH - 1).mean(0)
        errors = (np.mean(metrics["error_percent"][name][field]) for field in "up")
        rows.append([label(kind, int(n)), *(f"{c:+.2g} %" for c in off), *(f"{e:.2g} %" for e in errors)])
    return ["at the end", "C1", "C2", "velocity, e", "pressure, e"], rows


def seeds_table(result: Mapping, tolerances: Sequence[float] = (10, 5)) -> tuple[list, list]:
    """Header and rows of what a result with several seeds says, mean and st.dev.: times of C1, errors of C.

    The result keeps every tenth record, so the times are those of every tenth record.
    """
    metrics, rows = result["metrics"], []
    for name, C in metrics["coefficients"].items():
        tenth = np.array(metrics["C1_C2_every_tenth_record"][name])
        rounds = metrics["recorded_every"] * (1 + 10 * np.arange(tenth.shape[1]))
        times = settled(rounds, tenth, tolerances)[:, 0].T / 1000
        errors = 100 * np.abs(np.array(C) / TRUTH - 1).T
        kind, n = name.split()
        rows.append([label(kind, int(n)), *(plus_minus(v, 1) for v in (*times, *errors))])
    return ["", *(f"C1 within {t} % (thousands)" for t in tolerances), "C1, error (%)", "C2, error (%)"], rows
