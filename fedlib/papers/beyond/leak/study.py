"""What notebook 12 computes of messages, and what its figures and claims take."""

from collections.abc import Mapping
from typing import NamedTuple

import xarray

from ....notebook import rules
from ....trainings.calls import Computed, Tolerance
from ....trainings.settings import paper
from .attack import of_messages

NOTEBOOK = "12_real_federation"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "messages"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""

COUNTS = "clients", "points", "width", "rounds", "local_updates", "equal_rounds", "price_clients", "price_rounds"
RULES = {
    **dict.fromkeys((*COUNTS, "leak_points", "leak_steps"), rules.whole()),
    "sensors": rules.whole(2),
    "lr": rules.positive(),
    "fraction": rules.share(),
    "engine": rules.one_of("auto", "local", "flower"),
}
"""Parameter -> what it may be."""

BY_RANK = {name: Tolerance(absolute=3) for name in ("span", "fit")}
"""Pairs of points that are nearly alike may change their order by rounding; so may the nearest torque."""


def check(p: Mapping) -> None:
    """ValueError where a client is asked for more points than it has."""
    if (most := max(p["leak_points"])) > p["points"]:
        raise ValueError(f"leak_points = {most}: expected at most points = {p['points']}, those of a client")


def trainings(p: Mapping) -> dict[str, Computed]:
    """ "messages": what three attacks find in one message of each client."""
    sizes = {"clients": sum(p["clients"]), "sizes": sorted({*p["leak_points"]}), "steps": sorted({*p["leak_steps"]})}
    arguments = sizes | {"sensors": p["sensors"], "width": p["width"]}
    return {"messages": Computed(of_messages, arguments, tolerances=BY_RANK)}


class Results(NamedTuple):
    """messages: of ``attack.of_messages``. Of this run's machines, None where none ran: wire, ``attack.learnt`` of the
    recorded messages; difference, the largest of any parameter from one process; common, in how many of messages
    arrays a client's number stands; overhead, CPU time over that of one process."""

    messages: xarray.Dataset | None
    wire: xarray.Dataset | None = None
    difference: float | None = None
    common: int | None = None
    overhead: float | None = None


def results(p: Mapping, histories: Mapping[str, xarray.Dataset]) -> Results:
    """Of what ``trainings(p)`` left."""
    return Results(histories.get("messages"))
