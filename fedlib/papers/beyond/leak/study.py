"""What notebook 12 computes of messages, and what its figures and claims take."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray

from ....federated.history import History
from ....machines.messages import Heard
from ....notebook import rules
from ....trainings.calls import Call, Computed, Task, Tolerance
from ....trainings.settings import FIGURES, paper
from .attack import of_messages
from .problem import in_one_place

NOTEBOOK = "12_real_federation"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "laboratories"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""

RULES = dict.fromkeys(("clients", "points", "leak_points"), rules.whole())
"""Parameter -> what it may be."""

LR = 0.001
"""Of Adam."""

BY_RANK = {name: Tolerance(absolute=3) for name in ("span", "fit")}
"""Pairs of points that are nearly alike may change their order by rounding; so may the nearest torque."""


def check(p: Mapping) -> None:
    """ValueError where a client is asked for more points than it has."""
    if (most := max(p["leak_points"])) > p["points"]:
        raise ValueError(f"leak_points = {most}: expected at most points = {p['points']}, those of a client")


def trainings(p: Mapping) -> dict[str, Task]:
    """What three attacks find in one message of each client ("messages"); all clients in one process ("laboratories"),
    to which a federation of machines has to be equal."""
    network, clients = {"sensors": 50, "width": 40}, sum(p["clients"])
    sizes = {"clients": clients, "sizes": sorted({*p["leak_points"]}), "steps": [1, 5, 20, 100]}
    together = {"n": p["points"], "updates": p["local_updates"]} | network
    changes = {"rounds": p["rounds"], "lr": LR}
    return {
        "messages": Computed(of_messages, sizes | network, tolerances=BY_RANK),
        "laboratories": Call(in_one_place, together, [clients], [0], ["federated"], changes=changes, models={}),
    }


class Results(NamedTuple):
    """messages: of ``attack.of_messages``. overhead: CPU time over that of one process, with the most clients.

    Of machines, None where none ran: wire, ``attack.learnt`` of the recorded messages; difference, the largest of any
    parameter from one process; common, in how many of messages arrays a client's number stands.
    """

    messages: xarray.Dataset | None
    wire: xarray.Dataset | None = None
    difference: float | None = None
    common: int | None = None
    overhead: float | None = None


def results(p: Mapping, histories: Mapping[str, History | xarray.Dataset]) -> Results:
    """Of what ``trainings(p)`` left."""
    alone, *others = (seconds[-1] for seconds in prices()["seconds"].values())
    return Results(histories.get("messages"), overhead=max(others) / alone)


def prices() -> dict:
    """What tools/price_of_messages.py has measured of a round, against clients per site: "seconds" of CPU, first in one
    process, bytes "down", "up" and of all points, "data"."""
    return json.loads((FIGURES / NOTEBOOK / "price.json").read_text(encoding="utf-8"))


def values_in_common(heard: Sequence[Heard], points: np.ndarray) -> int:
    """In how many arrays of messages one of these numbers stands as it is, in their own precision; 0 is not counted."""
    values = [value for h in heard for value in h.content.values() if isinstance(value, np.ndarray)]
    points = points[points != 0]
    return sum(bool(np.isin(points.astype(v.dtype), v).any()) for v in values if v.dtype.kind == "f")
