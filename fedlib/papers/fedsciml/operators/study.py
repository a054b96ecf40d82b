"""What notebook 07 trains, a file for each operator, and the labelled arrays that its figures and claims take.

``python -m fedlib train 07_operator_learning --only antiderivative`` trains what is not stored of one operator.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
import xarray

from ....federated import sweep
from ....federated.batches import Local
from ....federated.history import History, gathered
from ....federated.stack import predict
from ....notebook import rules
from ....numerics.metrics import percent
from ....numerics.spaces import TERMS, chebyshev_series, support
from ....trainings.calls import Call
from ....trainings.settings import committed, paper
from ....trainings.store import Name
from .problem import TITLES, draws, fading, federated_operator, learn

NOTEBOOK = "07_operator_learning"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "antiderivative", "levels", 50_000
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""
LINE = "antiderivative"


class Studied(NamedTuple):
    """An operator of the notebook.

    functions: of a client; tests: functions on which models are tested. grid: lines of the 101 x 101 points that enter
    the loss. central: levels of one model with the functions of all. seeds: so many of the notebook's, or all: a row of
    diffusion-reaction takes 0.1 core-hours. E: other numbers of local steps between two averages, at these E_levels,
    after at most E_steps.
    """

    functions: int
    tests: int
    grid: Mapping[str, Sequence[int]] = {}
    central: Sequence[int] = range(1, TERMS + 1)
    seeds: int | None = None
    E: Sequence[int] = ()
    E_levels: Sequence[int] = ()
    E_steps: int = 50_000


PLACES = tuple(range(0, 101, 5))
BURGERS = {"places": PLACES, "times": (0, 1, 2, 3, 4, 6, 9, 13, 19, 28, 40, 55, 75, 100)}
STUDIES = {
    LINE: Studied(100, 1000, E=(1, 20, 100, 1000), E_levels=(2, 5, 10)),
    "diffusion_reaction": Studied(
        250, 1000, {"places": PLACES, "times": tuple(range(0, 101, 10))}, seeds=1,
        E=(1, 100, 1000), E_levels=(5, 10), E_steps=5000,
    ),
    "burgers_2": Studied(100, 500, BURGERS, central=(TERMS,)),
    "burgers_3": Studied(66, 500, BURGERS, central=(TERMS,)),
}  # fmt: skip
"""Figs. 12 to 15, Table 4; the paper has all 101 x 101 points, and as many steps for other E."""

JUMP, JUMP_SEEDS = (5, 6), range(20)
"""Levels of the antiderivative that have more seeds, and these."""

EXAMPLES = {LINE: (6, 10), "diffusion_reaction": (10,), "burgers_2": (5, 10)}
"""Levels n of the paper's examples: Figs. 12C, D, 13, 14D, E."""
EXAMPLE_STEPS = 50_000
"""T of the paper's examples; one seed."""

RULES = {"problems": rules.one_of(*TITLES), "levels": rules.whole(1, TERMS), "steps": rules.whole()}
"""Parameter -> what it may be."""


def check(p: Mapping) -> None:
    """ValueError where a table has no entry for an operator, or a level cannot be."""
    rules.check_tables(p, p["problems"], [*TITLES], "levels", "steps")
    for n in p["levels"].get("burgers_3", ()):
        support("middle", n)


def trainings(p: Mapping) -> dict[Name, Call]:
    """Of each operator, after T local steps, "levels", and "central", one model with the functions of all; for the
    antiderivative "jump", with many seeds; "local steps", with other numbers E of them between two averages, and
    "extremes", the least and the largest E at the other levels, with one seed; at the paper's settings the longer
    trainings of its examples.
    """
    E, seeds, calls = p["local_updates"], [*dict.fromkeys(p["seeds"])], {}

    def steps(T: int, E: int) -> dict:
        return {"rounds": max(1, T // E), "local": Local(E)}

    for name in p["problems"]:
        study, T, line = STUDIES[name], p["steps"][name], name == LINE
        arguments = {"name": name, "functions": study.functions, "tests": study.tests, **study.grid}
        train = partial(Call, federated_operator, arguments, apart=not line)
        changes, both = {"lr": p["lr"], "evaluations": 10}, ["isolated", "federated"]
        rows = seeds[: study.seeds]
        first = seeds if line else seeds[:1]  # whose models are kept; a field's take megabytes
        kept = {"federated": first, "isolated": seeds[:1]}
        if p == PAPER and T < EXAMPLE_STEPS:
            if name in EXAMPLES:
                longer = changes | steps(EXAMPLE_STEPS, E)
                longest = train(EXAMPLES[name], seeds[:1], both, changes=longer, models=kept)
                calls[name, "levels", EXAMPLE_STEPS] = longest
            first, kept = [], {}  # examples are of the longer ones
        whole, levels = changes | steps(T, E), [*dict.fromkeys(p["levels"][name])]
        calls[name, "levels", T] = train(levels, rows, both, changes=whole, models=kept)
        if central := [n for n in levels if n in study.central]:
            models = {"centralised": first}
            calls[name, "central", T] = train(central, rows, ["centralised"], changes=whole, models=models)
        if line and {*JUMP} <= {*levels}:
            models = dict.fromkeys(("federated", "centralised"), seeds) | {"isolated": seeds[:1]}
            calls[name, "jump", T] = train([*JUMP], [*JUMP_SEEDS], [*models], changes=whole, models=models)
        T = min(T, study.E_steps)
        over = {e: steps(T, e) for e in study.E if e != E and e <= T}
        tried, others = ([n for n in levels if (n in study.E_levels) == both] for both in (True, False))
        if over and tried:
            train = partial(train, kinds=["federated"], changes=changes | {"evaluations": 1}, models={})
            calls[name, "local steps", T] = train(tried, rows, over={"E": over})
            if line and others:
                ends = {e: over[e] for e in sorted({min(over), max(over)})}
                calls[name, "extremes", T] = train(others, rows[:1], over={"E": ends})
    return calls


# what figures and claims take


class Results(NamedTuple):
    """What figures and claims take, by operator; the antiderivative's two levels of JUMP have more seeds.

    last: errors (%) after training [kind, level, seed], kinds "client 1 alone", ..., "federated", "centralised".
    divergence: of the antiderivative's weights [seed, level, matrix], or None; functions: that of notebook 04's
    networks on a line. local: federated errors (%) [E, level, seed], and attrs["steps"]. examples: (operator, n) ->
    ``example``. faded: what Burgers leaves of the variation (%), or None.
    """

    last: dict[str, xarray.DataArray]
    divergence: xarray.DataArray | None
    functions: xarray.DataArray | None
    local: dict[str, xarray.DataArray]
    examples: dict[tuple[str, int], xarray.Dataset]
    faded: float | None


def results(p: Mapping, histories: Mapping[Name, History]) -> Results:
    """Of what ``trainings(p)`` left; what is not there is left out."""
    last, local = {}, {}
    for name in p["problems"]:
        T = p["steps"][name]
        if (name, "levels", T) in histories:
            errors = sweep.errors(joined(histories, name, T, *PARTS), alone="each").isel(round=-1, drop=True)
            last[name] = titled(errors.sortby("level"), name, T)
        few = min(T, STUDIES[name].E_steps)
        if others := joined(histories, name, few, "local steps", "extremes"):
            errors = sweep.errors(others).sel(kind="federated", drop=True).isel(round=-1, drop=True)
            if few == T and name in last:
                same = last[name].sel(kind="federated", drop=True).reindex_like(errors.isel(E=0))
                errors = xarray.concat([errors, same.assign_coords(E=p["local_updates"])], "E")
            values = errors.dropna("E", how="all").sortby(["E", "level", "seed"])
            local[name] = titled(values.transpose("E", "level", "seed"), name, few).assign_attrs(steps=few)
    seed, burgers = p["seeds"][0], any(name.startswith("burgers") for name in last)
    return Results(
        last,
        divergence(joined(histories, LINE, p["steps"].get(LINE, 0), "levels", "central")),
        of_functions(committed("04_function_approximation")),
        local,
        examples(histories, seed),
        fading(draws("forward", TERMS, 100, seed, "fading")) if burgers else None,
    )


PARTS = ("levels", "central", "jump")


def joined(histories: Mapping[Name, History], name: str, T: int, *among: str) -> History | None:
    """One history of what is there of the trainings of an operator with T steps; a row that two of them have is the
    first one's."""
    parts = [histories[name, part, T] for part in among if (name, part, T) in histories][::-1]
    rows = dict.fromkeys(key for history in parts for key in history.rows)
    return gathered(parts, [*rows]) if parts else None


def titled(values: xarray.DataArray, name: str, T: int | None = None) -> xarray.DataArray:
    """With the paper's axis, and beside it how many terms a client does not know; with the operator, and after how many
    local steps."""
    values = values.assign_coords(unknown=("level", TERMS - values.level.values))
    values["level"].attrs |= {"long_name": "n", "scale": "linear"}
    title = TITLES[name] + (f", T = {T:_}".replace("_", " ") if T else "")
    return values.rename(title).assign_attrs(level="terms that each client knows, n")


def divergence(history: History | None) -> xarray.DataArray | None:
    """Relative divergence of the federated weights from the centralised ones [seed, level, matrix], of the matrices
    "branch 1", ..., "trunk 1", ..., or None: there are no levels that have both."""
    if history is None or "centralised" not in history.labels("kind") or not sweep.whole_levels(history):
        return None
    operator = learn(LINE)
    names = [f"{part} {i}" for part in ("branch", "trunk") for i in range(1, len(getattr(operator, part)))]
    values = titled(sweep.divergences(history, operator.net()), LINE)
    return values.assign_coords(matrix=names)


def of_functions(result: Mapping) -> xarray.DataArray | None:
    """Divergence [seed, level, matrix] of the networks on a line that a committed result of notebook 04 has."""
    if not result:
        return None
    values = np.array(result["metrics"]["weight_divergence"]["line"])
    return xarray.DataArray(values, {"level": result["metrics"]["levels"]["line"]}, ("seed", "level", "matrix"))


# the paper's examples


def examples(histories: Mapping[Name, History], seed: int) -> dict[tuple[str, int], xarray.Dataset]:
    """(operator, n) -> ``example`` of EXAMPLES, where the models are kept."""
    shown = {}
    for name, levels in EXAMPLES.items():
        if history := joined(histories, name, EXAMPLE_STEPS, *PARTS):
            kept = {n: models(history, n, seed) for n in levels if ("isolated", n, seed) in history.rows}
            shown |= {(name, n): example(name, rows, seed) for n, rows in kept.items() if "federated" in rows}
    return shown


def models(history: History, n: int, seed: int) -> dict[str, torch.Tensor]:
    """Label -> parameters [P], of those that are kept."""
    rows = {f"client {k + 1} alone": row for k, row in enumerate(history.models("isolated", n, seed))}
    for kind in ("centralised", "federated"):
        if (kind, n, seed) in history.rows:
            rows[kind] = history.model(kind, n, seed)
    return {label: row for label, row in rows.items() if row.isfinite().all()}


def example(name: str, rows: Mapping[str, torch.Tensor], seed: int) -> xarray.Dataset:
    """One function: "v" [x] an input, "truth" [place] its image, "u" [model, place] what models say, and "error" (%)
    [model]. It is the first of its stream, the same for all operators."""
    operator, c = learn(name), draws("forward", TERMS, 1, seed, "picture")
    pairs, x = operator.pairs(c), np.linspace(0, 1, operator.branch[0])
    v, y, truth = pairs["u"], torch.as_tensor(operator.points).float(), pairs["s"][0].numpy()
    u = {label: predict(operator.net(), row, v, y)[0].numpy() for label, row in rows.items()}
    return xarray.Dataset(
        {
            "v": ("x", chebyshev_series(c, x)[0]),
            "truth": ("place", truth),
            "u": (("model", "place"), [*u.values()]),
            "error": ("model", [percent(answer, truth) for answer in u.values()]),
        },
        {"model": [*u], "x": x},
    )
