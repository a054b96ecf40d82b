"""What notebook 03 trains, and what its figures and claims take (Fed-DeepONet, Section 4.4).

``python -m fedlib train 03_pendulum_library --only library`` trains what is not stored of its federations.
"""

from collections.abc import Mapping
from typing import NamedTuple

import xarray

from ....federated.batches import Local
from ....federated.history import History
from ....notebook import rules
from ....trainings.calls import Call
from ....trainings.settings import paper
from ....trainings.store import Name
from ..physics import OUT_OF_DISTRIBUTION
from ..trainings import BATCH, EVALUATIONS, joined, last, measured, one_place
from .problem import library, lowest

NOTEBOOK = "03_pendulum_library"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "library", "mixed, told"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""
IN_SHORT = True
"""Its rounds have hundreds of steps, see ``trainings.store.calls_of``."""

CASES = {
    "mixed, told": {"dealt": "mixed", "hidden": False},
    "mixed, hidden": {"dealt": "mixed", "hidden": True},
    "own, told": {"dealt": "own", "hidden": False},
    "own, hidden": {"dealt": "own", "hidden": True},
}
"""How stiffnesses are dealt, and whether the network is told them. The first one is the paper's."""

TOLD = "mixed, told"

RULES = {
    "n_triplets": rules.whole(2),
    "n_test": rules.whole(2),
    "n_common": rules.whole(2),
    "sensors": rules.whole(2),
    "seconds": rules.positive(),
    "unseen_draws": rules.whole(),
    "some_seeds": rules.whole(0),
}
"""Parameter -> what it may be."""


def check(p: Mapping) -> None:
    """ValueError where a client would have no triplet."""
    if p["clients"] > p["n_triplets"]:
        raise ValueError(f"clients = {p['clients']}: expected at most n_triplets = {p['n_triplets']}, one for each")


def trainings(p: Mapping) -> dict[Name, Call]:
    """The paper's federation for all seeds; all CASES, client 1 alone, and one model with all triplets."""
    sizes = {"n_triplets": "triplets", "n_test": "tests", "n_common": "common", "unseen_draws": "draws"}
    data = {sizes.get(name, name): p[name] for name in (*sizes, "clients", "sensors")}
    local = Local(p["local_updates"], "steps", BATCH)
    shared = {"rounds": p["rounds"], "local": local, "evaluations": EVALUATIONS}
    adam = shared | {"lr": p["lr"], "decay": 0.85}
    seeds, seconds, together = p["some_seeds"], p["seconds"], ["federated"]
    first = {"federated": seeds[:1], "centralised": seeds[:1]}

    some = adam | {"fraction": p["fraction"]}
    calls = {
        ("library", case): Call(library, case_arguments | data, seconds, seeds, together, changes=some, models=first)
        for case, case_arguments in CASES.items()
    }
    calls["library", "all seeds"] = calls["library", TOLD]._replace(levels=seconds[:1], seeds=p["seeds"])
    calls["alone"] = Call(
        library, CASES["own, told"] | {"alone": True} | data, seconds, seeds, ["isolated"], changes=adam, models={}
    )
    work = one_place(p, p["clients"], p["fraction"])
    kept = shared | {"reset_moments": False}  # nothing is synchronised
    one = CASES[TOLD] | data
    calls["centralised"] = Call(library, one, seconds[:1], seeds, ["centralised"], {"work": work}, kept, models=first)
    return calls


class Results(NamedTuple):
    """What figures and claims take, of what is trained; what is not is empty.

    Datasets with error, common and spread (%) [round, level, seed, ...]: the mean over each seed's own test
    trajectories, the mean over those that all seeds have, and the st.dev. over the former; unseen [..., i] of the three
    unseen torques, all draws of k of each one after the other. level is the seconds T. cases has an axis case,
    centralised work. floor (%) [level]: nobody whom k is hidden from is below it, on average over the common
    trajectories.
    """

    cases: xarray.Dataset
    paper: xarray.Dataset
    alone: xarray.Dataset
    centralised: xarray.Dataset
    floor: xarray.DataArray


def results(p: Mapping, histories: Mapping[Name, History]) -> Results:
    """The labelled arrays of what is trained."""
    arrays = {name: measured(history) for name, history in histories.items()}
    cases = {case: arrays["library", case] for case in CASES if ("library", case) in arrays}
    others = (arrays.get(name, xarray.Dataset()) for name in (("library", "all seeds"), "alone", "centralised"))
    floor = [lowest(T, p["sensors"]) for T in p["seconds"]]
    return Results(
        joined(cases, "case") if cases else xarray.Dataset(),
        *others,
        xarray.DataArray(floor, {"level": p["seconds"]}, "level"),
    )


def of_torques(data: xarray.Dataset) -> xarray.DataArray:
    """Error (%) of the paper's federation for each unseen torque and each k drawn [torque, draw, seed]."""
    unseen = last(data, "unseen").isel(level=0, drop=True).transpose("i", "seed")
    torques = [*OUT_OF_DISTRIBUTION]
    values = unseen.values.reshape(len(torques), -1, unseen.sizes["seed"])
    coords = {"torque": torques, "seed": unseen.seed.values}
    return xarray.DataArray(values, coords, ("torque", "draw", "seed"), attrs={"units": "%"})
