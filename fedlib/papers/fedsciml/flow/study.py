"""What notebook 06 trains, and what its figures and claims take.

``python -m fedlib train 06_flow --only flow`` trains what is not stored of Table 2's first rounds.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
import xarray

from ....federated.batches import Local
from ....federated.experiment import data_of
from ....federated.schedules import Drop
from ....federated.solved import answer
from ....notebook import rules
from ....trainings.calls import Call
from ....trainings.settings import paper
from .problem import TRUTH, field_errors, flow

NOTEBOOK = "06_flow"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "flow"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""

READINGS = {
    "residual points divided": {"divided": True},
    "independent starts": {"common_init": False},
    "moments reset": {"reset_moments": True},
    "both": {"common_init": False, "reset_moments": True},
}
"""What the paper leaves open, read in another way -> arguments of ``flow``, or changes of the experiment; both: of the
two before it."""


RULES = {
    **dict.fromkeys(("residual", "widths", "drop_after", "many"), rules.whole()),
    "levels": rules.whole(2),
    "observations": rules.whole(2, 55_000),
    "drop": rules.positive(),
}
"""Parameter -> what it may be."""

MAY_BE_EMPTY = {
    "aliased": rules.whole(2),
    "readings": rules.one_of(*READINGS),
    "long_readings": rules.one_of(*READINGS),
}
"""The same of lists that may be empty."""


def trainings(p: Mapping) -> dict[str | tuple, Call]:
    """ "flow", Table 2 and Fig. 10, with C recorded in every round; "many", the centralised model of more observations.

    Beside them "aliased", C as the authors' code moves it; "readings", at the first level, of three seeds; and ("long",
    ...), such a reading to more rounds, of one seed.
    """
    arguments = {name: p[name] for name in ("observations", "residual", "widths", "source")}

    def call(levels: Sequence[int], kinds: Sequence[str], rounds: int, seeds=p["seeds"], **more) -> Call:
        changes = {"rounds": rounds, "local": Local(p["local_updates"]), "lr": p["lr"], "evaluations": rounds}
        changes |= {"decay": Drop(p["drop_after"], p["drop"])}
        changes |= {name: more.pop(name) for name in ("common_init", "reset_moments") if name in more}
        return Call(flow, arguments | more, levels, seeds, kinds, changes=changes, apart=True)

    levels, rounds, many = p["levels"], p["rounds"], {"observations": p["many"]}
    calls: dict[str | tuple, Call] = {"flow": call(levels, ["federated", "centralised"], rounds)}
    calls["many"] = call(levels[:1], ["centralised"], rounds, **many)
    if p["aliased"]:
        calls["aliased"] = call(p["aliased"], ["federated"], rounds, aliased=True)
    for name in p["readings"]:
        calls["readings", name] = call(levels[:1], ["federated"], rounds, p["seeds"][:3], **READINGS[name])
    for name in p["long_readings"]:
        calls["long", name] = call(levels[:1], ["federated"], p["long_rounds"], p["seeds"][:1], **READINGS[name])
    return calls


def check(p: Mapping) -> None:
    """ValueError where widths, residual points or observations cannot be, or the observations do not allow a level."""
    rules.check(p, **{name: rule for name, rule in MAY_BE_EMPTY.items() if p[name]})
    if len(p["residual"]) != 3:
        raise ValueError(f"residual = {p['residual']!r}: expected three: points inside, on the sides, at t = 0")
    if p["many"] <= p["observations"]:
        raise ValueError(f"many = {p['many']}: expected more than observations = {p['observations']}")
    if both := {*p["aliased"]} - {*p["levels"]}:
        raise ValueError(f"aliased = {p['aliased']}: {both.pop()} is compared with its mean; add it to levels")
    distances(p)


def distances(p: Mapping) -> dict[int, float]:
    """Level -> W1 of the clients' observations in x; ValueError where a level does not fit."""
    experiment = trainings(p)["flow"].experiment()
    return {
        level: experiment.distance(data_of(experiment, level, seed)) for level in p["levels"] for seed in p["seeds"]
    }


class Model(NamedTuple):
    """Where a model is: names of trainings, the longest last, kind and level."""

    names: Sequence
    kind: str
    level: int


def federated(p: Mapping) -> dict[str, Model]:
    """ "n = 2" -> where the federation is."""
    return {f"n = {n}": Model(["flow"], "federated", n) for n in p["levels"]}


def centralised(p: Mapping) -> dict[str, Model]:
    """ "centralised, 700", the number of observations -> where the model is."""
    return {
        f"centralised, {p['observations']}": Model(["flow"], "centralised", p["levels"][-1]),
        f"centralised, {p['many']}": Model(["many"], "centralised", p["levels"][0]),
    }


def others(p: Mapping) -> dict[str, Model]:
    """What the paper's table does not have: aliased coefficients, other readings."""
    models = {f"aliased, n = {n}": Model(["aliased"], "federated", n) for n in p["aliased"]}
    for name in p["readings"]:
        models[name] = Model([("readings", name), ("long", name)], "federated", p["levels"][0])
    return models


class Results(NamedTuple):
    """What figures and claims take. Labels of models are those of ``federated``, ``centralised`` and ``others``.

    C: [model, seed, coefficient, round], in every round, NaN where it is not trained. whole: after how many rounds a
    training is at its end, twice those before the rate drops. fields: u, v, p at the middle time after the training of
    federations and centralised models [model, seed, place, field]; truth [place, field]. errors: of these (%) [model,
    seed, quantity]. apart: the largest difference between clients' coefficients after any round of a federation.
    """

    C: xarray.DataArray
    whole: int
    fields: xarray.DataArray
    truth: np.ndarray
    errors: xarray.DataArray
    apart: float


def results(p: Mapping, histories: Mapping) -> Results:
    """The labelled arrays of what is trained; of two trainings of a model and a seed the longer one counts."""
    experiment = trainings(p)["flow"].experiment()
    test, models = data_of(experiment, p["levels"][0], p["seeds"][0]).test, federated(p) | centralised(p)
    C, fields, errors, apart = {}, {}, {}, 0.0
    for label, (names, kind, level) in (models | others(p)).items():
        for history in [histories[name] for name in names if name in histories]:
            for seed in [seed for seed in history.labels("seed") if (kind, level, seed) in history.rows]:
                row = dict(kind=kind, level=level, seed=seed, client=0)
                C[label, seed] = xarray.concat([history.metric(name, **row) for name in TRUTH], "coefficient")
                if label in federated(p):
                    held = [history.metric(name, kind=kind, level=level, seed=seed).values for name in TRUTH]
                    apart = max(apart, *(float(np.ptp(values, -1).max()) for values in held))
                if label in models:
                    fields[label, seed] = answer(experiment, history.model(kind, level, seed), test)
    truth = test["u"].numpy()
    for key, field in fields.items():
        off = 100 * np.abs(C[key][:, -1].values / [*TRUTH.values()] - 1)
        errors[key] = [*off, *field_errors(*map(torch.as_tensor, (field.astype(float), truth))).values()]
    quantities = [*TRUTH, "velocity", "pressure"]
    return Results(
        by_model(C).assign_coords(coefficient=[*TRUTH]),
        max(p["rounds"], 2 * p["drop_after"]),
        by_model({key: xarray.DataArray(v, dims=("place", "field")) for key, v in fields.items()}),
        truth,
        by_model({key: xarray.DataArray(v, {"quantity": quantities}) for key, v in errors.items()}),
        apart,
    )


def by_model(arrays: Mapping[tuple, xarray.DataArray]) -> xarray.DataArray:
    """(model, seed) -> array as one array [model, seed, ...], NaN where there is none."""
    models = {}
    for label in dict.fromkeys(label for label, _ in arrays):
        seeds = sorted(seed for name, seed in arrays if name == label)
        rows = [arrays[label, seed] for seed in seeds]  # some may be trained longer
        models[label] = xarray.concat(rows, xarray.Variable("seed", seeds), join="outer")
    return xarray.concat(models.values(), xarray.Variable("model", [*models]), join="outer")


TOLERANCES = (10, 5, 1, 0.5)
"""% of the truth: the rows of Table 2."""


def inside(C: xarray.DataArray) -> xarray.DataArray:
    """Whether C [..., coefficient, round] is within each tolerance of the truth [..., within]."""
    off = 100 * abs(C / xarray.DataArray([*TRUTH.values()], dims="coefficient") - 1)
    return off <= xarray.DataArray([*TOLERANCES], {"within": [*TOLERANCES]})


def reached(C: xarray.DataArray, whole: int) -> xarray.DataArray:
    """First round after which C is within each tolerance [..., coefficient, within]: the times of Table 2.

    Whether it stays there does not matter ("the least epochs ... to achieve the error threshold"), see ``settled``.
    Infinite: never in ``whole`` rounds; NaN: not in the fewer rounds that are trained.
    """
    close, never = inside(C), np.where(trained(C) < whole, np.nan, np.inf)
    return C["round"][close.argmax("round")].drop_vars("round").where(close.any("round"), never[..., None, None])


def settled(C: xarray.DataArray) -> xarray.DataArray:
    """First round from which on C stays within each tolerance to the end of its training, or infinite."""
    outside, R = ~inside(C) & C.notnull().all("coefficient"), C.sizes["round"]
    last = R - 1 - outside.isel(round=slice(None, None, -1)).argmax("round")  # where it was outside last
    after = C["round"][xarray.where(outside.any("round"), last + 1, 0).clip(max=R - 1)].drop_vars("round")
    return after.where((after <= trained(C)) & ~outside.isel(round=-1), np.inf).transpose(..., "within")


def trained(C: xarray.DataArray) -> xarray.DataArray:
    """How many rounds each model and seed is trained [...]; 0: not at all."""
    return C["round"].where(C.notnull().all("coefficient")).max("round").fillna(0)
