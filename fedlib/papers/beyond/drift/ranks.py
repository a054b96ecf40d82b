"""How well a measure of heterogeneity puts levels in order, and how sure that is.

A table is a dataset with "error" (%) [level, seed] of a problem, and "number" [measure, level] or [measure, level,
seed] of what is measured there beforehand.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray
from scipy.stats import rankdata

from ....streams import stream


def orders(tables: Mapping[str, xarray.Dataset], draws: int = 4000) -> dict[str, xarray.Dataset]:
    """Name -> ``order`` of its table, each with draws of its own."""
    return {name: order(table, draws, key) for key, (name, table) in enumerate(tables.items())}


def order(table: xarray.Dataset, draws: int = 4000, key: int = 0) -> xarray.Dataset:
    """How well measures put levels in order, by Spearman's rank correlation with the median error over seeds.

    Of a number that seeds differ in the mean counts. key: of the draws.

    Returns:
        rank, drawn_rank [measure, draw]: the correlation, and what levels and seeds drawn with replacement give, the
        same ones for all measures; NaN of draws of one level only, which have no order. called [measure]: the level
        that a measure says is worst; worst: the one that is; sure: in which share of draws of seeds it is.
    """
    E = table.error.transpose("seed", "level").values
    M = table.number.broadcast_like(table.error).transpose("measure", "seed", "level").values
    (S, L), rng = E.shape, stream(0, "bootstrap", key)
    seeds, levels = rng.integers(S, size=(draws, S)), rng.integers(L, size=(draws, L))
    medians, means = np.median(E[seeds], 1), M[:, seeds].mean(2)
    drawn = spearman(np.take_along_axis(medians, levels, 1), np.take_along_axis(means, levels[None], 2))
    worst = int(np.median(E, 0).argmax())
    return xarray.Dataset(
        {
            "rank": ("measure", spearman(np.median(E, 0), M.mean(1))),
            "drawn_rank": (("measure", "draw"), drawn),
            "called": ("measure", table.level.values[M.mean(1).argmax(1)]),
            "worst": table.level.values[worst],
            "sure": (medians.argmax(1) == worst).mean(),
        },
        {"measure": table.measure.values},
    )


def gain(orders: Sequence[xarray.Dataset], measure: str) -> np.ndarray:
    """How much a measure's rank correlation exceeds that of W1, a mean over problems, with the ends of 95 % of draws:
    [value, low, high]."""
    value, drawn = (
        [(one[name].sel(measure=measure) - one[name].sel(measure="W1")).values for one in orders]
        for name in ("rank", "drawn_rank")
    )
    return np.array([np.mean(value), *np.nanquantile(np.mean(drawn, 0), [0.025, 0.975])])


def interval(value: float, low: float, high: float) -> str:
    """With both ends: +0.25 [-0.10, +0.60]."""
    return f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"


def spearman(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rank correlation along the last axis, ties at their mean rank; NaN where all are the same."""
    x, y = (rankdata(values, axis=-1) for values in (x, y))
    x, y = (values - values.mean(-1, keepdims=True) for values in (x, y))
    with np.errstate(invalid="ignore"):
        return (x * y).sum(-1) / np.sqrt((x**2).sum(-1) * (y**2).sum(-1))
