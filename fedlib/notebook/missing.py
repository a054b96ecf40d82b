"""What is not trained yet, what it would cost, and training it in the time that there is."""

import time
from collections.abc import Mapping
from types import ModuleType
from typing import NamedTuple

from .trainings import (
    Call,
    Computed,
    OutOfTime,
    calls_of,
    compute_missing,
    cpu_seconds,
    difference,
    file_of,
    folder_of,
    read,
    read_call,
    read_computed,
    settings_of,
    train_missing,
)


def row_seconds(name: str, call: Call, notebook: str) -> float | None:
    """Core-seconds of a row of these settings, from those that ran; else of other settings of the same experiment, per
    local step; None where nothing of it ever ran."""
    settings, rates = settings_of(call), {}
    for stack in read(file_of(folder_of(notebook), name)):
        per_step = stack.about["cpu_seconds"] / len(stack.history.rows) / steps(stack.settings)
        rates.setdefault(bool(difference(settings, stack.settings)), []).append(per_step)
    rate = rates.get(False) or rates.get(True)
    return steps(settings) * sum(rate) / len(rate) if rate else None


def steps(settings: Mapping) -> int:
    """Local steps of a client in all."""
    return settings["resolved"]["rounds"] * settings["resolved"]["local"][0]


class Missing(NamedTuple):
    """What is not there yet. rows: how many, of how many; core_hours: of them all, None where nothing ever ran."""

    name: str
    call: Call | Computed
    rows: int
    of: int
    core_hours: float | None


def missing(room: ModuleType) -> list[Missing]:
    """All that a room's paper profile trains and that is not stored, the cheapest row first, what never ran last."""
    absent = []
    for name, call in calls_of(room).items():
        path = file_of(folder_of(room.NOTEBOOK), name)
        if isinstance(call, Computed):
            if read_computed(call, path)[0] is None:
                absent.append(Missing(name, call, 1, 1, sum(cpu_seconds(path)) / 3600 if path.exists() else None))
            continue
        _, rows = read_call(call, path)
        if rows:
            each = row_seconds(name, call, room.NOTEBOOK)
            hours = None if each is None else each * len(rows) / 3600
            absent.append(Missing(name, call, len(rows), len(call.rows()), hours))
    return sorted(absent, key=lambda of: float("inf") if of.core_hours is None else of.core_hours / of.rows)


def lines(room: ModuleType) -> list[str]:
    """What ``python -m fedlib missing`` prints of a room."""
    there = missing(room)
    if not there:
        return [f"{room.NOTEBOOK}: all of it is trained"]
    text = [
        f"  {of.name:52} {of.rows:4} of {of.of:4} rows   "
        + ("nothing of it ever ran" if of.core_hours is None else f"{of.core_hours:8.2f} core-hours")
        for of in there
    ]
    return [f"{room.NOTEBOOK}, python -m fedlib train {room.NOTEBOOK}:", *text]


def train(room: ModuleType, hours: float | None = None, only: str = "", **train_args) -> str:
    """Train what is missing, the cheapest row first, for so many hours; what is interrupted goes on the next time.

    only: names that begin so. Returns a line that says how far it came.
    """
    until = time.monotonic() + 3600 * hours if hours else float("inf")
    todo = [(name, call) for name, call, *_ in missing(room) if name.startswith(only)]
    for name, call in todo:
        began = time.monotonic()
        path = file_of(folder_of(room.NOTEBOOK), name)
        try:
            if isinstance(call, Computed):
                compute_missing(call, path)
            else:
                train_missing(call, path, until, **train_args)
        except OutOfTime as error:
            return f"out of time: {error}"
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    return f"{len(todo)} trainings are there now" if todo else "nothing was missing"
