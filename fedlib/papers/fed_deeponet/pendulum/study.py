"""What notebook 01 trains, and what its figures and claims take (Fed-DeepONet, Sections 4.1 and 4.2).

``python -m fedlib train 01_pendulum --only clients`` trains what is not stored of Table 1.
"""

from collections.abc import Mapping
from typing import NamedTuple

import xarray

from ....federated import sweep
from ....federated.batches import Local
from ....federated.history import History
from ....federated.optimizers import sgd
from ....models.networks import fan_in_uniform, glorot_uniform
from ....notebook import rules
from ....trainings.calls import Call
from ....trainings.settings import paper
from ....trainings.store import Name
from ..trainings import BATCH, EVALUATIONS, joined, last, measured, one_place
from .problem import chosen_by, dealt, one_alone

NOTEBOOK = "01_pendulum"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "shares"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""
IN_SHORT = True
"""Its rounds have hundreds of steps, see ``trainings.store.calls_of``."""

TWENTY = 20
"""Clients of Table 2 and of all figures."""

PRINTED = (10, 20, 40, 50)
"""Clients of Table 1."""

VARIES = "varies"
"""Label of a share of the clients that is drawn anew in each round, from [0.1, 1]."""

STARTS = {"Glorot": glorot_uniform, "torch": fan_in_uniform}
TIMES = {"[-1, 1]": True, "[0, 1]": False}
"""Fig. 4's conventions, of which the paper says nothing: the start, and the times that the trunk sees."""

TRIED = (
    (0.004, 0.85), (0.004, 0.9), (0.006, 0.8), (0.006, 0.85), (0.006, 0.9), (0.008, 0.75), (0.008, 0.8), (0.008, 0.85),
    (0.01, 0.8),
)  # fmt: skip
VALIDATION_SEEDS = [102, 103, 104]
"""Rates and their factors from round to round, tried with seeds that no table has."""

RULES = {
    "n_triplets": rules.whole(20),
    "n_test": rules.whole(2),
    "n_common": rules.whole(2),
    "sensors": rules.whole(2),
    "fractions": rules.share(),
}
"""Parameter -> what it may be."""


def check(p: Mapping) -> None:
    """ValueError where a client would have no triplet."""
    if (most := max(p["clients"])) > p["n_triplets"]:
        raise ValueError(f"clients = {most}: expected at most n_triplets = {p['n_triplets']}, one for each client")


def twenty(p: Mapping) -> int:
    """C of Table 2 and of the figures: TWENTY where there are so many, else the first of the numbers of clients."""
    return TWENTY if TWENTY in p["clients"] else p["clients"][0]


def trainings(p: Mapping) -> dict[Name, Call]:
    """Tables 1 and 2, who is alone, Algorithm 1, one model with all triplets, Fig. 4 under four conventions, and the
    rates that were tried on validation data."""
    C, seeds, together = twenty(p), p["seeds"], ["federated"]
    sizes = {"triplets": p["n_triplets"], "tests": p["n_test"], "sensors": p["sensors"]}
    data = sizes | {"common": p["n_common"]}
    work = {"rounds": p["rounds"], "local": Local(p["local_updates"], "steps", BATCH)}
    shared, anew, some = work | {"evaluations": EVALUATIONS}, {"reset_moments": True}, {"fraction": p["fraction"]}
    adam = shared | anew | {"lr": p["lr"], "decay": p["decay"]}
    first = {"federated": seeds[:1], "isolated": seeds[:1], "centralised": seeds[:1]}

    shares = {a: {"fraction": a} for a in p["fractions"] if a != p["fraction"]} | {VARIES: {"fraction": (0.1, 1.0)}}
    of_sgd = {"lr": [0.01, 0.03]}
    places = {"work": one_place(p, C, p["fraction"])}
    kept = shared | {"reset_moments": False}  # nothing is synchronised
    tried = {("lr", "decay"): {(lr, decay): {"lr": lr, "decay": decay} for lr, decay in TRIED}}
    some_clients = [C for C in p["clients"] if C in (10, 20, 50)] or p["clients"][:1]
    calls = {
        "clients": Call(dealt, data, p["clients"], seeds, together, changes=adam | some, models=first),
        "alone": Call(one_alone, data, p["clients"], seeds, ["isolated"], changes=adam, models=first),
        "shares": Call(dealt, data, [C], seeds, together, {"share": shares}, adam, models=first),
        "algorithm 1": Call(
            dealt, data, [C], seeds[:5], together, of_sgd, shared | some | {"optimizer": sgd()}, models={}
        ),
        "centralised": Call(dealt, data, [C], seeds, ["centralised"], places, kept, models=first),
        "grid": Call(
            chosen_by, sizes, some_clients, VALIDATION_SEEDS, together, tried, work | anew | some | {"evaluations": 1},
            models={},
        ),
    }  # fmt: skip
    for time, scaled in TIMES.items():
        arguments = data | {"scale_time": scaled}
        calls["conventions", time] = Call(dealt, arguments, [C], seeds, together, {"init": STARTS}, adam, models=first)
    return calls


class Results(NamedTuple):
    """What figures and claims take, of what is trained; what is not is empty.

    Datasets with error, common and spread (%) [round, level, seed, ...]: the mean over each seed's own test
    trajectories, the mean over those that all seeds have, and the st.dev. over the former; unseen [..., i] of the three
    unseen torques; loss (rad^2) [loss_round, level, seed, ...], the mean over clients. level is C. shares has an axis
    share, algorithm_1 lr, centralised work, conventions time and init. grid: validation error (%) after training
    [level, seed, lr, decay].
    """

    clients: xarray.Dataset
    alone: xarray.Dataset
    shares: xarray.Dataset
    algorithm_1: xarray.Dataset
    centralised: xarray.Dataset
    conventions: xarray.Dataset
    grid: xarray.DataArray | None


def results(p: Mapping, histories: Mapping[Name, History]) -> Results:
    """The labelled arrays; Table 2 has the share of Table 1, too, which is trained there."""
    arrays = {name: with_loss(history) for name, history in histories.items() if name != "grid"}
    clients, shares = (arrays.get(name, xarray.Dataset()) for name in ("clients", "shares"))
    if clients and shares and twenty(p) in clients.level and p["fraction"] in p["fractions"]:
        parts = {p["fraction"]: clients.sel(level=[twenty(p)])}
        parts |= {share: shares.sel(share=share, drop=True) for share in shares.share.values.tolist()}
        shares = joined({share: parts[share] for share in sorted(parts, key=str)}, "share")
    others = (arrays.get(name, xarray.Dataset()) for name in ("algorithm 1", "centralised"))
    times = {name[1]: data for name, data in arrays.items() if name[0] == "conventions"}
    conventions = joined(times, "time") if times else xarray.Dataset()
    grid = None
    if "grid" in histories:
        grid = sweep.errors(histories["grid"], "validation error").isel(round=-1, kind=0, drop=True)
    return Results(clients, arrays.get("alone", xarray.Dataset()), shares, *others, conventions, grid)


def with_loss(history: History) -> xarray.Dataset:
    """What ``Results`` says of a training of one kind."""
    loss = history.metric("loss").mean("client").squeeze("kind", drop=True).rename(round="loss_round")
    return measured(history).assign(loss=loss.assign_attrs(long_name="training loss", units="rad$^2$"))


def by_name(results: Results, metric: str = "error") -> dict[str, xarray.DataArray]:
    """Every model of Tables 1 and 2 and those beside them: name -> a metric after the last round [seed, ...]."""
    tables = {
        "clients": ("level", "C={}"), "shares": ("share", "alpha={}"), "alone": ("level", "alone, C={}"),
        "centralised": ("work", "centralised, {}"),
    }  # fmt: skip
    rows = {}
    for table, (axis, name) in tables.items():
        if data := getattr(results, table):
            values = last(data, metric) if axis == "level" else last(data, metric).squeeze("level", drop=True)
            rows |= {name.format(label): values.sel({axis: label}, drop=True) for label in values[axis].values.tolist()}
    return rows
