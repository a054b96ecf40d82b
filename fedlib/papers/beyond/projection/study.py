"""What notebook 14 computes, and the labelled arrays that its figures and claims take."""

from collections.abc import Mapping
from typing import NamedTuple

import xarray

from ....federated.experiment import data_of
from ....federated.rules import RULES as AGAINST_DRIFT
from ....federated.sweep import errors
from ....notebook import rules
from ....trainings.calls import TIMED, Computed, Tolerance
from ....trainings.store import stored
from ...fedsciml.forward import study as forward
from ..one_round import study as one_round
from .problem import PROBLEMS, by_sums, without_projection

NOTEBOOK = "14_sums_for_networks"

RULES = {"problems": rules.one_of(*PROBLEMS), "levels": rules.whole(2), "looks": rules.whole(1)}
"""Parameter -> what it may be."""

SHOWN = one_round.SHOWN
"""The level at which ways are compared first, that of notebook 11."""

CHAOTIC = Tolerance(relative=1e-2, first={"evaluation": 2})
"""A step amplifies the rounding of all before it."""

TOLERANCES = {**dict.fromkeys(("error", "loss"), CHAOTIC), "bytes": Tolerance(relative=0.1), "seconds": TIMED}
TOLERANCES |= dict.fromkeys(("score", "evaluations"), Tolerance(absolute=float("inf")))


def check(p: Mapping) -> None:
    """ValueError where a table lacks a problem, points do not allow a level, or a seed both chooses and is shown."""
    rules.check_tables(p, p["problems"], [*PROBLEMS], "levels", "looks", "ridges")
    if both := {*p["seeds"]} & {*p["tuning"]}:
        raise ValueError(f"seeds and tuning both have {min(both)}; expected other seeds to choose the ridge")
    for name in p["problems"]:
        for level in p["levels"][name]:
            data_of(PROBLEMS[name].make(), level)


def trainings(p: Mapping) -> dict[str, Computed]:
    """Variable projection by sums ("sums_..."), and the same optimiser without it ("lbfgs_...")."""
    calls = {}
    for name in p["problems"]:
        shared = {"name": name, "seeds": p["seeds"]}
        sums = {"levels": p["levels"][name], "looks": p["looks"][name], "ridges": p["ridges"][name]}
        sums |= {"tuning": p["tuning"]}
        calls[f"sums_{name}"] = Computed(by_sums, shared | sums, tolerances=TOLERANCES)
        alone = {"looks": p["unprojected"][name]}
        calls[f"lbfgs_{name}"] = Computed(without_projection, shared | alone, tolerances=TOLERANCES)
    return calls


# what figures and claims take


class Results(NamedTuple):
    """ways: problem -> label -> error (%) [round, level, seed] and bytes [round, level], see ``one_round.study.Way``; a
    round of what is centralised is an evaluation, or five steps of Adam. tried: problem -> score [ridge, tuning] and,
    as attribute chosen_ridge, the least.
    """

    ways: Mapping[str, Mapping[str, one_round.Way]]
    tried: Mapping[str, xarray.DataArray]


def results(p: Mapping, histories: Mapping[str, xarray.Dataset]) -> Results:
    """Of what ``trainings(p)`` left; averaged networks are those that notebooks 05, 11 and 13 have stored."""
    computed = [name for name in p["problems"] if f"sums_{name}" in histories]
    tried = {name: histories[f"sums_{name}"].score.assign_attrs(histories[f"sums_{name}"].attrs) for name in computed}
    return Results({name: ways(name, histories) for name in computed}, tried)


def ways(name: str, histories: Mapping[str, xarray.Dataset]) -> dict[str, one_round.Way]:
    """Label -> what there is of a problem, at every level."""
    printed = stored(forward, name)
    P, error = printed.distinct.shape[1], errors(printed).reset_coords(drop=True)
    table = {"FedAvg, as printed": one_round.network_way(error.sel(kind="federated", drop=True), P)}
    rates = stored(one_round, f"rules_{name}")
    for label, rule in (("FedAvg, best rate", "FedAvg"), ("best rule", one_round.BEST[name])):
        best = one_round.at_best_rates(name, rule, rates)
        table[label] = one_round.network_way(best, P * AGAINST_DRIFT[rule].optimizer(AGAINST_DRIFT[rule].knobs[0]).sent)
    adam = error.sel(kind="centralised", drop=True)
    table["Adam, all data in one place"] = one_round.network_way(adam, 0)
    if f"lbfgs_{name}" in histories:
        alone = histories[f"lbfgs_{name}"].error.rename(evaluation="round")
        table["L-BFGS, all data in one place"] = one_round.network_way(alone.expand_dims(level=adam.level), 0)
    sums = histories[f"sums_{name}"].rename(evaluation="round")
    return table | {"sums": one_round.Way(sums.error, sums.bytes.isel(seed=0, drop=True))}
