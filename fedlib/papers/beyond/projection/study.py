"""What notebook 14 computes, and the labelled arrays that its figures and claims take."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray

from ....federated.rules import RULES as AGAINST_DRIFT
from ....federated.stack import parameter_count
from ....federated.sweep import errors
from ....notebook import rules
from ....trainings.calls import TIMED, Computed, Tolerance
from ....trainings.settings import paper
from ....trainings.store import folder_of, last_reading, stored
from ...fedsciml.forward import study as forward
from ...fedsciml.operators import study as antiderivative
from ..drift import study as drift
from ..one_round.problem import FLOAT32
from . import limits, operators
from .problem import PROBLEMS, TOGETHER, by_kaufman, by_sums, data_at, without_projection

NOTEBOOK = "14_sums_for_networks"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "begun"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""

RULES = {
    "problems": rules.one_of(*PROBLEMS),
    **dict.fromkeys(("levels", "looks", "unprojected", "tuned"), rules.whole(1)),
    "ridges": rules.positive(),
}
"""Parameter -> what it may be."""


class Shown(NamedTuple):
    """The level at which ways are compared, and what notebook 11 calls the problem there, where it has it."""

    level: int
    drift: str | None
    title: str


SHOWN = {
    "poisson": Shown(8, "poisson_8", "Poisson, 8 pieces"),
    "helmholtz": Shown(4, "helmholtz_4", "Helmholtz, 4 x 4 blocks"),
    "wave": Shown(20, "line_20", "wave, 20 pieces"),
    "schaffer": Shown(4, "square_4", "Schaffer, 4 slabs"),
    "beam": Shown(2, None, "beam, 2 pieces"),
}

AVERAGED = ("poisson", "helmholtz", "beam")
"""What notebook 05 has trained as the paper prints it."""

OPERATOR_WAYS = {
    "FedAvg": (operators.NAME, "levels", 50_000),
    "Adam, one place": (operators.NAME, "central", 50_000),
}
"""What notebook 07 calls the antiderivative's networks that it keeps."""

CHAOTIC = Tolerance(relative=1e-2, first={"evaluation": 2})
"""A step amplifies the rounding of all before it."""

ANYTHING = Tolerance(absolute=float("inf"))
TOLERANCES = {**dict.fromkeys(("error", "loss"), CHAOTIC), "bytes": Tolerance(relative=0.1), "seconds": TIMED}
TOLERANCES |= dict.fromkeys(("tried", "score", "evaluations", "u"), ANYTHING)
KAUFMAN = TOLERANCES | {"error": ANYTHING, "loss": Tolerance(relative=1e-2, first={"round": 1})}
OPERATORS = TOLERANCES | {"train": CHAOTIC, "bytes": Tolerance(relative=0.1, first={"evaluation": 2})}
WALKED = {name: Tolerance(relative=0.5, first={"evaluation": 1}) for name in ("loss", "foot", "size", "each", "mean")}
POINTS = {"off": ANYTHING, "products": Tolerance(absolute=3, first={"evaluation": 1})}
"""Points are found, or may be anywhere; the claims of the room say which must be found."""

PARTED = dict.fromkeys(("error", "loss"), ANYTHING)
"""Adam divides by a second moment that rounding decides, where the clients' gradients cancel to their eighth digit."""


def check(p: Mapping) -> None:
    """ValueError where a table lacks a problem, points do not allow a level, or a seed both chooses and is shown."""
    rules.check_tables(p, p["problems"], [*PROBLEMS], "levels", "looks", "ridges", "tuning", "tuned", "unprojected")
    chosen = {name: (p["seeds"], p["tuning"][name]) for name in p["problems"]}
    chosen["the operator"] = p["operators"]["seeds"], p["operators"]["tuning"]
    for name, (seeds, tuning) in chosen.items():
        if both := {*seeds} & {*tuning}:
            raise ValueError(f"seeds and tuning of {name} both have {min(both)}; expected other seeds for the ridge")
    for name in p["problems"]:
        for level in p["levels"][name]:
            data_at(name, level)


def trainings(p: Mapping) -> dict[str, Computed]:
    """Variable projection by sums ("sums_..."; "begun": so little of it that each run computes it again), and the same
    optimiser without it ("lbfgs_..."); the same sums with another optimiser ("kaufman_..."); more starts of Poisson
    ("starts"), an operator ("operators"); and where it ends: "steps", "stiff", "waves", "told"."""
    calls = {}
    for name in p["problems"]:
        shared = {"name": name, "seeds": p["seeds"]}
        arguments = {argument: p[argument][name] for argument in ("levels", "looks", "ridges", "tuning", "tuned")}
        calls[f"sums_{name}"] = Computed(by_sums, shared | arguments, tolerances=TOLERANCES)
        single = {"looks": p["unprojected"][name]}
        calls[f"lbfgs_{name}"] = Computed(without_projection, shared | single, tolerances=TOLERANCES)
    for name, arguments in p["kaufman"].items():
        shown = {"name": name, "level": SHOWN[name].level} | arguments
        calls[f"kaufman_{name}"] = Computed(by_kaufman, shown, tolerances=KAUFMAN)
    calls["starts"] = Computed(by_sums, {"name": "poisson", "levels": [8]} | p["starts"], tolerances=TOLERANCES)
    little = {"levels": [8], "seeds": [0], "looks": [1, 10], "ridges": [1e-14], "tuning": [1000], "tuned": 1}
    calls["begun"] = Computed(by_sums, {"name": "poisson"} | little, tolerances=TOLERANCES)
    calls["operators"] = Computed(operators.operator_by_sums, p["operators"], tolerances=OPERATORS)
    steps = {"name": "poisson", "level": 8} | p["local_steps"]
    calls["steps"] = Computed(limits.by_local_steps, steps, tolerances=PARTED)
    calls["stiff"] = Computed(limits.stiffness, {"name": "poisson", "level": 8} | p["stiffness"], tolerances=WALKED)
    calls["waves"] = Computed(limits.faster_waves, p["faster_waves"], tolerances=TOLERANCES)
    calls["told"] = Computed(limits.revealed, {"level": 8} | p["told"], tolerances=POINTS)
    return calls


# what figures and claims take


class Way(NamedTuple):
    """A way to learn together, at the level of SHOWN. error (%) [round, seed]; bytes [round] that a client has sent; a
    round of what is in one place is an evaluation, or five steps of Adam. Notebook 11 keeps a mean over seeds on the
    way: one "seed"."""

    error: xarray.DataArray
    bytes: xarray.DataArray


class Results(NamedTuple):
    """ways: problem -> label -> ``Way``. final: problem -> label -> error (%) [seed] in the end, each at its own rate.
    sums, kaufman: problem -> what ``by_sums`` and ``by_kaufman`` computed. The others: what their functions in
    ``limits`` and ``operators`` did; None where it is not there. averaged: ``operators.averaged``.
    """

    ways: Mapping[str, Mapping[str, Way]]
    final: Mapping[str, Mapping[str, np.ndarray]]
    sums: Mapping[str, xarray.Dataset]
    kaufman: Mapping[str, xarray.Dataset]
    averaged: xarray.Dataset | None
    operators: xarray.Dataset | None
    starts: xarray.Dataset | None
    steps: xarray.Dataset | None
    stiff: xarray.Dataset | None
    waves: xarray.Dataset | None
    attack: xarray.Dataset | None


def results(p: Mapping, histories: Mapping[str, xarray.Dataset]) -> Results:
    """Of what ``trainings(p)`` left; averaged networks are those that notebooks 05 and 11 have stored."""
    computed = [name for name in p["problems"] if f"sums_{name}" in histories]
    compared = rules_of_drift(computed)
    both = {name: ways(name, histories, compared) for name in computed}
    ends = {name: final(name, both[name], histories, compared) for name in computed}
    sums = {name: histories[f"sums_{name}"] for name in computed}
    kaufman = {name: histories[f"kaufman_{name}"] for name in computed if f"kaufman_{name}" in histories}
    networks = None
    if (table := histories.get("operators")) is not None:
        kept = {way: stored(antiderivative, name) for way, name in OPERATOR_WAYS.items()}
        networks = operators.averaged(kept, table)
    others = ("operators", "starts", "steps", "stiff", "waves", "told")
    return Results(both, ends, sums, kaufman, networks, *(histories.get(name) for name in others))


def rules_of_drift(problems: Sequence[str]) -> drift.Results:
    """What notebook 11 has stored of its rules at all rates, on some problems."""
    p, folder = drift.PAPER, folder_of(drift.NOTEBOOK)
    calls = drift.trainings(p)
    rates = [SHOWN[name].drift for name in problems if SHOWN[name].drift]
    parts = [(name, part) for name in rates for both in drift.SCHEDULES.values() for part in both]
    names = ["earlier", *(name for name in parts if name in calls)]
    readings = {name: last_reading(calls, name, [folder], earlier=True)[0].result for name in names}
    return drift.results(p, {name: result for name, result in readings.items() if result is not None})


def best_rule(errors: xarray.DataArray) -> str:
    """Of all federated rules that were tried that with the least median error [rule, seed]."""
    return errors.drop_sel(rule=drift.CENTRAL).median("seed").idxmin("rule").item()


def ways(name: str, histories: Mapping[str, xarray.Dataset], compared: drift.Results) -> dict[str, Way]:
    """Label -> what there is of a problem on the way."""
    level, problem, _ = SHOWN[name]
    P, table = parameter_count(PROBLEMS[name].make().net), {}
    if name in AVERAGED:
        printed = errors(stored(forward, name)).sel(level=level)
        table["FedAvg, as printed"] = network(printed.sel(kind="federated"), P)
    if problem is None:
        table["Adam, one place"] = network(printed.sel(kind="centralised"), 0)
    else:
        paths = compared.paths[problem]
        best = best_rule(compared.errors[problem])
        rule = AGAINST_DRIFT[best]
        for label, rule_name, sent in (
            ("FedAvg, own rate", "FedAvg", 1),
            ("best rule", best, rule.optimizer(rule.knobs[0]).sent),
            ("Adam, one place", drift.CENTRAL, 0),
        ):
            table[label] = network(paths.sel(rule=rule_name).dropna("round").expand_dims("seed"), P * sent)
    if f"lbfgs_{name}" in histories:
        table["L-BFGS, one place"] = network(histories[f"lbfgs_{name}"].error.rename(evaluation="round"), 0)
    sums = histories[f"sums_{name}"].rename(evaluation="round")
    if TOGETHER in sums.level:
        table["projection, one place"] = network(sums.error.sel(level=TOGETHER, drop=True), 0)
    if level in sums.level:
        shown = sums.sel(level=level)
        table["sums"] = Way(shown.error, shown.bytes.isel(seed=0, drop=True))
    return table


def network(error: xarray.DataArray, sent: int) -> Way:
    """Of a training [round, seed] in which a client sends so many numbers in a round."""
    error = error.reset_coords(drop=True).transpose("round", "seed")
    return Way(error, FLOAT32 * sent * error["round"])


def final(
    name: str, table: Mapping[str, Way], histories: Mapping[str, xarray.Dataset], compared: drift.Results
) -> dict[str, np.ndarray]:
    """Label -> error (%) [seed] in the end of each way of a table: of rules and of Adam at the rates that validation
    points chose; where notebook 11 has no rates, as printed. Of sums on Poisson's equation all starts."""
    ends = {label: way.error.isel(round=-1).values for label, way in table.items()}
    if SHOWN[name].drift:
        ends.pop("FedAvg, as printed", None)
        errors = compared.errors[SHOWN[name].drift]
        rule_names = {"FedAvg, own rate": "FedAvg", "best rule": best_rule(errors), "Adam, one place": drift.CENTRAL}
        ends |= {label: errors.sel(rule=rule).values for label, rule in rule_names.items()}
    starts, same = histories.get("starts"), lambda table: (table.chosen_ridge, table.evaluation[-1])
    if name == "poisson" and starts is not None and same(starts) == same(histories["sums_poisson"]):
        ends["sums"] = starts.error.isel(evaluation=-1).values.ravel()
    return ends


def at_own_rate(steps: xarray.Dataset) -> xarray.DataArray:
    """Errors (%) [corrected, E, seed] at the rate of the least loss, a median over seeds."""
    score = steps.loss.median("seed").fillna(np.inf)
    return steps.error.isel(lr=score.argmin("lr")).reset_coords(drop=True)
