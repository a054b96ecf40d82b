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
from ....numerics.tabulated import excerpt, tabulated
from ....trainings.calls import Call, Computed, Tolerance
from ....trainings.settings import paper
from ....trainings.store import Name
from ...fedsciml.forward.problem import poisson_in_halves
from . import dissimilarity, ladders, prediction, problem

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

RULES = {
    "problems": rules.one_of(*PROBLEMS),
    **dict.fromkeys(("share", "early", "fractions"), rules.share()),
    **dict.fromkeys(("local_steps", "curves"), rules.whole()),
    "followed": rules.one_of(*problem.CURVES),
    "stale_on": rules.one_of("", *PROBLEMS),
    "measured": rules.one_of(*ladders.LADDERS),
    **dict.fromkeys(("rates", "further", "curve_rates"), rules.positive()),
    "predicted": rules.whole(2),
    **dict.fromkeys(("curve_seeds", "predicted_seeds"), rules.whole(0)),
}
"""Parameter -> what it may be."""


def check(p: Mapping) -> None:
    """ValueError where a table, or a list that may be empty, names a problem or a rule that there is not."""
    may_be_empty = dict.fromkeys(("steps_on", "partial_on"), rules.one_of(*PROBLEMS))
    may_be_empty["steps_rules"] = rules.one_of(*AGAINST_DRIFT)
    rules.check(p, **{name: rule for name, rule in may_be_empty.items() if p[name]})
    rules.check_tables(p, p["problems"], [*PROBLEMS], "rates")
    rules.check_tables(p, [], [*PROBLEMS], "further", "falling")
    rules.check_tables(p, [], [*prediction.PROBLEMS], "predicted", "predicted_seeds")
    if without := [name for name in p["problems"] if not {"FedAvg", CENTRAL} <= {*p["rates"][name]}]:
        raise ValueError(f"rates has no FedAvg, or no {CENTRAL}, for {without[0]}, with which all others are compared")
    tables = [table for part in ("rates", "further", "falling") for table in p[part].values()]
    named = [*p["partial"], *(rule for table in tables for rule in table)]
    if unknown := [rule for rule in named if rule not in (*AGAINST_DRIFT, CENTRAL)]:
        raise ValueError(
            f"rates, further, falling, partial: {unknown[0]!r} is no rule; expected "
            f"{', '.join([*AGAINST_DRIFT, CENTRAL])}"
        )


def rates(p: Mapping, name: str) -> dict[str, dict[float, list[float]]]:
    """Rule -> knob -> constant rates at which it is tried on a problem; of what is centralised the knob is 0."""
    table, more = p["rates"][name], p["further"].get(name, {})
    tried = {}
    for rule in {**table, **more}:
        constant, knobs = table.get(rule, []), AGAINST_DRIFT[rule].knobs if rule != CENTRAL else (0.0,)
        by_knob = constant if isinstance(constant, Mapping) else dict.fromkeys(knobs, constant)
        tried[rule] = {knob: sorted({*by_knob.get(knob, ()), *more.get(rule, ())}) for knob in knobs}
    return tried


def at_rates(lrs: Mapping[str, Mapping[float, Sequence[float]]]) -> dict:
    """Axis (rule, knob, lr) of ``sweep``: of rules, each at rates of its own."""
    points = rule_axis([*lrs]).items()
    return {(rule, knob, lr): changes | {"lr": lr} for (rule, knob), changes in points for lr in lrs[rule][knob]}


def lengths(p: Mapping, name: str, E: int) -> dict:
    """What makes a training of E local steps in a round, with as many steps in all for every E."""
    studied = PROBLEMS[name]
    experiment = studied.make()
    steps = p["share"] * studied.share * experiment.rounds * experiment.local.updates
    return {"local": experiment.local._replace(updates=E), "rounds": max(1, round(steps / E))}


CONSTANT, FALLING = "constant", "falling"
SCHEDULES = {CONSTANT: ("rules", CENTRAL), FALLING: (FALLING, f"{FALLING}, {CENTRAL}")}
"""How the rate goes on, as it is or as a cosine to 0 -> parts of federations and of centralised models."""

FOLLOWED = {CONSTANT: "", FALLING: f", {FALLING}"}
"""The same -> the end of a name of what is followed."""


def trainings(p: Mapping) -> dict[Name, Call | Computed]:
    """Of each problem "rules" and "centralised", at all rates; "local steps", with other numbers of them; "some", where
    a share of the clients takes part. ("rounds_...", kind): with curves on the way. What is computed of gradients. And
    what ``prediction`` asks for.
    """
    tried, three = {}, ("rule", "knob", "lr")
    for name in dict.fromkeys([*p["problems"], *p["steps_on"], *p["partial_on"]]):
        falling, lrs = p["falling"].get(name, {}), rates(p, name)
        tried[name, CENTRAL] = {"lr": lrs.pop(CENTRAL)[0.0]}
        tried[name, "rules"] = {three: at_rates(lrs)}
        if name in p["steps_on"] and p["steps_rules"]:
            others = [E for E in dict.fromkeys(p["local_steps"]) if p["local_updates"] != E]
            E_axis = {"E": {E: lengths(p, name, E) for E in others}}
            tried[name, "local steps"] = {three: at_rates({rule: lrs[rule] for rule in p["steps_rules"]})} | E_axis
        if federated := [rule for rule in falling if rule != CENTRAL]:
            fall = {rule: dict.fromkeys(AGAINST_DRIFT[rule].knobs, falling[rule]) for rule in federated}
            tried[name, FALLING] = {three: at_rates(fall)}
        if CENTRAL in falling:
            tried[name, SCHEDULES[FALLING][1]] = {"lr": falling[CENTRAL]}
        if name in p["partial_on"]:
            chosen = {(rule, lr): rule_changes(rule) | {"lr": lr} for rule, lr in p["partial"].items()}
            tried[name, "some"] = {("rule", "lr"): chosen, "fraction": p["fractions"]}
    calls: dict[Name, Call | Computed] = {}
    for (name, part), over in tried.items():
        changes = {"evaluations": p["evaluations"]} | ({} if "E" in over else lengths(p, name, p["local_updates"]))
        if part in SCHEDULES[FALLING]:
            changes["decay"] = Cosine(changes["rounds"])
        kinds = [CENTRAL if part.endswith(CENTRAL) else "federated"]
        make, level = PROBLEMS[name].make, PROBLEMS[name].level
        calls[name, part] = Call(make, {}, [level], p["seeds"], kinds, over, changes, models={})
    for name in p["followed"]:
        changes = {"evaluations": p["curves"]} | lengths(p, name, p["local_updates"])
        two = {"rule": {rule: rule_changes(rule) for rule in ("FedAvg", REPAIR)}}
        for (kind, rule), schedule in product((("federated", two), (CENTRAL, {})), FOLLOWED):
            decay = {"decay": Cosine(changes["rounds"])} if schedule == FALLING else {}
            calls[f"rounds_{name}", kind + FOLLOWED[schedule]] = Call(
                problem.followed, {"name": name}, [PROBLEMS[name].level], p["curve_seeds"], [kind],
                rule | {"lr": p["curve_rates"]}, changes | decay, models={},
            )  # fmt: skip
    calls["gradients"] = Computed(gradients, {"names": p["problems"], "seeds": p["seeds"], "share": p["early"]})
    if p["stale_on"]:
        walk = {
            "name": p["stale_on"],
            "rates": [min(p["curve_rates"]), max(p["curve_rates"])],
            "steps": max(p["local_steps"]) + 1,
        }
        calls["stale"] = Computed(staleness, walk | {"share": p["early"]}, tolerances={"off": FIRST})
    calls["earlier"] = Computed(earlier, {}, numerics=0)
    calls["measures"] = Computed(ladders.measured, {"ladders": p["measured"], "share": p["early"]})
    seeds = {name: p["predicted_seeds"].get(name, p["seeds"]) for name in p["predicted"]}
    return calls | prediction.trainings(p["predicted"], seeds, rounds=max(1, round(p["share"] * SQUARE_ROUNDS)))


SQUARE_ROUNDS = 3000
"""Of the square wave, which no other notebook has."""

FIRST = Tolerance(relative=0.2, first={"step": 10})
"""A walk of Adam with moments that begin at 0 divides by what is nearly nothing: later steps depend on rounding."""


def gradients(names: Sequence[str], seeds: Sequence[int], share: float) -> xarray.Dataset:
    """B [problem, seed, when] of the clients' gradients: at the common start, and at a centralised model after a share
    of the steps."""

    def both(problem: str, seed: int) -> dict:
        studied, experiment = PROBLEMS[problem], PROBLEMS[problem].make()
        theta = dissimilarity.on_the_way(experiment, studied.level, seed, share * studied.share)
        return {
            "B": (
                "when",
                [dissimilarity.dissimilarity(experiment, studied.level, seed, model) for model in (None, theta)],
            )
        }

    return tabulated(both, problem=names, seed=seeds).assign_coords(when=[*dissimilarity.WHEN])


def staleness(name: str, rates: Sequence[float], steps: int, share: float) -> xarray.Dataset:
    """How far a corrected gradient is "off" [lr, client, step] the one that it stands for, as a client walks away."""
    studied, experiment = PROBLEMS[name], PROBLEMS[name].make()
    theta = dissimilarity.on_the_way(experiment, studied.level, 0, share)

    def walked(lr: float) -> dict:
        return {"off": (("client", "step"), dissimilarity.staleness(experiment, studied.level, theta, lr, steps))}

    return tabulated(walked, lr=rates)


def earlier() -> xarray.Dataset:
    """What is stored of earlier runs and is no row, for it is a mean over seeds, or nobody knows its rate: "validation"
    (%) [problem, rule, lr], infinite where a seed diverged, "path" (%) [problem, rule, round], "local_steps" (%)
    [problem, rule, E, seed]; "again" (%) [case, time, seed], a setting trained twice in different stacks. A run adds
    nothing to it, and none replaces it: its numerics is 0."""
    return xarray.Dataset()


# what figures and claims take


class Results(NamedTuple):
    """What figures and claims take, by problem; where nothing of today is stored, what is kept of earlier runs.

    errors (%) [rule, seed]: at the rate and the schedule that validation points chose for each rule, coordinates "lr",
    "knob" and "schedule" [rule]; "centralised" is a rule, too; NaN: it diverged. paths: error (%) [rule, round], mean
    over seeds, of the same. tried: name of a schedule -> ``Best``. local_steps: errors [rule, E, seed] at the best
    constant rate of each E. some: errors [rule, fraction, seed]. curves: see ``followed``. B [problem, seed, when]: see
    ``gradients``. off: see ``staleness``. ladders, predicted: tables as of ``ranks``.
    """

    errors: dict[str, xarray.DataArray]
    paths: dict[str, xarray.DataArray]
    tried: dict[str, dict[str, "Best"]]
    local_steps: dict[str, xarray.DataArray]
    some: dict[str, xarray.DataArray]
    curves: dict[str, xarray.Dataset]
    B: xarray.DataArray | None
    off: xarray.DataArray | None
    ladders: dict[str, xarray.Dataset]
    predicted: dict[str, xarray.Dataset]


class Best(NamedTuple):
    """Of a history with axes rule, knob, lr, and perhaps E, at the best knob, and but for the ladder at the best rate:
    error (%) [rule, seed]; ladder: validation error (%) [rule, lr] and path: error (%) [rule, round], means over
    seeds."""

    error: xarray.DataArray
    ladder: xarray.DataArray
    path: xarray.DataArray


def results(p: Mapping, histories: Mapping[Name, History | xarray.Dataset]) -> Results:
    """Of what ``trainings(p)`` left."""
    old = histories["earlier"]
    by_part = {key: best(histories[key]) for key in PARTS if key in histories}
    tried: dict[str, dict[str, Best]] = {}
    for name, (schedule, both) in product(PROBLEMS, SCHEDULES.items()):
        if parts := [by_part[name, part] for part in both if (name, part) in by_part]:
            joined = Best(*(xarray.concat(arrays, "rule", join="outer") for arrays in zip(*parts, strict=True)))
            if schedule == CONSTANT:
                joined = joined._replace(path=with_earlier(joined.path, old, "path", name))
            tried.setdefault(name, {})[schedule] = joined
    chosen = {name: better(both) for name, both in tried.items()}
    for name, both in tried.items():
        ladder = with_earlier(both[CONSTANT].ladder, old, "validation", name)
        both[CONSTANT] = both[CONSTANT]._replace(ladder=ladder)
    steps = {}
    for name in p["steps_on"]:
        parts = [by_part[name, "local steps"].error] if (name, "local steps") in by_part else []
        if name in tried:
            parts.append(tried[name][CONSTANT].error.expand_dims(E=[p["local_updates"]]))
        parts = [part.reset_coords(drop=True) for part in parts]
        steps[name] = xarray.concat(parts, "E", join="outer") if parts else None
    return Results(
        {name: error for name, (error, _) in chosen.items()},
        {name: path for name, (_, path) in chosen.items()},
        tried,
        {n: in_steps(with_earlier(values, old, "local_steps", n)) for n, values in steps.items()},
        {name: some(histories[name, "some"]) for name in p["partial_on"] if (name, "some") in histories},
        {
            name: followed(histories.__getitem__, name)
            for name in p["followed"]
            if (f"rounds_{name}", CENTRAL) in histories
        },
        histories["gradients"].B if "gradients" in histories else None,
        histories["stale"].off if "stale" in histories else None,
        ladders.with_errors(histories["measures"]) if "measures" in histories else {},
        prediction.with_errors(histories),
    )


def better(both: Mapping[str, Best]) -> tuple[xarray.DataArray, xarray.DataArray]:
    """(error, path) of each rule with the schedule of the smaller validation error, its name the coordinate "schedule"
    [rule]."""
    rules = both[CONSTANT].error["rule"].values.tolist()
    least = {schedule: one.ladder.min("lr").reindex(rule=rules).fillna(np.inf) for schedule, one in both.items()}
    which = {rule: min(least, key=lambda schedule: float(least[schedule].sel(rule=rule))) for rule in rules}

    def of_each(field: str) -> xarray.DataArray:
        parts = [getattr(both[which[rule]], field).sel(rule=[rule]) for rule in rules]
        return xarray.concat(parts, "rule", join="outer").assign_coords(schedule=("rule", [*which.values()]))

    return of_each("error"), of_each("path")


PARTS = [(name, part) for name in PROBLEMS for part in (*SCHEDULES[CONSTANT], *SCHEDULES[FALLING], "local steps")]


def best(history: History) -> Best:
    """At the rate and knob with the smallest validation error, a mean over seeds; what diverges for a seed is out."""
    error, validation = (one_level(history, metric) for metric in ("error", "validation error"))
    if "rule" not in error.dims:
        error, validation = (values.expand_dims(rule=[CENTRAL], knob=[0.0]) for values in (error, validation))
    score = validation.isel(round=-1, drop=True).mean("seed", skipna=False)
    chosen = error.isel(score.fillna(np.inf).argmin(["knob", "lr"]))
    last = chosen.isel(round=-1, drop=True).transpose("rule", "seed", ...)
    return Best(
        last, score.min("knob").transpose("rule", "lr", ...), chosen.mean("seed").transpose("rule", "round", ...)
    )


def in_steps(values: xarray.DataArray) -> xarray.DataArray:
    """Errors [rule, E, seed], from few local steps to many."""
    return values.sortby("E").transpose("rule", "E", "seed")


def one_level(history: History, metric: str) -> xarray.DataArray:
    """A metric [round, seed, *over]."""
    return sweep.errors(history, metric).squeeze(("kind", "level"), drop=True).reset_coords(drop=True)


def some(history: History) -> xarray.DataArray:
    """Errors (%) [rule, fraction, seed], each rule at its own rate."""
    return one_level(history, "error").isel(round=-1, drop=True).max("lr").transpose("rule", "fraction", "seed")


def with_earlier(values: xarray.DataArray | None, old: xarray.Dataset, variable: str, name: str) -> xarray.DataArray:
    """Values of a problem, and where they have none those of an earlier run."""
    if (before := excerpt(old, variable, problem=name)) is None:
        return values
    before = before.where(np.isfinite(before))  # what diverged is no number, as everywhere
    return before if values is None else values.combine_first(before)


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
    data = data_of(experiment, PROBLEMS[name].level)
    x, truth = (data.test[part].double().numpy() for part in ("x", "u"))
    every = max(1, len(x) // problem.PLACES)
    x, truth = x[::every, 0], truth[::every]
    whose = owners(x, clouds_of(data))
    coords = {"x": x, "truth": ("x", truth), "owner": ("x", whose)}
    return table.assign_coords(coords).transpose("schedule", "rule", "lr", "round", "x", "seed")


def ratio(errors: xarray.DataArray, rule: str, to: str = "FedAvg") -> Ratio:
    """Error of a rule over that of FedAvg, of errors [rule, seed]."""
    return paired_ratio(errors.sel(rule=rule), errors.sel(rule=to))


def sure(errors: Mapping[str, xarray.DataArray], rule: str = REPAIR, corrected: bool = False) -> dict[str, list[str]]:
    """Problems on which a rule is "better" or "worse" than FedAvg with 95 %; corrected: for as many tests as there are
    problems, by Holm's."""
    ratios = {name: ratio(values, rule) for name, values in errors.items()}
    p = [one.p for one in ratios.values()]
    held = after_holm(p) if corrected else np.array(p) < 0.05
    names = np.array([*ratios])[held].tolist()
    return {
        "better": [name for name in names if ratios[name].mean < 1],
        "worse": [name for name in names if ratios[name].mean > 1],
    }
