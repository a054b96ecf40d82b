"""How far a prediction is from the truth, and what is said of several runs: every "±" of this project."""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit
from torch import Tensor


def relative_l2(prediction: Tensor, truth: Tensor) -> Tensor:
    """||truth - prediction|| / ||truth|| over the last axis; dimensionless."""
    return (truth - prediction).norm(dim=-1) / truth.norm(dim=-1)


def percent(prediction: np.ndarray, truth: np.ndarray) -> float:
    """Relative L2 error of all numbers together, in %; in float64, for differences of small integers wrap around."""
    prediction, truth = np.asarray(prediction, float), np.asarray(truth, float)
    return 100 * np.linalg.norm(prediction - truth) / np.linalg.norm(truth)


def mean_sd(values: Sequence, axis: int | str = 0) -> tuple:
    """Mean and st.dev. over an axis (seeds): sd^2 = sum (v - mean)^2 / (n - 1).

    One value says nothing of a spread: its st.dev. is given as 0, so that comparisons with a st.dev. of slack still
    hold or fail; texts and pictures leave it out.

    Args:
        values [..., n, ...], any unit. axis: a number, or the name of a dimension of a labelled array.

    Returns two arrays without that axis (labelled ones of a labelled one), or two numbers.
    """
    values = values if isinstance(axis, str) else np.asarray(values)
    n = values.sizes[axis] if isinstance(axis, str) else values.shape[axis]
    if n == 0:
        raise ValueError("mean_sd of no values: give at least one run (is a filter or a list of seeds empty?)")
    return values.mean(axis), values.std(axis, ddof=min(1, n - 1))


def plus_minus(values: Sequence, digits: int = 3) -> str:
    """ "mean ± st.dev." of all values (seeds; or clients and seeds) as text; the mean alone where there is one."""
    mean, sd = mean_sd(np.ravel(values))
    return f"{mean:.{digits}f}" + (f" ± {sd:.{digits}f}" if np.size(values) > 1 else "")


def in_percent(e: float) -> str:
    """An error e in % as readers get it: two digits, no exponent ("0.29 %", "34 000 %"); "-" where there is none."""
    if not 0 <= e < inf:
        return "-"
    if e < 1e-4:
        return "below 0.0001 %"
    rounded = f"{e:.1e}"
    decimals = max(0, 1 - int(rounded.partition("e")[2]))
    return f"{float(rounded):,.{decimals}f} %".replace(",", " ")


def two_digits(e: float) -> str:
    """An error (%) for those who check: as ``in_percent`` says it, and of the smallest, too, how small."""
    return in_percent(e).removesuffix(" %") if e >= 1e-4 else f"{e:.1e}"


def mean_and_interval(values: Sequence) -> tuple[float, float, float]:
    """The mean of values [n], and where it lies with 95 % by Student's t: low, high; NaN of one value."""
    (mean, sd), n = mean_sd(values), len(values)
    half = stdtrit(n - 1, 0.975) * sd / n**0.5 if n > 1 else np.nan
    return mean, mean - half, mean + half


class Ratio(NamedTuple):
    """How many times as large one of two is, where that lies with 95 %, and how probable it is by chance, both ways."""

    mean: float
    low: float
    high: float
    p: float

    def __str__(self) -> str:
        return f"{self.mean:.2g} [{self.low:.2g}, {self.high:.2g}]"


def paired_ratio(values: Sequence, to: Sequence) -> Ratio:
    """The geometric mean of values [n] over others [n], paired (by seed), with Student's t on the logarithms.

    NaN where one of them diverged; without an interval of one pair.
    """
    logs = np.log(np.asarray(values, float) / np.asarray(to, float))
    n, (mean, low, high) = len(logs), mean_and_interval(logs)
    error = (high - low) / 2 / stdtrit(n - 1, 0.975)
    p = 2 * stdtr(n - 1, -abs(mean / error)) if error else np.nan
    return Ratio(*np.exp([mean, low, high]).tolist(), float(p))


def after_holm(p: Sequence, limit: float = 0.05) -> np.ndarray:
    """Which of several tests [n] still hold when all are looked at: the k-th smallest p must be below limit / (n - k),
    k = 0, 1, ..., and so all before it (Holm, Scand. J. Statist. 6, 1979)."""
    p = np.asarray(p, float)
    order = np.argsort(p)
    below = p[order] < limit / np.arange(len(p), 0, -1)
    held = np.zeros(len(p), bool)
    held[order] = np.logical_and.accumulate(below)
    return held


def interval(values: Sequence[float], scale: str = "log") -> tuple[float, float]:
    """Where one more run of ours lies with 95 %: m -+ t(0.975, n - 1) s sqrt(1 + 1/n), of the logarithms for "log"."""
    x = np.log(values) if scale == "log" else np.asarray(values, float)
    (m, s), n = mean_sd(x), len(x)
    half = stdtrit(n - 1, 0.975) * s * (1 + 1 / n) ** 0.5
    low, high = m - half, m + half
    return (float(np.exp(low)), float(np.exp(high))) if scale == "log" else (float(low), float(high))
