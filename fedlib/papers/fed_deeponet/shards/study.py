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
from ..trainings import BATCH, one_place
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

ADAM, SGD, KEPT = "Adam", "SGD", "Adam, moments kept"

FEW = 3
"""Seeds of what is tried beside Figs. 5 and 6: rates, kept moments, weights of the average."""

WEIGHTS = {"p = n/N": mixing.fedavg, "p = 1/C": mixing.equal}

RULES = {
    "n_triplets": rules.whole(20),
    "n_test": rules.whole(2),
    "sensors": rules.whole(2),
    "clients": rules.whole(2),
    "w1_points": rules.whole(2),
    "length_scale": rules.number(0.02),
    "deltas": rules.number(0),
    **dict.fromkeys(("shards", "rate_shards", "kept_shards"), rules.whole()),
    **dict.fromkeys(("lr_adam", "lr_constant", "lr_sgd", "lrs_adam", "lrs_sgd"), rules.positive()),
    **dict.fromkeys(("decay_adam", "decays_adam"), rules.share()),
}
"""Parameter -> what it may be."""


def check(p: Mapping) -> None:
    """ValueError where there are more shards than triplets, or the share of the clients is no interval."""
    for name in ("shards", "rate_shards", "kept_shards"):
        if (most := max(p[name], default=1)) * p["clients"] > p["n_triplets"]:
            raise ValueError(
                f"{name} = {most} for each of {p['clients']} clients: expected at most n_triplets = {p['n_triplets']} "
                "in all"
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
    tried: rates, kept moments, weights of the average, passes for steps; and how far apart the clients are."""
    sizes = {"triplets": p["n_triplets"], "clients": p["clients"], "tests": p["n_test"], "sensors": p["sensors"]}
    sizes |= {"length_scale": p["length_scale"]}
    shards, deltas = levels(p["shards"]), levels(map(float, p["deltas"]))
    fields = sizes | {"deltas": deltas}
    steps = Local(p["local_updates"], "steps", BATCH)
    shared = {"rounds": p["rounds"], "local": steps, "fraction": tuple(p["fraction"])}
    adam = shared | {"lr": p["lr_adam"], "decay": p["decay_adam"]}
    plain = {"lr": p["lr_sgd"], "decay": 1.0, "optimizer": sgd()}
    seeds, together, first = p["seeds"], ["federated"], p["seeds"][:1]
    few = seeds[:FEW]
    rates = {"rate": {FALLING: {}, CONSTANT: {"lr": p["lr_constant"], "decay": 1.0}}}
    work = one_place(p, p["clients"], sum(p["fraction"]) / 2)  # the mean share
    kept = shared | {"reset_moments": False}  # of one model, for nothing is synchronised
    central = {"kinds": ["centralised"], "over": {"work": work}, "changes": kept, "models": {}}

    def call(make, arguments, values, over, changes, seeds=seeds) -> Call:
        return Call(make, arguments, values, seeds, together, over, changes, models={})

    return {
        "shards": Call(label_sorted, sizes, shards, seeds, together, rates, adam, models={"federated": first}),
        "alone": Call(one_alone, sizes, shards, seeds, ["isolated"], rates, adam, models={"isolated": first}),
        "SGD": call(label_sorted, sizes, shards, {}, shared | plain),
        "fields": call(two_fields, fields, deltas, {"algorithm": {ADAM: {}, SGD: plain}}, adam),
        ("centralised", "shards"): Call(label_sorted, sizes, shards, seeds, **central),
        ("centralised", "fields"): Call(two_fields, fields, deltas, seeds, **central),
        "rates": call(label_sorted, sizes, levels(p["rate_shards"]), rates_tried(p), shared, few),
        "moments": call(label_sorted, sizes, levels(p["kept_shards"]), {}, adam | {"reset_moments": False}, few),
        "weights": call(label_sorted, sizes | {"uneven": True}, [1], {"mixing": WEIGHTS}, adam, few),
        "distances": Computed(
            distances,
            {"shards": shards, "deltas": deltas, "seeds": seeds, "points": p["w1_points"]}
            | {name: value for name, value in sizes.items() if name != "tests"},
        ),
    }  # fmt: skip


def rates_tried(p: Mapping) -> dict:
    """(algorithm, rate, its factor from round to round) -> changes."""
    adam = {(ADAM, lr, decay): {"lr": lr, "decay": decay} for lr in p["lrs_adam"] for decay in p["decays_adam"]}
    plain = {(SGD, lr, 1.0): {"lr": lr, "decay": 1.0, "optimizer": sgd()} for lr in p["lrs_sgd"]}
    return {("algorithm", "lr", "decay"): adam | plain}


class Results(NamedTuple):
    """What figures and claims take: errors (%) after training, and distances; None where nothing of it is trained.

    Errors [test, level, seed, ...]: means over "GRF" trajectories, over the "unseen" torques, over those by which rates
    are chosen ("validation"); in Fig. 6 over the "second" field, too, and over half of each ("mixture"). shards, fields
    (Figs. 5, 6) have an axis curve, of CURVES; rates algorithm, lr and decay; weights mixing; passes_* algorithm.
    """

    shards: xarray.DataArray | None
    fields: xarray.DataArray | None
    rates: xarray.DataArray | None
    moments: xarray.DataArray | None
    weights: xarray.DataArray | None
    passes_shards: xarray.DataArray | None
    passes_fields: xarray.DataArray | None
    distances: xarray.Dataset | None


WORK = {"same steps": "one place, a client's work", "same passes": "one place, everybody's work"}
CURVES = (f"{ADAM}, {FALLING} rate", f"{ADAM}, {CONSTANT} rate", SGD, *WORK.values())
"""Of the figures: the federation by its local optimiser, and one model with all triplets by what is kept equal."""


def results(p: Mapping, histories: Mapping[Name, History | xarray.Dataset]) -> Results:
    """The labelled arrays; they say themselves what was trained, p is what every study's ``results`` gets."""
    errors = {name: tested(history) for name, history in histories.items() if name != "distances"}
    shards = curves(errors, "shards", "rate", {FALLING: CURVES[0], CONSTANT: CURVES[1]})
    if "SGD" in errors:
        shards.append(errors["SGD"].expand_dims(curve=[SGD]))
    shards += curves(errors, ("centralised", "shards"), "work", WORK)
    fields = curves(errors, "fields", "algorithm", {ADAM: CURVES[0], SGD: SGD})
    fields += curves(errors, ("centralised", "fields"), "work", WORK)
    others = ("rates", "moments", "weights", ("passes", "shards"), ("passes", "fields"))
    return Results(joined(shards), joined(fields), *map(errors.get, others), histories.get("distances"))


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
    return xarray.Dataset(sets).to_dataarray("test").drop_attrs()


def curves(errors: Mapping, name: Name, axis: str, names: Mapping[str, str]) -> list[xarray.DataArray]:
    """The curves of one training, one for each label of an axis."""
    if name not in errors:
        return []
    labels = [label for label in errors[name][axis].values.tolist() if label in names]
    return [errors[name].sel({axis: label}, drop=True).expand_dims(curve=[names[label]]) for label in labels]


def joined(parts: list[xarray.DataArray]) -> xarray.DataArray | None:
    """Curves on one axis; what some have not is NaN."""
    return xarray.concat(parts, "curve", join="outer") if parts else None


def metrics(results: Results) -> dict:
    """What result.json keeps, for notebook 11 and the lesson: errors (%) of the seeds by test, algorithm and case, as
    "shards 2", "fields 0.5" or "rate 1 0.003 0.85"; and the distances."""
    names = {CURVES[0]: "Algorithm 2", CURVES[1]: "Algorithm 2, constant rate", SGD: "Algorithm 1"}

    def table(test: str) -> dict[str, dict]:
        errors: dict[str, dict] = {}
        for kind, values in (("shards", results.shards), ("fields", results.fields)):
            if values is None or test not in values.test:
                continue
            for curve in values.curve.values.tolist():
                row = values.sel(curve=curve, test=test).dropna("level", how="all")
                levels = {
                    f"{kind} {level}": row.sel(level=level).dropna("seed").values for level in row.level.values.tolist()
                }
                errors[names.get(curve, curve)] = errors.get(names.get(curve, curve), {}) | levels
        return errors

    error = table("GRF")
    if results.rates is not None:
        rates = results.rates.sel(test="GRF").stack(rate=("level", "algorithm", "lr", "decay")).dropna("rate")
        for (level, algorithm, lr, decay), row in zip(rates.rate.values, rates.transpose("rate", ...), strict=True):
            error[names[{ADAM: CURVES[0]}.get(algorithm, SGD)]][f"rate {level} {lr} {decay}"] = row.values
    if results.moments is not None:
        kept = results.moments.sel(test="GRF")
        error["moments kept"] = {
            f"shards {level}": kept.sel(level=level).values for level in kept.level.values.tolist()
        }
    others = {"on GRF(l1 + Delta)": "second", "on the mixture": "mixture", "unseen": "unseen"}
    tables = {"error_percent": error, "other_tests_percent": {name: table(test) for name, test in others.items()}}
    if results.distances is None:
        return tables
    kinds = {"shards": results.distances.by_shards, "fields": results.distances.by_delta}
    w1 = {
        f"{kind} {what}": values.sel(what=what).values for kind, values in kinds.items() for what in ("s", "(u, y, s)")
    }
    return tables | {"w1": w1, "torque_distance": results.distances.torques.values}
