"""Ways to learn together, side by side: what notebooks 13 and 14 both compare."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray

from ...numerics.metrics import two_digits
from ...trainings.store import stored
from .drift import study as drift

FLOAT32 = 4.0  # bytes of a number that networks send


class Way(NamedTuple):
    """A way to learn together. error (%) [round, seed], of notebook 13 at every level, too; bytes [round] that a client
    has sent by then. A round of what is in one place is an evaluation, or five steps of Adam."""

    error: xarray.DataArray
    bytes: xarray.DataArray


def network(error: xarray.DataArray, sent: float) -> Way:
    """Of a training in which a client sends so many numbers in a round."""
    error = error.reset_coords(drop=True).transpose("round", ..., "seed")
    return Way(error, FLOAT32 * sent * error["round"])


def joined(ways: Mapping[str, Way], x: str = "round") -> xarray.DataArray:
    """Errors (%) [way, x, seed] for ``pictures.curves``, NaN where a way has none; against levels those in the end."""
    errors = [way.error if x == "round" else way.error.isel(round=-1, drop=True) for way in ways.values()]
    table = xarray.concat(errors, xarray.Variable("way", [*ways]), join="outer")
    if x == "round":
        table[x].attrs["scale"] = "log"
    return table.rename(None).assign_attrs(long_name="error", units="%")


class Place(NamedTuple):
    """An error (%) of a problem in the end [seeds], by whom, and in how many rounds."""

    problem: str
    way: str
    error: Sequence[float]
    rounds: int
    bytes: float = 0.0  # that a client sends up, in all; of sums also for the features that were not chosen
    seconds: float | None = None  # of the CPU, of all clients and the server
    notebook: str = ""  # the other one that has trained it


PLACES = (
    "problem", "how", "notebook", "error (%), median", "smallest to largest", "seeds", "rounds", "MB a client sends",
    "CPU s",
)  # fmt: skip


def place_rows(places: Sequence[Place], notebook: str) -> list[list[str]]:
    """Rows of PLACES; notebook: of those that name no other one."""
    return [
        [
            place.problem, place.way, place.notebook or notebook, two_digits(np.median(place.error)),
            f"{two_digits(min(place.error))} to {two_digits(max(place.error))}", str(len(place.error)),
            str(place.rounds or "-"), f"{place.bytes / 1e6:.3g}" if place.bytes else "-",
            f"{place.seconds:.2g}" if place.seconds else "-",
        ]
        for place in places
    ]  # fmt: skip


def by_problem(places: Sequence[Place]) -> dict[str, dict[str, np.ndarray]]:
    """Problem -> way -> errors (%) [seeds]."""
    table: dict[str, dict[str, np.ndarray]] = {}
    for place in places:
        table.setdefault(place.problem, {})[place.way] = np.array(place.error)
    return table


def of_drift(problem: str) -> tuple[xarray.DataArray, xarray.DataArray]:
    """What notebook 11 has stored of a problem: errors (%) [rule, seed] in the end, and on the way [rule, round], of
    every rule at the rate, constant or falling, that validation points chose."""
    calls, parts = drift.trainings(drift.PAPER), [part for both in drift.SCHEDULES.values() for part in both]
    names = [(problem, part) for part in parts if (problem, part) in calls]
    return drift.better(drift.tried_on(problem, {name: stored(drift, name, earlier=True) for name in names}))
