"""What changed parameters ask for: rows that are neither stored nor the paper's, trained for some minutes and kept."""

import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from ..federated.checkpoints import OutOfTime
from ..federated.sweep import Key
from .calls import Call, Computed, Task
from .settings import CHANGED
from .store import Name, calls_of, file_of, folder_of, in_words


class Part(NamedTuple):
    """Rows that are trained together. seed: its place among those that a training lacks; core_s: inf where nothing
    like it ever ran."""

    seed: int
    core_s: float
    name: Name
    rows: Sequence[Key]


def folder_of_changes(notebook: str) -> Path:
    """Where rows of changed parameters are kept, apart from the committed ones."""
    return folder_of(notebook).parent / CHANGED / "trainings"


def asked(study: ModuleType, calls: Mapping[Name, Task], only: str = "") -> dict[Name, list[Key]]:
    """Name -> rows that are neither stored nor, at the paper's settings, will be. only: names that begin so."""
    paper, rows = calls_of(study), {}
    folders = folder_of(study.NOTEBOOK), folder_of_changes(study.NOTEBOOK)
    for name, call in calls.items():
        if in_words(name).startswith(only):
            absent = call.read(*(file_of(folder, name) for folder in folders)).absent
            theirs = planned(call, paper.get(name)) if absent else ()
            if lacks := [row for row in absent if row not in theirs]:
                rows[name] = lacks
    return rows


def planned(call: Task, paper: Task | None) -> Sequence[Key]:
    """The rows of a training of the paper's settings that have the settings of this one."""
    if type(paper) is not type(call):
        return ()
    if isinstance(call, Computed):
        return [()] * (call.settings() == paper.settings())
    ours, theirs = call.settings(), paper.settings()
    rows = paper.keys()
    return [key for key in rows if theirs[key[3:]] == ours.get(key[3:])]


def parts(calls: Mapping[Name, Task], rows: Mapping[Name, Sequence[Key]], folder: Path, longest: float) -> list[Part]:
    """What is trained one after the other: the first seed of everything, the cheapest first, then the second, ...

    folder: of the committed trainings, which tell what a row costs. longest: seconds; what takes more is trained row by
    row.
    """
    made = []
    for name, lacks in rows.items():
        path, call = file_of(folder, name), calls[name]
        if isinstance(call, Computed):
            made.append(Part(0, call.core_seconds(path) or 0.0, name, lacks))
            continue
        for i, seed in enumerate(dict.fromkeys(key[2] for key in lacks)):
            some = [key for key in lacks if key[2] == seed]
            cost = call.core_seconds(path, some)
            whole = cost is None or cost <= longest
            for group in [some] if whole else [[key] for key in some]:
                made.append(Part(i, inf if cost is None else cost * len(group) / len(some), name, group))
    return sorted(made, key=lambda part: part[:2])


def train(study: ModuleType, calls: Mapping[Name, Task], minutes: float, only: str = "", **train_args) -> str:
    """Train what is asked for, for at most so many minutes; a word on what there is now, and what all would take.

    What is interrupted goes on the next time.

    Raises:
        ValueError: not one row fits: the estimate, and what to make smaller.
    """
    rows, folder = asked(study, calls, only), folder_of(study.NOTEBOOK)
    todo = parts(calls, rows, folder, 60 * minutes)
    if not todo:
        return ""

    def fits(part: Part) -> bool:
        """What never ran is tried; so is what is computed, for the stored one tells nothing of other sizes."""
        tried = part.core_s == inf or isinstance(calls[part.name], Computed)
        return tried or part.core_s / len(part.rows) <= 60 * minutes

    if not any(map(fits, todo)):
        cheapest = min(part.core_s / len(part.rows) for part in todo)
        raise ValueError(
            f"the cheapest row of what was changed takes about {in_minutes(cheapest)}, and minutes = {minutes:g}; "
            "make rounds or local steps smaller, or minutes larger, or choose a training with only"
        )
    until, left = time.monotonic() + 60 * minutes, []
    for part in todo:
        if time.monotonic() > until or not fits(part):
            left.append(part)
            continue
        path = file_of(folder_of_changes(study.NOTEBOOK), part.name)
        try:
            if isinstance(calls[part.name], Call):
                calls[part.name].fill(path, until, rows=part.rows, **train_args)
            else:
                with ended(until):
                    calls[part.name].fill(path)
        except (OutOfTime, TimeoutError):
            left.append(part)
    return summary(todo, left)


def summary(todo: Sequence[Part], left: Sequence[Part]) -> str:
    """ "60 of 90 rows are trained, 2 seeds of everything; 17 more core-minutes for all"."""
    count, lacks = (sum(len(part.rows) for part in some) for some in (todo, left))
    words = f"{count - lacks} of {count} rows that were asked for are trained"
    if not left:
        return words
    cost = sum(part.core_s for part in left if part.core_s < inf)
    seeds = min(part.seed for part in left)
    words += f", {seeds} seeds of everything" * bool(seeds)
    return f"{words}; about {in_minutes(cost)} more for all: run it again, or with more minutes"


def in_minutes(seconds: float) -> str:
    """A time of one core."""
    return f"{seconds:.0f} core-seconds" if seconds < 90 else f"{seconds / 60:.0f} core-minutes"


@contextmanager
def ended(until: float) -> Iterator[None]:
    """TimeoutError when it is so late, where a system has such an alarm: of what is computed there is no checkpoint."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(until - time.monotonic(), 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
