"""Table 2 of FedSciML: how long until the coefficients of the flow stay close to the truth, printed and ours.

A model is called by its kind and level, ("federated", 10), as in ``problems.flow_study``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ..numerics.metrics import plus_minus
from ..problems.flow import TRUTH
from ..problems.flow_study import GAINS, settled
from ..runs.results import comparisons_of
from ..runs.verdicts import paper_numbers
from .inverse import label, model_styles
from .style import log_axis, panels

TOLERANCES = (10, 5, 1, 0.5)  # %


def ids(kind: str, n: int) -> list[list[str]]:
    """What the numbers of Table 2 are called for a model: [2][tolerances] for C1 and C2; not all are printed."""
    row = {"federated": f"n{n}", "summed": f"n{n}, summed"}.get(kind, "central")
    return [[f"fedsciml.table2.{row}.C{i}.{t}" for t in TOLERANCES] for i in (1, 2)]


def measured(times: Mapping[tuple, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """(id, one value per seed) of the federations and of the centralised model with most observations, first of C1.

    times: model -> [seeds, 2, tolerances].
    """
    *_, most = (m for m in times if m[0] not in GAINS)
    for i in (0, 1):
        for model in [m for m in times if m[0] == "federated"] + [most]:
            yield from zip(ids(*model)[i], times[model][:, i].T, strict=True)


def printed_times(models: Iterable[tuple[str, int]]) -> dict[tuple, np.ndarray]:
    """Table 2 as printed: model -> [2, tolerances] in thousands, NaN for blank cells and for models that it lacks."""
    known = {id: number.value for id, number in paper_numbers().items()}
    return {m: np.array([[known.get(id, np.nan) for id in row] for row in ids(*m)]) for m in models}


def settling_table(times: Mapping[tuple, np.ndarray], printed: Mapping[tuple, np.ndarray]) -> tuple[list, list]:
    """Header and rows of the table beside ``settling_times``."""
    header = ["within", *(f"{who}, {t} %" for who in ("paper", "ours") for t in TOLERANCES)]
    cells = [(i, model, (*printed[model][i], *times[model][i])) for i in (0, 1) for model in times]
    text = [[f"{v:.3g}" if np.isfinite(v) else "-" for v in values] for *_, values in cells]
    return header, [[f"C{i + 1}, {label(*model)}", *row] for (i, model, _), row in zip(cells, text, strict=True)]


def settling_times(times: Mapping[tuple, np.ndarray], printed: Mapping[tuple, np.ndarray]) -> Figure:
    """Epochs until each coefficient stays within each tolerance (%) of the truth, printed and ours (Table 2).

    Args:
        times, printed: model -> [2, tolerances] in thousands, not finite for never.
    """
    fig, axes = panels(1, 2, size=(3.6, 2.8), sharey=True)
    at, styles = range(len(TOLERANCES)), model_styles(list(times))
    for i, ax in enumerate(axes[0]):
        for model, ours in times.items():
            style = {"marker": "o", "ms": 5} | {k: v for k, v in styles[model].items() if k != "markevery"}
            if np.isfinite(printed[model]).any():
                ax.plot(at, printed[model][i], **(style | {"ls": "--", "lw": 0.8, "mfc": "none"}),
                        label=f"{label(*model)}, paper")  # fmt: skip
            ax.plot(at, np.where(np.isfinite(ours[i]), ours[i], np.nan), label=label(*model), **style)
        ax.set(xlabel="within (%)", title=f"$C_{i + 1}$", xticks=at, xticklabels=TOLERANCES)
        ax.set_xlim(-0.3, len(TOLERANCES) - 0.7)
        log_axis(ax.yaxis)
    axes[0, 0].set_ylabel("epochs to stay there (thousands)")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return fig


def paper_table(result: Mapping) -> tuple[list, list]:
    """Header and rows of what a committed result with one seed says: times, where C ends, the pressure's error."""
    known, metrics, rows = {c["id"]: c for c in comparisons_of(result)}, result["metrics"], []
    for name, (C,) in metrics["coefficients"].items():
        kind, n = name.split()
        row = [label(kind, int(n))]
        for numbers, c, true in zip(ids(kind, int(n)), C, TRUTH, strict=True):
            sides = [[known.get(id, {}).get(side) for id in numbers] for side in ("paper", "ours")]
            times = [", ".join(f"{v:g}" if v else "-" for v in side) for side in sides]
            row += [*(times if kind != "centralised" else ("", "")), f"{100 * (c / true - 1):+.2g} %"]
        rows.append([*row, f"{metrics['error_percent'][name]['p'][0]:.2g} %"])
    of_C = [f"C{i}, {what}" for i in (1, 2) for what in ("printed", "ours", "ends at")]
    return ["within 10, 5, 1, 0.5 %", *of_C, "pressure, e"], rows


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
