"""What notebook 03 trains, and what its figures and claims take (Fed-DeepONet, Section 4.4).

``python -m fedlib train 03_pendulum_library --only library`` trains what is not stored of its federations.
"""

from collections.abc import Mapping
from typing import NamedTuple

import xarray

from ....federated import sweep
from ....federated.batches import Local
from ....federated.history import History
from ....notebook import rules
from ....trainings.calls import Call
from ....trainings.settings import paper
from ....trainings.store import Name
from ..physics import OUT_OF_DISTRIBUTION
from ..trainings import BATCH, check_pairs, last, measured, one_place, pairs
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
    """ValueError where a client would have no triplet, or a tried setting is no pair of a rate and its fall."""
    if p["clients"] > p["n_triplets"]:
        raise ValueError(f"clients = {p['clients']}: expected at most n_triplets = {p['n_triplets']}, one for each")
    check_pairs(p["tried"])


def trainings(p: Mapping) -> dict[Name, Call]:
    """The paper's federation for all seeds, all CASES at all seconds, client 1 alone, one model with all triplets, and
    the neighbours of notebook 01's rate on validation trajectories."""
    sizes = {"n_triplets": "triplets", "n_test": "tests", "n_common": "common", "unseen_draws": "draws"}
    data = {sizes.get(name, name): p[name] for name in (*sizes, "clients", "sensors", "length_scale")}
    local = Local(p["local_updates"], "steps", BATCH)
    shared = {"rounds": p["rounds"], "local": local, "evaluations": p["evaluations"]}
    adam = shared | {"lr": p["lr"], "decay": p["decay"]}
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
    calls["tried"] = Call(
        library, one | {"use": "validation"}, seconds[:1], seeds, together, {("lr", "decay"): pairs(p["tried"])},
        shared | {"fraction": p["fraction"], "evaluations": 1}, models={},
    )  # fmt: skip
    return calls


class Results(NamedTuple):
    """What figures and claims take, of what is trained; what is not is empty.

    Datasets with error, common and spread (%) [round, level, seed, ...]: the mean over each seed's own test
    trajectories, the mean over those that all seeds have, and the st.dev. over the former; unseen [..., i] of the three
    unseen torques, all draws of k of each one after the other. level is the seconds T. cases has an axis case,
    centralised work. tried: validation error [level, seed, lr, decay]. floor (%) [level]: nobody whom k is hidden from
    is below it, on average over the common trajectories.
    """

    cases: xarray.Dataset
    paper: xarray.Dataset
    alone: xarray.Dataset
    centralised: xarray.Dataset
    tried: xarray.DataArray
    floor: xarray.DataArray


def results(p: Mapping, histories: Mapping[Name, History]) -> Results:
    """The labelled arrays of what is trained."""
    seconds = p["seconds"]
    floor = [lowest(T, p["sensors"], p["length_scale"]) for T in seconds]
    return results_of(histories)._replace(floor=xarray.DataArray(floor, {"level": seconds}, "level"))


def results_of(histories: Mapping[Name, History]) -> Results:
    """Of each training what it measured; without the floor."""
    arrays = {name: measured(history) for name, history in histories.items() if name != "tried"}
    cases = [arrays["library", case].expand_dims(case=[case]) for case in CASES if ("library", case) in arrays]
    names = ("library", "all seeds"), "alone", "centralised"
    tried = sweep.errors(histories["tried"]).isel(round=-1, kind=0, drop=True) if "tried" in histories else None
    return Results(
        xarray.concat(cases, "case", join="outer") if cases else xarray.Dataset(),
        *(arrays.get(name, xarray.Dataset()) for name in names),
        xarray.DataArray() if tried is None else tried,
        xarray.DataArray(),
    )


def of_torques(data: xarray.Dataset) -> xarray.DataArray:
    """Error (%) of the paper's federation for each unseen torque and each k drawn [torque, draw, seed]."""
    unseen = last(data, "unseen").isel(level=0, drop=True).transpose("i", "seed")
    torques = [*OUT_OF_DISTRIBUTION]
    values = unseen.values.reshape(len(torques), -1, unseen.sizes["seed"])
    return xarray.DataArray(values, {"torque": torques, "seed": unseen.seed.values}, ("torque", "draw", "seed"))


def by_torque(data: xarray.Dataset) -> dict[str, list[float]]:
    """Unseen torque -> mean error (%) over all k drawn, of each seed."""
    mean = of_torques(data).mean("draw")
    return {str(torque): mean.sel(torque=torque).values.tolist() for torque in mean.torque.values}
