"""Claims as data: (quantity, relation, quantity or bound), judged by one function that writes both numbers.

A quantity is a function of a room's results that gives a labelled array, with "seed" among its axes where it rests on
any, or a number. None, or a label that is not there, says that it is not trained. What is no comparison is a function
``(results) -> Verdict | None`` instead.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import xarray
from scipy.stats import spearmanr

from ..numerics.metrics import mean_and_interval, mean_sd
from .claims import LEARNT, Seeded, Verdict, fewest

RHO, LEVELS = 0.8, 5
"""Least rank correlation of what grows, and least number of levels: of the orders of five levels one in 15 reaches 0.8
by chance, but of those of four, or of three, one in six."""

POSITIVE = 0.5
"""Least rank correlation of what goes with something, which is less than to grow."""

RATIO = 2
"""What is within so many times another error agrees with it."""

NEAR = 0.15
"""What is off by less than this share is near."""

ROUNDING = 1e-13
"""What is smaller is rounding."""

SHOWN = 4
"""Numbers that a verdict writes out; of more places it counts those where the relation holds."""


def judged(claim: tuple | Callable, results: Any) -> Verdict | None:
    """What results say of a claim; None: nothing, for what it rests on is not trained.

    claim: (quantity, relation, bound), a key of ``RELATIONS`` in the middle, or a function of results.
    """
    if callable(claim):
        return claim(results)
    quantity, relation, bound = claim
    try:
        one, other = value(quantity, results), value(bound, results)
    except (KeyError, AttributeError):  # a label, or an array, that is not there
        return None
    return None if one is None or other is None else RELATIONS[relation](one, other)


def seeds(claim: tuple | Callable, results: Any) -> int | None:
    """On how many seeds a claim that was judged rests at least; None: on no random number."""
    if callable(claim):
        return claim.seeds(results) if isinstance(claim, Seeded) else None
    quantity, relation, bound = claim
    sides = [value(one, results) for one in (quantity, *(bound if isinstance(bound, tuple) else [bound]))]
    arrays = [side for side in sides if isinstance(side, xarray.DataArray) and "seed" in side.dims]
    if relation.startswith("surely"):  # in pairs
        arrays = xarray.align(*arrays, join="inner", exclude={dim for one in arrays for dim in one.dims} - {"seed"})
    return fewest(*arrays) if arrays else None


def value(quantity: Any, results: Any) -> Any:
    """Of a quantity, of a pair of them, or of a bound, which is its own value; None: without any number."""
    if isinstance(quantity, tuple):
        pair = tuple(value(one, results) for one in quantity)
        return None if any(one is None for one in pair) else pair
    single = quantity(results) if callable(quantity) else quantity
    empty = isinstance(single, xarray.DataArray) and not single.notnull().any()
    return None if empty else single


def middle(values: xarray.DataArray | float) -> xarray.DataArray:
    """Means over seeds; medians where attrs["middle"] is "median", as of seeds that fall into two groups."""
    values = values if isinstance(values, xarray.DataArray) else xarray.DataArray(values)
    if "seed" not in values.dims:
        return values
    return values.median("seed") if values.attrs.get("middle") == "median" else values.mean("seed")


# relations: two sides -> Verdict


def compared(sign: str, one: xarray.DataArray | float, other: xarray.DataArray | float) -> Verdict | None:
    """One side is below ("<") or above (">") the other, in means over seeds, wherever both are."""
    means = xarray.align(middle(one), middle(other), join="inner")
    a, b = xarray.broadcast(*means)
    both = (a.notnull() & b.notnull()).values
    if not both.any():
        return None
    right = (a < b if sign == "<" else a > b).values[both]
    if right.size > SHOWN:
        return Verdict(bool(right.all()), places(right, a))
    left, bound = (in_words(side, mean, mean.notnull().values) for side, mean in zip((one, other), means, strict=True))
    return Verdict(bool(right.all()), f"{left} {opposite(sign, right)} {bound}")


def opposite(sign: str, right: np.ndarray) -> str:
    """The sign that numbers bear: what fails is written as it is."""
    return sign if right.all() else f"not all {sign}" if right.size > 1 else "≥" if sign == "<" else "≤"


def places(right: np.ndarray, values: xarray.DataArray) -> str:
    """ "5 of 7 levels"."""
    return f"{right.sum()} of {right.size} {'levels' if values.dims == ('level',) else 'places'}"


def in_words(side: xarray.DataArray | float, means: xarray.DataArray, both: np.ndarray) -> str:
    """A side as text, with its st.dev. over seeds where it is one number; a bound once."""
    if not isinstance(side, xarray.DataArray):
        return number(side)
    units = f" {side.attrs['units']}" if "units" in side.attrs else ""
    numbers = means.values[both]
    spread = ""
    if numbers.size == 1 and side.dims == ("seed",) and side.notnull().sum() > 1:
        spread = f" ± {mean_sd(side.dropna('seed').values)[1]:.2g}"
    return ", ".join(map(number, numbers)) + spread + units


def number(x: float) -> str:
    """With three digits; of rounding, which is another on every machine, that it is this."""
    return "rounding" if 0 < abs(x) < ROUNDING else f"{x:.3g}"


def surely(sign: str, one: xarray.DataArray, other: xarray.DataArray | float) -> Verdict | None:
    """The same beyond the seeds: the 95 % interval of the difference, seed by seed, excludes zero, at every place; of
    positive errors that of their ratio, unless attrs["scale"] is "linear"."""
    paired = isinstance(other, xarray.DataArray) and "seed" in other.dims
    a, b = xarray.broadcast(*xarray.align(one, xarray.DataArray(other), join="inner"))
    logs = paired and one.attrs.get("scale") != "linear" and bool((a > 0).any() and not (a <= 0).any())
    gaps = (np.log(a) - np.log(b) if logs else a - b).transpose(..., "seed").values.reshape(-1, a.sizes["seed"])
    gaps = [gap[~np.isnan(gap)] for gap in gaps if not np.isnan(gap).all()]
    if not gaps:
        return None
    if diverged := sum(int(np.isinf(gap).sum()) for gap in gaps):  # of these nobody is sure
        return Verdict(False, f"{diverged} diverged")
    intervals = [mean_and_interval(gap) for gap in gaps]
    if any(np.isnan(low) for _, low, _ in intervals):
        return Verdict(None, "one seed has no interval")
    right = np.array([high < 0 if sign == "<" else low > 0 for _, low, high in intervals])
    shown = [[f"{np.exp(x) if logs else x:.2g}" for x in interval] for interval in intervals]
    gap = ", ".join(f"{mean} [{low}, {high}]" for mean, low, high in shown)
    means = f"{in_words(one, *some(one))} against {in_words(other, *some(other))}, " if len(intervals) == 1 else ""
    return Verdict(bool(right.all()), f"{means}{'ratio' if logs else 'difference'} {gap}")


def some(side: xarray.DataArray | float) -> tuple[xarray.DataArray, np.ndarray]:
    """Means over seeds, and where there are any."""
    means = middle(side)
    return means, means.notnull().values


def moves(low: float, high: float, values: xarray.DataArray, along: str) -> Verdict:
    """Spearman's rank correlation of values [..., level] (means over seeds) with what stands beside or at the levels,
    such as the clients' "distance", is low to high for each of the other axes; None: of fewer than LEVELS levels."""
    means = middle(values)
    dim = means[along].dims[0]
    if means.sizes[dim] < LEVELS:
        return Verdict(None, f"{means.sizes[dim]} of at least {LEVELS} levels")
    rho = correlations(means, along)
    holds = all(low - ROUNDING <= r <= high + ROUNDING for r in rho)
    return Verdict(holds, f"rank correlation {', '.join(f'{r:.2f}' for r in rho)}")


def correlations(values: xarray.DataArray, along: str) -> list[float]:
    """Spearman's rank correlation of values [..., level] with a coordinate of the levels, one of each series."""
    dim = values[along].dims[0]
    series = values.transpose(..., dim).values.reshape(-1, values.sizes[dim])
    return [float(spearmanr(values[along].values, one).statistic) for one in series]


def steps(sign: int, values: xarray.DataArray, along: str) -> Verdict:
    """Every step along an axis goes up (1) or down (-1), for each of the other axes; None: there is no step."""
    means = middle(values).transpose(..., along)
    if means.sizes[along] < 2:
        return Verdict(None, "one place has no step")
    rows = means.values.reshape(-1, means.sizes[along])
    right = sign * np.diff(rows) > 0
    if right.shape[1] > SHOWN:
        ends = zip(rows[:, 0], rows[:, -1], right.sum(1), strict=True)
        words = [f"{first:.3g} to {last:.3g}, {good} of {right.shape[1]} steps" for first, last, good in ends]
    else:
        words = [", ".join(f"{v:.3g}" for v in row) for row in rows]
    return Verdict(bool(right.all()), "; ".join(words))


def between(errors: xarray.DataArray, ends: tuple[xarray.DataArray, xarray.DataArray]) -> Verdict:
    """At every level an error (%) is between two others, the smaller one first, which must have learnt something.

    Means over seeds, with one st.dev. of slack on both sides of each inequality: m_c - s_c <= m_f + s_f, and
    m_f - s_f <= m_a + s_a. So it fails only where the intervals m +- s are apart.
    """
    (centre, c), (fed, f), (alone, a) = (mean_sd(side, "seed") for side in (ends[0], errors, ends[1]))
    inside = ((centre - c <= fed + f) & (fed - f <= alone + a) & (centre < LEARNT)).values
    return Verdict(bool(inside.all()), places(inside, fed))


def agrees(error: xarray.DataArray, other: xarray.DataArray) -> Verdict:
    """An error (%) is within RATIO times another one, and has learnt something."""
    one, two = middle(error).item(), middle(other).item()
    return Verdict(one <= RATIO * two and one < LEARNT, f"ratio {one / two:.2f}")


def within(values: xarray.DataArray | float, bounds: tuple[float, float]) -> Verdict:
    """Means over seeds lie between two numbers."""
    means = middle(values)
    inside = bool(((bounds[0] < means) & (means < bounds[1])).all())
    return Verdict(inside, f"{in_words(values, *some(values))}; {bounds[0]:g} to {bounds[1]:g}")


def near(values: xarray.DataArray | float, wanted: xarray.DataArray | float) -> Verdict:
    """Means over seeds are within a share of what they should be, everywhere."""
    means, goal = middle(values), middle(wanted)
    words = f"{in_words(values, *some(values))} for {in_words(wanted, *some(wanted))}"
    return Verdict(bool((abs(means / goal - 1) < NEAR).all()), words)


RELATIONS: dict[str, Callable[[Any, Any], Verdict | None]] = {
    **{sign: partial(compared, sign) for sign in "<>"},
    **{f"surely {sign}": partial(surely, sign) for sign in "<>"},
    "grows with": partial(moves, RHO, 1.0),
    "goes with": partial(moves, POSITIVE, 1.0),
    "has no trend with": partial(moves, 1e-9 - RHO, RHO - 1e-9),  # what has RHO grows
    "rises along": partial(steps, 1),
    "falls along": partial(steps, -1),
    "between": between,
    "agrees with": agrees,
    "within": within,
    "near": near,
}
"""Words of a claim -> what they ask of a quantity and what stands on the right."""
