"""What notebook 14 computes, and the labelled arrays that its figures and claims take."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import xarray

from ....federated.rules import RULES as AGAINST_DRIFT
from ....federated.stack import parameter_count
from ....federated.sweep import errors
from ....notebook import rules
from ....trainings.calls import TIMED, Computed, Tolerance
from ....trainings.settings import paper
from ....trainings.store import stored
from ...fedsciml.forward import study as forward
from .. import ways
from ..drift.study import CENTRAL
from ..ways import Place, Way
from .limits import revealed, stiffness
from .problem import PROBLEMS, TOGETHER, by_sums, data_at, without_projection

NOTEBOOK = "14_sums_for_networks"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "begun"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""

RULES = {"problems": rules.one_of(*PROBLEMS), **dict.fromkeys(("levels", "looks"), rules.whole(1))}
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

SEEDS = [0, 1, 2, 3, 4]  # of the start
LEAST_RIDGE = 1e-14  # in units of the mean square of a column, as all ridges
RIDGES = [1e-14, 1e-12, 1e-10, 1e-8]


def tuned(tuning: int, after: int, ridges: list[float] = RIDGES) -> dict:
    """How a ridge is chosen: by so many seeds, none of those that are shown, after so many evaluations."""
    return {"ridges": ridges, "tuning": [*range(1000, 1000 + tuning)], "tuned": after}


TUNED = {
    "poisson": tuned(3, 200, [1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8]),
    "helmholtz": tuned(2, 150),
    "wave": tuned(3, 200),
    "schaffer": tuned(3, 200),
    "beam": tuned(3, 100),
}

UNPROJECTED = {
    "poisson": [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000],
    "helmholtz": [1, 2, 5, 10, 20, 50, 100, 200, 300, 500, 1000],
    "wave": [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000],
    "schaffer": [1, 2, 5, 10, 20, 50, 100, 200, 300, 500, 1000],
    "beam": [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
}
"""Numbers of evaluations of L-BFGS on all weights."""

CHAOTIC = Tolerance(relative=1e-2, first={"evaluation": 2})
"""A step amplifies the rounding of all before it."""

ANYTHING = Tolerance(absolute=float("inf"))
TOLERANCES = {**dict.fromkeys(("error", "loss"), CHAOTIC), "bytes": Tolerance(relative=0.1), "seconds": TIMED}
TOLERANCES |= dict.fromkeys(("tried", "score", "evaluations", "u"), ANYTHING)
WALKED = {name: Tolerance(relative=0.5, first={"evaluation": 1}) for name in ("loss", "foot", "size", "each", "mean")}
POINTS = {"off": ANYTHING, "products": Tolerance(absolute=3, first={"evaluation": 1})}
"""Points are found, or may be anywhere; the claims of the room say which must be found."""


def check(p: Mapping) -> None:
    """ValueError where a table lacks a problem, or points do not allow a level."""
    rules.check_tables(p, p["problems"], [*PROBLEMS], "levels", "looks")
    for name in p["problems"]:
        for level in p["levels"][name]:
            data_at(name, level)


def trainings(p: Mapping) -> dict[str, Computed]:
    """Variable projection by sums ("sums_..."; "begun": so little of it that each run computes it again), and the same
    optimiser without it ("lbfgs_..."); more starts of Poisson ("starts"); and where it ends: "stiff", "told"."""
    calls = {}
    for name in p["problems"]:
        shared = {"name": name, "seeds": SEEDS}
        arguments = {argument: p[argument][name] for argument in ("levels", "looks")} | TUNED[name]
        calls[f"sums_{name}"] = Computed(by_sums, shared | arguments, tolerances=TOLERANCES)
        calls[f"lbfgs_{name}"] = Computed(
            without_projection, shared | {"looks": UNPROJECTED[name]}, tolerances=TOLERANCES
        )
    poisson, fixed = {"name": "poisson", "levels": [8]}, tuned(1, 1, [LEAST_RIDGE])
    starts, little = {"seeds": [*range(20)], "looks": [50, 100, 200]}, {"seeds": [0], "looks": [1, 10]}
    calls["starts"] = Computed(by_sums, poisson | fixed | starts, tolerances=TOLERANCES)
    calls["begun"] = Computed(by_sums, poisson | fixed | little, tolerances=TOLERANCES)
    walked = {"name": "poisson", "level": 8, "seeds": SEEDS[:3], "ridge": LEAST_RIDGE} | p["stiffness"]
    calls["stiff"] = Computed(stiffness, walked, tolerances=WALKED)
    attacked = {"level": 8, "seeds": SEEDS[:3], "ridge": LEAST_RIDGE} | p["told"]
    calls["told"] = Computed(revealed, attacked, tolerances=POINTS)
    return calls


# what figures and claims take


class Results(NamedTuple):
    """ways: problem -> label -> ``Way``, at the level of SHOWN; notebook 11 keeps a mean over seeds on the way: one
    "seed". places: errors in the end, each way at its own rate. sums: problem -> what ``by_sums`` computed. starts,
    stiff, attack: what their functions did; None where it is not there.
    """

    ways: Mapping[str, Mapping[str, Way]]
    places: list[Place]
    sums: Mapping[str, xarray.Dataset]
    starts: xarray.Dataset | None
    stiff: xarray.Dataset | None
    attack: xarray.Dataset | None


def results(p: Mapping, histories: Mapping[str, xarray.Dataset]) -> Results:
    """Of what ``trainings(p)`` left; averaged networks are those that notebooks 05 and 11 have stored."""
    sums = {name: histories[f"sums_{name}"] for name in p["problems"] if f"sums_{name}" in histories}
    compared = {name: ways.of_drift(SHOWN[name].drift) for name in sums if SHOWN[name].drift}
    both = {name: ways_of(name, histories, compared) for name in sums}
    starts, places = histories.get("starts"), []
    for name, table in both.items():
        ends = {label: way.error.isel(round=-1).values for label, way in table.items()}
        if name in compared:  # of rules and of Adam at the rates that validation points chose; else as printed
            ends = {label: values for label, values in ends.items() if label != "FedAvg, as printed"}
            chosen, _ = compared[name]
            ends |= {label: chosen.sel(rule=rule).values for label, rule in rules_of(chosen).items()}
        same = lambda table: (table.chosen_ridge, table.evaluation[-1])  # noqa: E731
        if name == "poisson" and starts is not None and same(starts) == same(sums[name]):
            ends["sums"] = starts.error.isel(evaluation=-1).values.ravel()
        places += [place(name, label, error, table.get(label), sums[name]) for label, error in ends.items()]
    return Results(both, places, sums, starts, *(histories.get(name) for name in ("stiff", "told")))


def rules_of(chosen: xarray.DataArray) -> dict[str, str]:
    """What is shown of notebook 11's rules [rule, seed]; the best one is that with the least median error."""
    best = chosen.drop_sel(rule=CENTRAL).median("seed").idxmin("rule").item()
    return {"FedAvg, best rate": "FedAvg", "best rule": best, "Adam, one place": CENTRAL}


def ways_of(
    name: str, histories: Mapping[str, xarray.Dataset], compared: Mapping[str, tuple[xarray.DataArray, ...]]
) -> dict[str, Way]:
    """Label -> what there is of a problem on the way."""
    level = SHOWN[name].level
    P, table = parameter_count(PROBLEMS[name].make().net), {}
    if name in AVERAGED:
        printed = errors(stored(forward, name)).sel(level=level)
        table["FedAvg, as printed"] = ways.network(printed.sel(kind="federated"), P)
    if name in compared:
        chosen, paths = compared[name]
        for label, rule in rules_of(chosen).items():
            sent = 0 if rule == CENTRAL else AGAINST_DRIFT[rule].optimizer(AGAINST_DRIFT[rule].knobs[0]).sent
            path = paths.sel(rule=rule).dropna("round").expand_dims(seed=[0])
            table[label] = ways.network(path, P * sent)
    else:
        table["Adam, one place"] = ways.network(printed.sel(kind="centralised"), 0)
    if f"lbfgs_{name}" in histories:
        table["L-BFGS, one place"] = ways.network(histories[f"lbfgs_{name}"].error.rename(evaluation="round"), 0)
    sums = histories[f"sums_{name}"].rename(evaluation="round")
    if TOGETHER in sums.level:
        table["projection, one place"] = ways.network(sums.error.sel(level=TOGETHER), 0)
    if level in sums.level:
        shown = sums.sel(level=level, drop=True)
        table["sums"] = Way(shown.error, shown.bytes.mean("seed"))
    return table


def place(name: str, label: str, error: np.ndarray, way: Way, sums: xarray.Dataset) -> Place:
    """A way in the end; rounds of what is in one place: evaluations, or rounds of five steps of Adam."""
    level = {"sums": SHOWN[name].level, "projection, one place": TOGETHER}.get(label)
    seconds = float(sums.seconds.sel(level=level).median()) if level else None
    notebook = "" if level or label.startswith("L-BFGS") else "11" if SHOWN[name].drift else "05"
    return Place(SHOWN[name].title, label, error, int(way.error["round"][-1]), float(way.bytes[-1]), seconds, notebook)
