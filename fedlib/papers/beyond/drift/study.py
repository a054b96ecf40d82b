"""What notebook 11 trains, a file for each problem, and the labelled arrays that its figures and claims take.

``python -m fedlib train 11_client_drift --only poisson_8`` trains what is not stored of one problem.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import xarray

from ....federated import sweep
from ....federated.experiment import Experiment, data_of, rule_axis, rule_changes
from ....federated.history import History
from ....federated.rules import RULES as AGAINST_DRIFT
from ....federated.schedules import Cosine
from ....federated.solved import clouds_of, owners
from ....notebook import rules
from ....numerics.metrics import Ratio, after_holm, paired_ratio
from ....numerics.tabulated import excerpt
from ....trainings.calls import Call, Computed
from ....trainings.settings import paper
from ....trainings.store import Name
from ...fedsciml.forward.problem import poisson_in_halves
from . import problem

NOTEBOOK = "11_client_drift"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "poisson_8", "rules"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""
REPAIR = "fresh correction + averaged moments"
CENTRAL = "centralised"


class Studied(NamedTuple):
    """A problem at a level. share: of the steps that its own notebook trains."""

    make: Callable[[], Experiment]
    level: Hashable
    title: str
    share: float = 1.0


PROBLEMS = {
    "line_2": Studied(problem.line, 2, "wave, 2 pieces"),
    "line_10": Studied(problem.line, 10, "wave, 10 pieces"),
    "line_20": Studied(problem.line, 20, "wave, 20 pieces"),
    "line_50": Studied(problem.line, 50, "wave, 50 pieces"),
    "line_uneven": Studied(problem.uneven_line, 20, "wave, 20 pieces, uneven"),
    "square_4": Studied(problem.square, 4, "Schaffer, 4 slabs"),
    "poisson_8": Studied(poisson_in_halves, 8, "Poisson, 8 pieces"),
    "poisson_32": Studied(poisson_in_halves, 32, "Poisson, 32 pieces"),
    "helmholtz_4": Studied(problem.helmholtz, 4, "Helmholtz, 4 x 4 blocks"),
    "allen_cahn_4": Studied(problem.allen_cahn, 4, "Allen-Cahn, 4 pieces", share=0.3),
    "antiderivative_2": Studied(problem.antiderivative, 2, "antiderivative, n = 2"),
    "pendulum_shards": Studied(problem.one_shard, 1, "pendulum, 1 shard each"),
    "pendulum_fields": Studied(problem.two_fields, 2.0, "pendulum, two fields"),
}
"""Name -> problem. The seed draws the data where data are drawn; else all seeds share them, and differ in the start."""

RULES = {"problems": rules.one_of(*PROBLEMS), "share": rules.share()} | dict.fromkeys(
    ("rates", "further"), rules.positive()
)
"""Parameter -> what it may be."""


def check(p: Mapping) -> None:
    """ValueError where a table has a problem or a rule that there is not."""
    rules.check_tables(p, p["problems"], [*PROBLEMS], "rates")
    rules.check_tables(p, [], [*PROBLEMS], "further", "falling")
    tables = {f"{part}[{name!r}]": p[part][name] for part in ("rates", "further", "falling") for name in p[part]}
    rules.check_tables(tables, [], [*AGAINST_DRIFT, CENTRAL], *tables)


CONSTANT, FALLING = "constant", "falling"
SCHEDULES = {CONSTANT: ("rules", CENTRAL), FALLING: (FALLING, f"{FALLING}, {CENTRAL}")}
"""How the rate goes on, as it is or as a cosine to 0 -> parts of federations and of centralised models."""

FOLLOWED = {CONSTANT: "", FALLING: f", {FALLING}"}
"""The same -> the end of a name of what is followed."""

CURVE_RATES = (0.0003, 0.001, 0.003, 0.01)
"""At which curves are followed, of three seeds."""

PARTIAL = {"FedAvg": 0.001, "SCAFFOLD": 0.001, "averaged moments": 0.001, "fresh correction": 0.001, REPAIR: 0.003}
"""Rule -> its constant rate where a share of twenty pendulums takes part in each round."""


def rates(p: Mapping, name: str) -> dict[str, dict[str, dict[float, list[float]]]]:
    """Schedule -> rule -> knob -> rates at which it is tried on a problem; of what is centralised the knob is 0."""

    def by_knob(rule: str, lrs: Mapping | Sequence, more: Sequence = ()) -> dict[float, list[float]]:
        knobs = AGAINST_DRIFT[rule].knobs if rule != CENTRAL else (0.0,)
        lrs = lrs if isinstance(lrs, Mapping) else dict.fromkeys(knobs, lrs)
        return {knob: sorted({*lrs.get(knob, ()), *more}) for knob in knobs}

    table, more, falling = p["rates"][name], p["further"].get(name, {}), p["falling"].get(name, {})
    return {
        CONSTANT: {rule: by_knob(rule, table.get(rule, ()), more.get(rule, ())) for rule in {**table, **more}},
        FALLING: {rule: by_knob(rule, lrs) for rule, lrs in falling.items()},
    }


def lengths(p: Mapping, name: str) -> dict[str, dict]:
    """Schedule -> what makes a training of E local steps in a round, with as many steps in all for every E."""
    studied, E = PROBLEMS[name], p["local_updates"]
    experiment = studied.make()
    steps = p["share"] * studied.share * experiment.rounds * experiment.local.updates
    length = {"local": experiment.local._replace(updates=E), "rounds": max(1, round(steps / E))}
    return {CONSTANT: length, FALLING: length | {"decay": Cosine(length["rounds"])}}


def trainings(p: Mapping) -> dict[Name, Call | Computed]:
    """Of each problem "rules" and "centralised", at all constant rates, and what falls; "some", where a share of the
    clients takes part. ("rounds_...", kind): with curves on the way."""
    calls: dict[Name, Call | Computed] = {}
    for name in dict.fromkeys(p["problems"]):
        studied, length, parts = PROBLEMS[name], lengths(p, name), {}
        for schedule, lrs in rates(p, name).items():
            federated, central = SCHEDULES[schedule]
            if CENTRAL in lrs:
                parts[central] = CENTRAL, {"lr": lrs.pop(CENTRAL)[0.0]}, schedule
            if lrs:
                points = rule_axis([*lrs]).items()
                axis = {(*rule, lr): changes | {"lr": lr} for rule, changes in points for lr in lrs[rule[0]][rule[1]]}
                parts[federated] = "federated", {("rule", "knob", "lr"): axis}, schedule
        if name == "pendulum_shards":
            chosen = {(rule, lr): rule_changes(rule) | {"lr": lr} for rule, lr in PARTIAL.items()}
            parts["some"] = "federated", {("rule", "lr"): chosen, "fraction": [0.5, 0.1]}, CONSTANT
        for part, (kind, over, schedule) in parts.items():
            changes = {"evaluations": 20} | length[schedule]
            calls[name, part] = Call(studied.make, {}, [studied.level], p["seeds"], [kind], over, changes, models={})
        if name in problem.CURVES:
            two = {"rule": {rule: rule_changes(rule) for rule in ("FedAvg", REPAIR)}}
            for (kind, rule), schedule in product((("federated", two), (CENTRAL, {})), FOLLOWED):
                calls[f"rounds_{name}", kind + FOLLOWED[schedule]] = Call(
                    problem.followed, {"name": name}, [studied.level], [0, 1, 2], [kind],
                    rule | {"lr": [*CURVE_RATES]}, {"evaluations": 30} | length[schedule], models={},
                )  # fmt: skip
    return calls | {"earlier": Computed(earlier, {}, numerics=0)}


def earlier() -> xarray.Dataset:
    """What is stored of earlier runs and is no row, for it is a mean over seeds, or nobody knows its rate: "validation"
    (%) [problem, rule, lr], infinite where a seed diverged, "path" (%) [problem, rule, round], "local_steps" (%)
    [problem, rule, E, seed]; "again" (%) [case, time, seed], a setting trained twice in different stacks. A run adds
    nothing to it, and none replaces it: its numerics is 0."""
    return xarray.Dataset()


# what figures and claims take


class Results(NamedTuple):
    """What figures and claims take, by problem.

    errors (%) [rule, seed], called as the problem is: at the rate and the schedule that validation points chose for
    each rule, coordinates "lr", "knob" and "schedule" [rule]; "centralised" is a rule, too; NaN: it diverged. tried:
    name of a schedule -> ``Best``. local_steps: errors [rule, E, seed] at the best constant rate of each E.
    """

    errors: dict[str, xarray.DataArray]
    tried: dict[str, dict[str, "Best"]]
    local_steps: dict[str, xarray.DataArray]


class Best(NamedTuple):
    """Of a history with axes rule, knob, lr, at the best knob and rate: error (%) [rule, seed], its validation error
    (%) [rule], a mean over seeds, and so is path: error (%) [rule, round]."""

    error: xarray.DataArray
    score: xarray.DataArray
    path: xarray.DataArray


def results(p: Mapping, histories: Mapping[Name, History | xarray.Dataset]) -> Results:
    """Of what ``trainings(p)`` left."""
    tried = {name: both for name in PROBLEMS if (both := tried_on(name, histories))}
    errors = {name: better(both)[0].rename(PROBLEMS[name].title) for name, both in tried.items()}
    steps = {
        name: in_steps(tried[name][CONSTANT].error.expand_dims(E=[p["local_updates"]]), histories["earlier"], name)
        for name in problem.CURVES
        if name in tried
    }
    return Results(errors, tried, steps)


def tried_on(name: str, histories: Mapping[Name, History]) -> dict[str, Best]:
    """Schedule -> the best of each rule on a problem."""
    settings = {}
    for schedule, parts in SCHEDULES.items():
        if bests := [best(histories[name, part]) for part in parts if (name, part) in histories]:
            settings[schedule] = Best(
                *(xarray.concat(arrays, "rule", join="outer") for arrays in zip(*bests, strict=True))
            )
    return settings


def better(both: Mapping[str, Best]) -> tuple[xarray.DataArray, xarray.DataArray]:
    """(error, path) of each rule with the schedule of the smaller validation error, its name the coordinate "schedule"
    [rule]."""
    rules = both[CONSTANT].error["rule"].values.tolist()
    schedule = xarray.Variable("schedule", [*both])
    error, score, path = (
        xarray.concat(arrays, schedule, join="outer").sel(rule=rules) for arrays in zip(*both.values(), strict=True)
    )
    which = score.fillna(np.inf).argmin("schedule").drop_vars(["knob", "lr"], errors="ignore")
    return error.isel(schedule=which).transpose("rule", "seed"), path.isel(schedule=which).transpose("rule", "round")


def best(history: History) -> Best:
    """At the rate and knob with the smallest validation error, a mean over seeds; what diverges for a seed is out."""
    error, validation = (one_level(history, metric) for metric in ("error", "validation error"))
    if "rule" not in error.dims:
        error, validation = (values.expand_dims(rule=[CENTRAL], knob=[0.0]) for values in (error, validation))
    score = validation.isel(round=-1, drop=True).mean("seed", skipna=False).fillna(np.inf)
    chosen = error.isel(score.argmin(["knob", "lr"]))
    last = chosen.isel(round=-1, drop=True).transpose("rule", "seed", ...)
    return Best(last, score.min(["knob", "lr"]), chosen.mean("seed").transpose("rule", "round", ...))


def in_steps(values: xarray.DataArray, old: xarray.Dataset, name: str) -> xarray.DataArray:
    """Errors [rule, E, seed] of a problem, from few local steps to many; of an earlier run where there are none."""
    if (before := excerpt(old, "local_steps", problem=name)) is not None:
        values = values.combine_first(before.where(np.isfinite(before)))  # what diverged is no number, as everywhere
    values = values.reset_coords(drop=True).sortby("E").transpose("rule", "E", "seed")
    values.E.attrs["long_name"] = "local steps E in a round"
    return values.assign_attrs(long_name="error", units="%").rename(PROBLEMS[name].title)


def one_level(history: History, metric: str) -> xarray.DataArray:
    """A metric [round, seed, *over]."""
    return sweep.errors(history, metric).squeeze(("kind", "level"), drop=True).reset_coords(drop=True)


def some(history: History) -> xarray.DataArray:
    """Errors (%) [rule, fraction, seed], each rule at its own rate, where a share of the clients takes part."""
    return one_level(history, "error").isel(round=-1, drop=True).max("lr").transpose("rule", "fraction", "seed")


def followed(history_of: Callable[[Name], History], name: str) -> xarray.Dataset:
    """Of a problem on a line, from its trainings by name: what the first seed's models say on the way, "u" [schedule,
    rule, lr, round, x], beside the "truth" [x] and the "owner" [x] of each place; "error" (%) [schedule, rule, lr,
    round, seed] of all."""

    def one(schedule: str, kind: str) -> xarray.Dataset:
        history = history_of((f"rounds_{name}", kind + FOLLOWED[schedule]))
        u = history.metric("u", kind=kind, client=0).squeeze("level", drop=True).isel(seed=0, drop=True).rename(i="x")
        part = xarray.Dataset({"u": u, "error": one_level(history, "error")})
        return part if "rule" in part.dims else part.expand_dims(rule=[CENTRAL])

    schedules = [
        xarray.concat([one(schedule, kind) for kind in ("federated", CENTRAL)], "rule") for schedule in FOLLOWED
    ]
    table, experiment = xarray.concat(schedules, xarray.Variable("schedule", [*FOLLOWED])), problem.CURVES[name]()
    table.lr.attrs["long_name"] = "rate at the beginning"
    data = data_of(experiment, PROBLEMS[name].level)
    x, truth = (problem.thinned(data.test[part]).double().numpy() for part in ("x", "u"))
    coords = {"x": x[:, 0], "truth": ("x", truth), "owner": ("x", owners(x[:, 0], clouds_of(data)))}
    return table.assign_coords(coords).transpose("schedule", "rule", "lr", "round", "x", "seed")


def ratio(errors: xarray.DataArray, rule: str = REPAIR) -> Ratio:
    """Error of a rule over that of FedAvg, of errors [rule, seed]."""
    return paired_ratio(errors.sel(rule=rule), errors.sel(rule="FedAvg"))


def sure(errors: Mapping[str, xarray.DataArray], corrected: bool = False) -> dict[str, list[str]]:
    """Problems on which the repair is "better" or "worse" than FedAvg with 95 %; corrected: for as many tests as there
    are problems, by Holm's."""
    ratios = {name: ratio(values) for name, values in errors.items()}
    p = [one.p for one in ratios.values()]
    held = np.array([*ratios])[after_holm(p) if corrected else np.array(p) < 0.05].tolist()
    return {
        "better": [name for name in held if ratios[name].mean < 1],
        "worse": [name for name in held if ratios[name].mean > 1],
    }
