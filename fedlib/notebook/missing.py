"""What is not trained yet, what it would cost, and training it in the time that there is."""

import time
from collections.abc import Mapping
from types import ModuleType

from .trainings import (
    Call,
    OutOfTime,
    calls_of,
    difference,
    file_of,
    folder_of,
    read,
    read_call,
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


def missing(room: ModuleType) -> list[tuple[str, Call, int, float | None]]:
    """(name, call, missing rows, core-hours of them or None), the cheapest row first, what never ran last."""
    found = []
    for name, call in calls_of(room).items():
        _, rows = read_call(call, file_of(folder_of(room.NOTEBOOK), name))
        if rows:
            each = row_seconds(name, call, room.NOTEBOOK)
            found.append((name, call, len(rows), None if each is None else each * len(rows) / 3600))
    return sorted(found, key=lambda of: float("inf") if of[3] is None else of[3] / of[2])


def lines(room: ModuleType) -> list[str]:
    """What ``python -m fedlib missing`` prints of a room."""
    there = missing(room)
    if not there:
        return [f"{room.NOTEBOOK}: all of it is trained"]
    text = [
        f"  {name:52} {rows:4} of {len(call.rows()):4} rows   "
        + ("nothing of it ever ran" if hours is None else f"{hours:8.2f} core-hours")
        for name, call, rows, hours in there
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
        try:
            train_missing(call, file_of(folder_of(room.NOTEBOOK), name), until, **train_args)
        except OutOfTime as error:
            return f"out of time: {error}"
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    return f"{len(todo)} trainings are there now" if todo else "nothing was missing"
