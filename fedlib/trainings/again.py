"""A stored training, again: its first rounds, for a notebook says so of one, or whole rows from nothing."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import NamedTuple

import numpy as np
import torch
import xarray
from torch import nn

from ..federated.sweep import Row, combinations, sweep
from ..numerics.metrics import interval
from .calls import NEAR, Call, Computed, Tolerance, alike, read
from .files import Stored
from .store import SHORT, calls_of, file_of, folder_of, in_words

ROUNDING = 10  # so many times what a start moves that differs by rounding
JUMP = 1000  # how much further than the others one client may be
LOCAL = 300  # steps, or passes, of a client
BRIEF = 100  # the same, where a notebook waits for it
EPS = torch.finfo(torch.float32).eps
STARTS = 1 + EPS, 1 - EPS, 1 + 2 * EPS, 1 - 2 * EPS  # times a start: it differs by rounding


def begin(study: ModuleType) -> float:
    """Train the first rounds of one federation that a study has stored, eager: the relative difference of losses, in
    what is allowed, see ``replay``; more than 1 is no rounding.

    The first stored row of the training that ``study.AGAIN`` names; where that was computed, all of it.
    """
    calls = calls_of(study)
    name = SHORT if SHORT in calls else study.AGAIN
    call, path = calls[name], file_of(folder_of(study.NOTEBOOK), name)
    if isinstance(call, Computed):
        return max(deviations(call.read(path).result, call.run(), call.tolerances).values())
    settings = call.settings()
    stack = next(stack for stack in read(path) if alike(stack, settings) and "converted" not in stack.about)
    key = next(key for key in stack.history.rows if key[0] == "federated" and key not in stack.history.diverged)
    changes = {**call.changes, **combinations(call.over)[key[3:]]}
    return replay(call._replace(over={}, changes=changes), stack, [Row(*key[:3])], call.near, BRIEF, STARTS[:1])


def replay(
    call: Call, stack: Stored, rows: Sequence[Row] | None = None, near: float = NEAR, steps: int = LOCAL,
    starts: Sequence[float] = STARTS,
) -> float:  # fmt: skip
    """Train the first rounds of a stored stack again: the relative difference of losses, in near; see ``difference``.

    Where it is beyond that, in near and ROUNDING times what two starts do that differ by rounding: hundreds of steps of
    Adam let rounding grow, on one machine too (other rows, other order of sums), and some of it jumps. What has grown
    in a round may stay so in the next ones. Three rounds, or fewer, but at least one, of ``steps`` of a client in all.

    call: its experiment, with the changes of this stack. rows: some of its rows (kind, level, seed); all by default.
    starts: factors of the start, for each of which all of it is trained once more where that is asked for.
    """
    stored = {Row(*key[:3]): key for key in stack.history.rows}  # of one setting
    rows = rows or [*stored]
    levels, seeds = ([*dict.fromkeys(labels)] for labels in ([row.level for row in rows], [row.seed for row in rows]))
    rounds = max(1, min(3, steps // call.experiment().local.updates))
    changes = {name: value for name, value in call.changes.items() if name != "evaluations"} | {"rounds": rounds}
    experiment = call.make(**call.arguments)._replace(distance=None, evaluate=None)

    def first_rounds(**more) -> dict[Row, np.ndarray]:
        again = sweep(
            experiment, levels, seeds, rows=rows, may_all_diverge=True, **changes | {"backend": "eager"} | more
        )
        return {Row(*key): again.losses[:, where] for key, where in again.rows.items() if Row(*key) in stored}

    old = {row: stack.history.losses[:rounds, stack.history.rows[key]] for row, key in stored.items()}
    new = first_rounds()
    moved = {row: difference(losses, old[row]) for row, losses in new.items()}
    if max(map(np.max, moved.values())) < near:
        return float(max(map(np.max, moved.values())) / near)
    init, twins = changes.get("init", experiment.init), []
    for factor in starts:
        twin = first_rounds(init=partial(scaled, init, factor))
        twins.append({row: difference(twin[row], losses) for row, losses in new.items()})
    grown = {row: np.maximum.accumulate(np.max([twin[row] for twin in twins], axis=0)) for row in new}
    return float(max(np.max(moved[row] / (near + ROUNDING * grown[row])) for row in moved))


def difference(now: np.ndarray, then: np.ndarray) -> np.ndarray:
    """Relative difference of losses [round, client] in each round: that of the median client, or of the worst one over
    JUMP. A setting that is another one moves all clients; rounding can make a single one jump, by a sign of a ReLU."""
    relative = np.abs(now - then) / np.abs(then)
    return np.maximum(np.nanmedian(relative, axis=1), np.nanmax(relative, axis=1) / JUMP)


def scaled(init: Callable, factor: float, layer: nn.Module, generator: torch.Generator) -> None:
    """The start of a layer, times a factor."""
    init(layer, generator)
    with torch.no_grad():
        for parameter in layer.parameters(recurse=False):
            parameter.mul_(factor)


def deviations(
    stored: xarray.Dataset, again: xarray.Dataset, tolerances: Mapping[str, Tolerance] = {}
) -> dict[str, float]:
    """What was stored beside what was computed again: the largest deviation of each variable, in its tolerances.

    Raises:
        ValueError: other coordinates or attributes, such as what was chosen.
    """
    attrs = {name: value for name, value in stored.attrs.items() if name not in ("settings", "about")}
    if not xarray.Dataset(attrs=attrs).identical(xarray.Dataset(attrs=again.attrs)):
        raise ValueError(f"attributes were {attrs} and are {again.attrs}")
    try:  # a power or a logarithm has another last digit on another CPU
        xarray.testing.assert_allclose(stored.coords.to_dataset(), again.coords.to_dataset(), rtol=1e-12, atol=0)
    except AssertionError:
        raise ValueError(f"coordinates were {dict(stored.coords)} and are {dict(again.coords)}") from None
    shares = {}
    for name, values in stored.data_vars.items():
        tolerance = tolerances.get(name, Tolerance())
        before, now = (v.head(tolerance.first).values for v in (values, again[name]))
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.abs(now - before) / (tolerance.absolute + tolerance.relative * np.abs(before))
        same = (now == before) | (np.isnan(now) & np.isnan(before))
        shares[name] = float(np.where(same, 0, np.where(np.isfinite(now), share, np.inf)).max(initial=0))
    return shares


class Whole(NamedTuple):
    """A row that was trained from nothing to its end. ours, stored: its last errors; others: those of the other seeds,
    the first metric."""

    name: str
    row: tuple
    metric: str
    ours: float
    stored: float
    others: Sequence[float]
    seconds: float

    @property
    def verdict(self) -> str:
        """What two numbers say: the same to rounding, or as one more seed of the stored ones could be."""
        if np.isclose(self.ours, self.stored, rtol=1e-3):
            return "the same"
        low, high = interval(self.others) if len(self.others) > 1 and min(self.others) > 0 else (np.nan, np.nan)
        if np.isnan(low):
            return "differs; not judged, one seed"
        return "as one more seed" if low <= self.ours <= high else "DIFFERS"


def rows_of(study: ModuleType, only: str = "") -> list[tuple[float, str, Call, tuple, Path]]:
    """The cheapest stored row of each training: (core-seconds, name, call, row, file)."""
    cheapest = []
    for name, call in calls_of(study).items():
        if not isinstance(call, Call) or not in_words(name).startswith(only):
            continue
        path, settings = file_of(folder_of(study.NOTEBOOK), name), call.settings()
        wanted, best = {*call.keys()}, (inf, None)
        for stack in [stack for stack in read(path) if alike(stack, settings) and "converted" not in stack.about]:
            cost = stack.about["cpu_seconds"] / len(stack.history.rows)
            rows = [key for key in stack.history.rows if key in wanted and key not in stack.history.diverged]
            best = min(best, (cost, rows[0] if rows else None), key=lambda pair: (pair[1] is None, pair[0]))
        if best[1] is not None:
            cheapest.append((best[0], f"{study.NOTEBOOK}: {in_words(name)}", call, best[1], path))
    return cheapest


def whole_row(name: str, call: Call, row: tuple, path: Path, **train_args) -> Whole:
    """A row from nothing, beside what is stored."""
    began = time.monotonic()
    with TemporaryDirectory() as folder:
        fresh = Path(folder) / path.name
        call.fill(fresh, rows=[row], **train_args)
        new, old = call.read(fresh).result, call.read(path).result
    metric = next(iter(new.metrics), None)

    def last(history, key) -> float:
        values = history.losses if metric is None else history.metrics[metric]
        return float(np.mean(values[-1, history.rows[key]]))

    others = [last(old, key) for key in old.rows if (*key[:2], *key[3:]) == (*row[:2], *row[3:])]
    return Whole(name, row, metric or "loss", last(new, row), last(old, row), others, time.monotonic() - began)


def whole_rows(studies: Iterable[ModuleType], minutes: float | None, only: str = "") -> Iterator[str]:
    """Rows from nothing, the cheapest of each training first, until so many minutes are over (None: one row): a line
    for each."""
    until = time.monotonic() + 60 * (minutes or 0)
    rows = sorted((row for study in studies for row in rows_of(study, only)), key=lambda row: row[0])
    yield f"{'training':56} {'row':36} {'again':>10} {'stored':>10}"
    trained = 0
    for _, name, call, row, path in rows if minutes else rows[:1]:
        if minutes and time.monotonic() > until:
            break
        one, trained = whole_row(name, call, row, path), trained + 1
        words = f"{one.verdict} ({one.metric}, {one.seconds:.0f} s)"
        yield f"{name:56} {', '.join(map(str, row)):36} {one.ours:10.4g} {one.stored:10.4g}  {words}"
    yield f"{trained} of {len(rows)} trainings, one row of each"
