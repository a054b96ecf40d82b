"""What notebook 02 trains, and what its figures and claims take (Fed-DeepONet, Experiment 3, Figs. 5 and 6).

``python -m fedlib train 02_heterogeneity --only shards`` trains what is not stored of Fig. 5.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import xarray

from ....federated import mixing, sweep
from ....federated.batches import Local
from ....federated.history import History
from ....federated.optimizers import sgd
from ....notebook import rules
from ....trainings.calls import Call, Computed, Task
from ....trainings.settings import paper
from ....trainings.store import Name
from ..trainings import BATCH, joined, one_place
from .problem import distances, label_sorted, one_alone, two_fields

NOTEBOOK = "02_heterogeneity"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "shards"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""
IN_SHORT = True
"""Its rounds have hundreds of steps, see ``trainings.store.calls_of``."""

FALLING, CONSTANT = "falling", "constant"
"""Adam's rates: notebook 01's, and one that stays, as a paper that prints one rate would have it."""

ADAM, SGD = "Adam", "SGD"
LR_CONSTANT, LR_SGD = 0.001, 0.02
"""Rates that stay; SGD diverges at 0.03 where each has two shards."""

RATES_ADAM, DECAYS_ADAM = (3.0e-5, 0.0001, 0.0003, 0.001, 0.003, 0.006), (1.0, 0.85)
RATES_SGD = (0.005, 0.01, 0.02, 0.025, 0.03, 0.1)
"""Tried at one shard and at two."""

FEW = 3
"""Seeds of what is tried beside Figs. 5 and 6: rates, kept moments, weights of the average."""

WEIGHTS = {"p = n/N": mixing.fedavg, "p = 1/C": mixing.equal}

RULES = {
    "n_triplets": rules.whole(20),
    "n_test": rules.whole(2),
    "sensors": rules.whole(2),
    "clients": rules.whole(2),
    "w1_points": rules.whole(2),
    "deltas": rules.number(0),
    "shards": rules.whole(),
    "lr_adam": rules.positive(),
    "decay_adam": rules.share(),
}
"""Parameter -> what it may be."""


def check(p: Mapping) -> None:
    """ValueError where there are more shards than triplets, or the share of the clients is no interval."""
    if (most := max(p["shards"])) * p["clients"] > p["n_triplets"]:
        raise ValueError(
            f"shards = {most} for each of {p['clients']} clients: expected at most n_triplets = {p['n_triplets']}"
        )
    if (least := p["clients"] * (p["clients"] + 1) // 2) > p["n_triplets"]:
        raise ValueError(f"n_triplets = {p['n_triplets']}: expected at least {least}, for blocks of sizes 1 : 2 : ...")
    low, *_, high = p["fraction"]
    if len(p["fraction"]) != 2 or not 0 < low <= high <= 1:
        raise ValueError(f"fraction = {p['fraction']}: expected an interval of shares in order, such as [0.1, 1.0]")


def levels(values: Sequence) -> list:
    """Each once, rising."""
    return sorted({*values})


def trainings(p: Mapping) -> dict[Name, Task]:
    """Fig. 5 ("shards", "SGD") and who is alone in it, Fig. 6 ("fields"); one model with all triplets; what else was
    tried: rates, kept moments, weights of the average; and how far apart the clients are."""
    points = {"triplets": p["n_triplets"], "clients": p["clients"], "sensors": p["sensors"]}
    sizes, shards, deltas = points | {"tests": p["n_test"]}, levels(p["shards"]), levels(map(float, p["deltas"]))
    fields = sizes | {"deltas": deltas}
    shared = {"rounds": p["rounds"], "local": Local(p["local_updates"], "steps", BATCH)}
    shared |= {"fraction": tuple(p["fraction"])}
    adam = shared | {"lr": p["lr_adam"], "decay": p["decay_adam"]}
    plain = {"lr": LR_SGD, "decay": 1.0, "optimizer": sgd()}
    seeds, together, first = p["seeds"], ["federated"], p["seeds"][:1]
    rates = {"rate": {FALLING: {}, CONSTANT: {"lr": LR_CONSTANT, "decay": 1.0}}}
    work = one_place(p, p["clients"], sum(p["fraction"]) / 2)  # the mean share
    kept = shared | {"reset_moments": False}  # of one model, for nothing is synchronised
    central = {"kinds": ["centralised"], "over": {"work": work}, "changes": kept, "models": {}}

    def call(make, arguments, values, over, changes, seeds=seeds) -> Call:
        return Call(make, arguments, values, seeds, together, over, changes, models={})

    def tried(values: Sequence[int], over: Mapping, changes: Mapping, **more) -> Call:
        return call(label_sorted, sizes | more, [n for n in values if n in shards], over, changes, seeds[:FEW])

    calls = {
        "shards": Call(label_sorted, sizes, shards, seeds, together, rates, adam, models={"federated": first}),
        "alone": Call(one_alone, sizes, shards, seeds, ["isolated"], rates, adam, models={"isolated": first}),
        "SGD": call(label_sorted, sizes, shards, {}, shared | plain),
        "fields": call(two_fields, fields, deltas, {"algorithm": {ADAM: {}, SGD: plain}}, adam),
        ("centralised", "shards"): Call(label_sorted, sizes, shards, seeds, **central),
        ("centralised", "fields"): Call(two_fields, fields, deltas, seeds, **central),
        "rates": tried([1, 2], rates_tried(), shared),
        "moments": tried([1, 5], {}, adam | {"reset_moments": False}),
        "weights": tried([1], {"mixing": WEIGHTS}, adam, uneven=True),
        "distances": Computed(
            distances,
            points | {"shards": shards, "deltas": deltas, "seeds": seeds, "points": p["w1_points"]},
        ),
    }
    return {name: call for name, call in calls.items() if isinstance(call, Computed) or call.levels}


def rates_tried() -> dict:
    """(algorithm, rate, its factor from round to round) -> changes."""
    adam = {(ADAM, lr, decay): {"lr": lr, "decay": decay} for lr in RATES_ADAM for decay in DECAYS_ADAM}
    plain = {(SGD, lr, 1.0): {"lr": lr, "decay": 1.0, "optimizer": sgd()} for lr in RATES_SGD}
    return {("algorithm", "lr", "decay"): adam | plain}


class Results(NamedTuple):
    """What figures and claims take: errors (%) after training, and distances; None where nothing of it is trained.

    Errors [test, level, seed, ...]: means over "GRF" trajectories, over the "unseen" torques, over those by which rates
    are chosen ("validation"); in Fig. 6 over the "second" field, too, and over half of each ("mixture"). shards, fields
    (Figs. 5, 6) have an axis curve, of CURVES; rates algorithm, lr and decay; weights mixing.
    """

    shards: xarray.DataArray | None
    fields: xarray.DataArray | None
    rates: xarray.DataArray | None
    moments: xarray.DataArray | None
    weights: xarray.DataArray | None
    distances: xarray.Dataset | None


WORK = {"same steps": "one place, a client's work", "same passes": "one place, everybody's work"}
CURVES = (f"{ADAM}, {FALLING} rate", f"{ADAM}, {CONSTANT} rate", SGD, *WORK.values())
"""Of the figures: the federation by its local optimiser, and one model with all triplets by what is kept equal."""


def results(p: Mapping, histories: Mapping[Name, History | xarray.Dataset]) -> Results:
    """The labelled arrays; they say themselves what was trained, p is what every study's ``results`` gets."""
    errors = {name: tested(history) for name, history in histories.items() if name != "distances"}
    shards = curves(errors, "shards", "rate", {FALLING: CURVES[0], CONSTANT: CURVES[1]})
    if "SGD" in errors:
        shards[SGD] = errors["SGD"]
    shards |= curves(errors, ("centralised", "shards"), "work", WORK)
    fields = curves(errors, "fields", "algorithm", {ADAM: CURVES[0], SGD: SGD})
    fields |= curves(errors, ("centralised", "fields"), "work", WORK)
    figures = [joined(rows, "curve") if rows else None for rows in (shards, fields)]
    if figures[1] is not None:
        figures[1]["level"].attrs.update(DELTA)
    return Results(*figures, *map(errors.get, ("rates", "moments", "weights")), histories.get("distances"))


DELTA = {"long_name": r"difference $\Delta$ of the length scales", "units": "s", "scale": "linear"}
"""A level of Fig. 6; its axis begins at 0."""


def tested(history: History) -> xarray.DataArray:
    """Errors of ``Results`` of a training of one kind."""
    names = {"error": "GRF", "unseen": "unseen", "validation error": "validation", "second": "second"}
    sets = {
        name: sweep.errors(history, metric).isel(round=-1, kind=0, drop=True).drop_vars("distance", errors="ignore")
        for metric, name in names.items() if metric in history.metrics
    }  # fmt: skip
    sets["unseen"] = sets["unseen"].mean("i", skipna=False)
    if "second" in sets:
        sets["mixture"] = (sets["GRF"] + sets["second"]) / 2
    values = joined({name: one.rename(None) for name, one in sets.items()}, "test").drop_attrs()
    values["level"].attrs["long_name"] = "shards each"
    return values.assign_attrs(long_name="mean error", units="%")


def curves(errors: Mapping, name: Name, axis: str, names: Mapping[str, str]) -> dict[str, xarray.DataArray]:
    """The curves of one training, one for each label of an axis."""
    labels = errors[name][axis].values.tolist() if name in errors else []
    return {names[label]: errors[name].sel({axis: label}, drop=True) for label in labels if label in names}
