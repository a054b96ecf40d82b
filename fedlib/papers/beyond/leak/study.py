"""What notebook 12 computes of messages, and what its figures and claims take."""

import json
from collections.abc import Mapping
from typing import NamedTuple

import xarray

from ....federated.history import History
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

COUNTS = "clients", "points", "width", "rounds", "local_updates", "equal_rounds"
RULES = {
    **dict.fromkeys((*COUNTS, "leak_points", "leak_steps"), rules.whole()),
    "sensors": rules.whole(2),
    "lr": rules.positive(),
    "fraction": rules.share(),
}
"""Parameter -> what it may be."""

BY_RANK = {name: Tolerance(absolute=3) for name in ("span", "fit")}
"""Pairs of points that are nearly alike may change their order by rounding; so may the nearest torque."""


def check(p: Mapping) -> None:
    """ValueError where a client is asked for more points than it has."""
    if (most := max(p["leak_points"])) > p["points"]:
        raise ValueError(f"leak_points = {most}: expected at most points = {p['points']}, those of a client")


def trainings(p: Mapping) -> dict[str, Task]:
    """What three attacks find in one message of each client ("messages"); all clients in one process ("laboratories"),
    to which a federation of machines has to be equal."""
    sizes = {"clients": sum(p["clients"]), "sizes": sorted({*p["leak_points"]}), "steps": sorted({*p["leak_steps"]})}
    arguments = sizes | {"sensors": p["sensors"], "width": p["width"]}
    together = {"n": p["points"], "updates": p["local_updates"], "sensors": p["sensors"], "width": p["width"]}
    changes = {"rounds": p["rounds"], "lr": p["lr"]}
    return {
        "messages": Computed(of_messages, arguments, tolerances=BY_RANK),
        "laboratories": Call(
            in_one_place, together, [sum(p["clients"])], [0], ["federated"], changes=changes, models={}
        ),
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
