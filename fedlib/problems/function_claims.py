"""What the sweeps of functions say: the numbers of the paper's claims, and the errors in percent."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .function_levels import K_ALL
from .function_study import Sweep, ranks


class Numbers(NamedTuple):
    """Means over seeds.

    between: (levels where the claim holds, all levels) of the sweeps "1D", "x" and "x, printed". fine, fine_alone:
    error of the federation and of the better client alone at the finest 1D level, over the centralised one. coarse:
    error of the better client alone over the federation's at the coarsest. error_ranks, drift_ranks: of errors and of
    weight matrices with W1. by_K, gap_K [K, blocks]: error of K clients, and of the best one alone over it. adam, sgd:
    smallest error of the ablations.
    """

    between: list[tuple[int, int]]
    fine: float
    fine_alone: float
    coarse: float
    error_ranks: dict[str, float]
    drift_ranks: dict[str, float]
    by_K: np.ndarray
    gap_K: np.ndarray
    adam: float
    sgd: float


def numbers(sweeps: Mapping[str, Sweep], w1: Mapping, drift: Mapping, what_if: Mapping[str, np.ndarray]) -> Numbers:
    """``Numbers`` of the sweeps. w1, drift: of "1D" and "x". what_if: "as above", "SGD, ..." -> errors [S, L]."""
    fed, alone, central = sweeps["1D"].ways()
    w1_of = {"1D": w1["1D"], "x": w1["x"], "x, printed": w1["x"]}
    drifts = {f"{d} {W}": (w1[key], v) for d, key in (("1D", "1D"), ("2D", "x")) for W, v in drift[key].items()}
    by_K = np.stack([sweeps["xy"].errors("federated", K).mean(0) for K in K_ALL])
    alone_K = np.stack([sweeps["xy"].errors("isolated", K).min(-1).mean(0) for K in K_ALL])
    return Numbers(
        between=[sweeps[name].between() for name in w1_of],
        fine=fed[:, -1].mean() / central.mean(),
        fine_alone=alone[:, -1].mean(0).min() / central.mean(),
        coarse=alone[:, 0].min(1).mean() / fed[:, 0].mean(),
        error_ranks=ranks({name: (w, sweeps[name].errors("federated")) for name, w in w1_of.items()}),
        drift_ranks=ranks(drifts),
        by_K=by_K,
        gap_K=alone_K / by_K,
        adam=what_if["as above"].mean(0).min(),
        sgd=min(errors.mean(0).min() for name, errors in what_if.items() if name.startswith("SGD")),
    )


def listed(values: np.ndarray, digits: int) -> str:
    """values [K, blocks] as a line of text."""
    rows = (", ".join(f"{v:.{digits}f}" for v in row) for row in values)
    return "; ".join(f"K = {K}: {row}" for K, row in zip(K_ALL, rows, strict=True))


def in_percent(record: Mapping, level: tuple[int, int]) -> dict[str, np.ndarray]:
    """Relative errors (%) over seeds at a level of a ``Sweep.record``; of the clients alone that of the best one."""
    fed, alone, central = (
        100 * np.array(values)
        for values in (record["federated"][str(level)], record["isolated"][str(level)], record["central"])
    )
    return {"federated": fed, "best client alone": alone[:, alone.mean(0).argmin()], "centralised": central}
