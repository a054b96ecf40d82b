"""What is not trained yet, what it would cost, and training it in the time that there is."""

import time
from collections.abc import Mapping
from types import ModuleType
from typing import NamedTuple

from ..files import Unreadable
from .store import (
    Call,
    Computed,
    OutOfTime,
    calls_of,
    compute_missing,
    cpu_seconds,
    differs,
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
        rates.setdefault(bool(differs(stack, settings)), []).append(per_step)
    rate = rates.get(False) or rates.get(True)
    return steps(settings) * sum(rate) / len(rate) if rate else None


def steps(settings: Mapping) -> int:
    """Local steps of a client in all."""
    return settings["resolved"]["rounds"] * settings["resolved"]["local"][0]


class Missing(NamedTuple):
    """What is not there yet. rows: how many, of how many; core_hours: of them all, None where nothing ever ran.

    unreadable: what is wrong with its file, of which nobody knows what it has; then rows and core_hours are 0 and None.
    """

    name: str
    call: Call | Computed
    rows: int
    of: int
    core_hours: float | None
    unreadable: str = ""


def missing(room: ModuleType) -> list[Missing]:
    """All that a room's paper profile trains and that is not stored, the cheapest row first, what never ran last."""
    absent = []
    for name, call in calls_of(room).items():
        try:
            lack = lacking(name, call, room.NOTEBOOK)
        except Unreadable as error:
            lack = Missing(name, call, 0, 0, None, str(error))
        absent += [lack] if lack.rows or lack.unreadable else []
    return sorted(absent, key=lambda lack: float("inf") if lack.core_hours is None else lack.core_hours / lack.rows)


def lacking(name: str, call: Call | Computed, notebook: str) -> Missing:
    """What a file has not of a call. Unreadable: the file is damaged, or in use."""
    path = file_of(folder_of(notebook), name)
    if isinstance(call, Computed):
        rows, count = int(read_computed(call, path)[0] is None), 1
        hours = sum(cpu_seconds(path)) / 3600 if path.exists() else None
    else:
        rows, count = len(read_call(call, path)[1]), len(call.rows())
        each = row_seconds(name, call, notebook)
        hours = None if each is None else each * rows / 3600
    return Missing(name, call, rows, count, hours)


def lines(room: ModuleType) -> list[str]:
    """What ``python -m fedlib missing`` prints of a room."""
    absent = missing(room)
    if not absent:
        return [f"{room.NOTEBOOK}: all of it is trained"]
    text = [f"  {lack.name:52} {lack.rows:4} of {lack.of:4} rows   {cost(lack)}" for lack in absent if lack.rows]
    text += dict.fromkeys(f"  {lack.unreadable}" for lack in absent if lack.unreadable)  # several may be in one file
    return [f"{room.NOTEBOOK}, python -m fedlib train {room.NOTEBOOK}:", *text]


def cost(lack: Missing) -> str:
    return "nothing of it ever ran" if lack.core_hours is None else f"{lack.core_hours:8.2f} core-hours"


def train(room: ModuleType, hours: float | None = None, only: str = "", **train_args) -> str:
    """Train what is missing, the cheapest row first, for so many hours; what is interrupted goes on the next time.

    only: names that begin so. A file that cannot be read is named and left as it is. Returns a line that says how far
    it came.

    Raises:
        ValueError: the disk is full, or the folder cannot be written.
    """
    until = time.monotonic() + 3600 * hours if hours else float("inf")
    todo, count = [lack for lack in missing(room) if lack.name.startswith(only)], 0
    for lack in todo:
        began, path = time.monotonic(), file_of(folder_of(room.NOTEBOOK), lack.name)
        try:
            if isinstance(lack.call, Computed):
                compute_missing(lack.call, path)
            else:
                train_missing(lack.call, path, until, **train_args)
        except OutOfTime as error:
            return f"out of time: {error}"
        except Unreadable as error:  # or its checkpoint
            print(f"{lack.name}: {error}", flush=True)
            continue
        except OSError as error:  # a full disk: the next training would only end in the same way
            raise ValueError(f"{lack.name}: {error}; what is kept of it goes on with the same command") from None
        print(f"{lack.name}: {time.monotonic() - began:.0f} s", flush=True)
        count += 1
    if not todo:
        return "nothing was missing"
    return f"{count} trainings are there now" + f"; {len(todo) - count} are not, see above" * (count < len(todo))
