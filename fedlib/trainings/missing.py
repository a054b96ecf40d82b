"""What is not trained yet, what it would cost, and training it in the time that there is."""

import time
from types import ModuleType
from typing import NamedTuple

from ..federated.checkpoints import OutOfTime
from ..files import Unreadable
from .calls import Task
from .store import Name, calls_of, file_of, folder_of, in_words


class Missing(NamedTuple):
    """What is not there yet. absent: how many of its rows; core_hours: of them, None where nothing ever ran.

    unreadable: what is wrong with its file, of which nobody knows what it has; then rows and core_hours are 0 and None.
    """

    name: Name
    call: Task
    absent: int
    rows: int
    core_hours: float | None
    unreadable: str = ""


def missing(study: ModuleType) -> list[Missing]:
    """What a study trains at the paper's settings and has not stored, the cheapest row first, what never ran last."""
    lacks = []
    for name, call in calls_of(study).items():
        path = file_of(folder_of(study.NOTEBOOK), name)
        try:
            _, absent, rows, _ = call.read(path)
            seconds = call.core_seconds(path) if absent else 0.0
        except Unreadable as error:
            lacks.append(Missing(name, call, 0, 0, None, str(error)))
            continue
        if absent:
            lacks.append(Missing(name, call, len(absent), rows, None if seconds is None else seconds / 3600))
    return sorted(lacks, key=lambda lack: float("inf") if lack.core_hours is None else lack.core_hours / lack.absent)


def lines(study: ModuleType) -> list[str]:
    """What ``python -m fedlib missing`` prints of a study."""
    lacks = missing(study)
    if not lacks:
        return [f"{study.NOTEBOOK}: all of it is trained"]
    text = [
        f"  {in_words(lack.name):52} {lack.absent:4} of {lack.rows:4} rows   {cost(lack)}"
        for lack in lacks
        if lack.absent
    ]
    text += dict.fromkeys(f"  {lack.unreadable}" for lack in lacks if lack.unreadable)  # several may be in one file
    return [f"{study.NOTEBOOK}, python -m fedlib train {study.NOTEBOOK}:", *text]


def cost(lack: Missing) -> str:
    return "nothing of it ever ran" if lack.core_hours is None else f"{lack.core_hours:8.2f} core-hours"


def train(study: ModuleType, hours: float | None = None, only: str = "", **train_args) -> str:
    """Train what is missing, the cheapest row first, for so many hours; what is interrupted goes on the next time.

    only: names that begin so. A file that cannot be read is named and left as it is. Returns a line that says how far
    it came.

    Raises:
        ValueError: no name begins so, the disk is full, or the folder cannot be written.
    """
    names = [in_words(name) for name in calls_of(study)]
    if only and not any(name.startswith(only) for name in names):
        raise ValueError(f"nothing of {study.NOTEBOOK} begins with {only!r}; it has: {'; '.join(names)}")
    until = time.monotonic() + 3600 * hours if hours else float("inf")
    todo, count = [lack for lack in missing(study) if in_words(lack.name).startswith(only)], 0
    for lack in todo:
        began, path = time.monotonic(), file_of(folder_of(study.NOTEBOOK), lack.name)
        try:
            lack.call.fill(path, until, **train_args)
        except OutOfTime as error:
            return f"out of time: {error}"
        except Unreadable as error:  # or its checkpoint
            print(f"{in_words(lack.name)}: {error}", flush=True)
            continue
        except OSError as error:  # a full disk: the next training would only end in the same way
            raise ValueError(
                f"{in_words(lack.name)}: {error}; what is kept of it goes on with the same command"
            ) from None
        print(f"{in_words(lack.name)}: {time.monotonic() - began:.0f} s", flush=True)
        count += 1
    if not todo:
        return "nothing was missing"
    return f"{count} trainings are there now" + f"; {len(todo) - count} are not, see above" * (count < len(todo))
