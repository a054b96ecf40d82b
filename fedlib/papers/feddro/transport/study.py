"""What notebook 10 computes, and the labelled arrays that its figures take; nothing of it is a training."""

from collections.abc import Mapping
from typing import NamedTuple

import xarray

from ....notebook import rules
from ....trainings.calls import Computed, Tolerance
from ....trainings.settings import paper
from .problem import barycenters, bounds, walks

NOTEBOOK = "10_transport"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "walks"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""

RULES = {
    **dict.fromkeys(("atoms", "rounds", "barycenter_rounds"), rules.whole(2)),
    "exact_rounds": rules.whole(1, 6),  # exact supports grow by half or more in every round
}
"""Parameter -> what it may be."""


def check(p: Mapping) -> None:
    """ValueError where a start of ``problem.STARTS`` has more points than the clouds."""
    if p["atoms"] < 20:
        raise ValueError(f"atoms = {p['atoms']}: expected at least 20, as many as the smallest shared cloud has")


ROUNDING = Tolerance(relative=1e-3, absolute=1e-4)
"""Of gaps in %: where two plans cost the same, rounding chooses."""

SUPPORT = Tolerance(relative=0.05)
"""Of how many atoms a cloud has in the end: so many as its plans have entries, and ties are broken by rounding."""


def trainings(p: Mapping) -> dict[str, Computed]:
    """ "walks": FedWaD in the plane, from several starts; "bounds": how near it comes elsewhere; "barycenters": three
    clouds and their barycenter, as printed and as we mend it."""
    size = {"atoms": p["atoms"], "rounds": p["rounds"]}
    seeds = [*dict.fromkeys(p["seeds"])]
    return {
        "walks": Computed(walks, size, tolerances={"gap": ROUNDING}),
        "bounds": Computed(
            bounds, size | {"exact_rounds": p["exact_rounds"]}, tolerances={"gap": ROUNDING, "atoms": SUPPORT}
        ),
        "barycenters": Computed(barycenters, {"seeds": seeds, "atoms": p["atoms"], "rounds": p["barycenter_rounds"]}),
    }


class Results(NamedTuple):
    """What figures and claims take; see the functions of ``problem`` for the arrays."""

    walks: xarray.Dataset | None = None
    bounds: xarray.Dataset | None = None
    barycenters: xarray.Dataset | None = None


def results(p: Mapping, histories: Mapping[str, xarray.Dataset]) -> Results:
    """They say themselves what was computed; p is what every study's ``results`` gets."""
    return Results(**histories)
