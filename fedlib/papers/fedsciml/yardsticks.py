"""The yardsticks of FedSciML: what the paper says of several problems is judged in one way, in all of its rooms.

Errors are those after training [kind, level, seed] (%), as of ``sweep.errors(history)[-1]``; beside level stands the
clients' "distance", W1.
"""

import numpy as np
import xarray
from scipy.stats import spearmanr

from ...notebook.claims import LEARNT, Verdict
from ...numerics.metrics import mean_sd

RHO, LEVELS = 0.8, 5
"""Least rank correlation of what grows, and least number of levels: of the orders of five levels one in 15 reaches 0.8
by chance, but of those of four, or of three, one in six."""

POSITIVE = 0.5
"""Least rank correlation of what is "positively correlated", which is less than to grow."""

RATIO = 2
"""What is within so many times the centralised error agrees with it."""


def between(errors: xarray.DataArray, alone: str = "isolated") -> Verdict:
    """Q1: at every level the federated error lies between the centralised one and that of who is alone, a kind.

    Means over seeds, with one st.dev. of slack on both sides of each inequality: m_c - s_c <= m_f + s_f, and
    m_f - s_f <= m_a + s_a. So it fails only where the intervals m +- s are apart, or where m_c has learnt nothing.
    """
    mean, sd = mean_sd(errors, "seed")
    low, high = mean - sd, mean + sd
    inside = (low.sel(kind="centralised") <= high.sel(kind="federated")).values
    inside &= (low.sel(kind="federated") <= high.sel(kind=alone)).values
    inside &= (mean.sel(kind="centralised") < LEARNT).values
    return Verdict(bool(inside.all()), f"{inside.sum()} of {inside.size} levels")


def falls(errors: xarray.DataArray) -> Verdict:
    """Q2: the federated error, mean over seeds, falls with the clients' distance."""
    return grows(errors.sel(kind="federated").mean("seed"))


def grows(values: xarray.DataArray, least: float = RHO) -> Verdict:
    """Whether values [..., level] grow with the clients' distance: Spearman's rank correlation over the levels is
    ``least`` or more, for every one of the other axes. None: there are fewer than LEVELS."""
    if values.sizes["level"] < LEVELS:
        return Verdict(None, f"{values.sizes['level']} of at least {LEVELS} levels")
    rho = correlations(values)
    return Verdict(bool(np.min(rho) >= least), f"rank correlation {', '.join(f'{r:.2f}' for r in rho)}")


def correlations(values: xarray.DataArray) -> list[float]:
    """Spearman's rank correlation with the clients' distance of values [..., level], one of the other axes each."""
    series = values.transpose(..., "level").values.reshape(-1, values.sizes["level"])
    return [float(spearmanr(values.distance.values, one).statistic) for one in series]


def agrees(errors: xarray.DataArray, kind: str) -> Verdict:
    """Q3: at the finest level the error of a kind, mean over seeds, is within RATIO times the centralised one."""
    mean = errors.sel(level=errors.level.max()).mean("seed")
    error, centre = (mean.sel(kind=one).item() for one in (kind, "centralised"))
    return Verdict(error <= RATIO * centre and error < LEARNT, f"ratio {error / centre:.2f}")
