"""A rule's rate and knob, walked up and down a ladder on validation data; then all seeds with what was chosen."""

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray

from ..federated.experiment import Experiment
from ..federated.rules import RULES
from .drift_study import Trained, run


class Found(NamedTuple):
    """A rule on a task, with the setting that validation data chose.

    grid: (rate, knob) -> validation errors (%) of the seeds that searched [S'], infinite where a training diverged.
    parts: the stacks with the chosen setting, that of the seeds that searched first; none if all settings diverged.
    """

    grid: dict[tuple[float, float], np.ndarray]
    parts: tuple[Trained, ...]

    def chosen(self) -> tuple[float, float]:
        """The rate and the knob with the smallest mean validation error."""
        return least(self.grid)

    def error(self) -> np.ndarray:
        """Test errors (%) in the end with what was chosen [S]; infinite if every setting diverged."""
        return np.concatenate([part.last()[self.chosen()] for part in self.parts] or [self.grid[self.chosen()]])

    def path(self) -> xarray.DataArray:
        """Test errors (%) on the way [seed, round] with what was chosen."""
        return xarray.concat([part.path(self.chosen()) for part in self.parts], "seed")

    def bytes(self, rounds) -> np.ndarray:
        """What all clients together have sent up after so many rounds (bytes, float32)."""
        return self.parts[0].bytes(rounds)

    def by_rate(self) -> dict[float, float]:
        """Mean validation errors (%) of the grid, with each rate's best knob."""
        means = {at: float(np.mean(errors)) for at, errors in self.grid.items()}
        return {lr: min(e for at, e in means.items() if at[0] == lr) for lr in sorted({lr for lr, _ in means})}


def stored(values):
    """Nested dicts of numbers for a result file, which has None for what diverged."""
    if isinstance(values, Mapping):
        return {name: stored(value) for name, value in values.items()}
    return [x if np.isfinite(x) else None for x in np.ravel(values).tolist()]


def restored(values):
    """What ``stored`` was given, each number an array."""
    if isinstance(values, Mapping):
        return {name: restored(value) for name, value in values.items()}
    return np.array([np.inf if x is None else x for x in np.ravel(np.array(values, object))], float)


def combined(results: Iterable[Mapping]) -> tuple[dict, dict]:
    """What several result files of notebook 11 know of the same problems, each with a ladder or rules of its own.

    Returns problem -> rule -> {rate: validation error (%)}, of all ladders together; and problem -> rule -> test errors
    (%) [S] of the result whose ladder has the smallest validation error.
    """
    grid, errors, best = {}, {}, {}
    for metrics in results:
        tested = restored(metrics["error_percent"])
        for name, rules in restored(metrics["grid"]).items():
            for rule, of in rules.items():
                known = grid.setdefault(name, {}).setdefault(rule, {})
                known |= {float(lr): float(e[0]) for lr, e in of.items() if float(lr) not in known}
                lowest, at = min(e[0] for e in of.values()), (name, rule)
                if rule in tested.get(name, {}) and (at not in best or lowest < best[at]):
                    best[at] = lowest
                    errors.setdefault(name, {})[rule] = tested[name][rule]
    return grid, errors


def least(grid: Mapping[tuple[float, float], np.ndarray]) -> tuple[float, float]:
    """The setting with the smallest mean error."""
    return min(grid, key=lambda at: np.mean(grid[at]))


def next_rates(lrs: Sequence[float], best: float | None, known: Sequence[float]) -> list[float]:
    """First the middle of an ascending ladder, one rate or two; then the best one's neighbours that are not known."""
    at = (len(lrs) - 1) // 2 if best is None else lrs.index(best)
    wanted = lrs[at : len(lrs) // 2 + 1] if best is None else lrs[max(0, at - 1) : at + 2]
    return [lr for lr in wanted if lr not in known]


def search(
    experiment: Experiment, level: Hashable, seeds: Sequence[int], name: str, lrs: Sequence[float], searched: int = 2,
    **run_args,
) -> Found:  # fmt: skip
    """Choose a rule's rate and knob with the first seeds, and train the others with them.

    The walk ends where the best rate was tried between its neighbours, or stands at an end. Every rate is tried with
    all knobs. A setting that diverges with any seed is out.

    Args:
        lrs: the ladder of rates. searched: how many seeds choose. run_args: of ``drift_study.run``.
    """
    lrs, few, rest, problem = sorted(lrs), seeds[:searched], seeds[searched:], (experiment, level)
    knobs, grid, stacks = RULES[name].knobs if name in RULES else (0.0,), {}, {}
    while new := next_rates(lrs, least(grid)[0] if grid else None, [lr for lr, _ in grid]):
        for knob in knobs:
            stacks |= trained(*problem, few, name, new, knob, **run_args)
        for at in [(lr, knob) for lr in new for knob in knobs]:
            grid[at] = stacks[at].last("validation error")[at] if at in stacks else np.full(len(few), np.inf)
    while np.isfinite(grid[at := least(grid)]).all():
        others = trained(*problem, rest, name, at[:1], at[1], **run_args) if rest else {at: None}
        if others:
            return Found(grid, tuple(part for part in (stacks[at], others[at]) if part))
        grid[at] = np.full(len(few), np.inf)
    return Found(grid, ())


def trained(
    experiment: Experiment, level, seeds: Sequence[int], name: str, lrs: Sequence[float], knob: float, **run_args
) -> dict[tuple, Trained]:
    """(rate, knob) -> the stack of all rates; without those that diverge with any seed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*lower lr")  # a search is told by its errors
        try:
            (stack,) = run(experiment, level, seeds, name, lrs, knobs=[knob], **run_args)
        except FloatingPointError:  # of all of them
            return {}
    errors = stack.last("validation error")
    return {(lr, knob): stack for lr in lrs if np.isfinite(errors[lr, knob]).all()}
