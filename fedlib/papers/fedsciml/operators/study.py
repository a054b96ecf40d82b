"""What notebook 07 trains, a file for each operator, and the labelled arrays that its figures and claims take.

``python -m fedlib train 07_operator_learning --only antiderivative`` trains what is not stored of one operator.
"""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
import xarray

from ....federated import sweep
from ....federated.batches import Local
from ....federated.history import History, gathered
from ....federated.stack import as_dict, predict
from ....notebook import rules
from ....numerics.heterogeneity import weight_divergence
from ....numerics.metrics import percent
from ....numerics.spaces import TERMS, chebyshev_series, support
from ....numerics.tabulated import excerpt
from ....trainings.calls import Call, Computed, Tolerance
from ....trainings.settings import committed, paper
from ....trainings.store import Name, folder_of, histories_of
from .problem import TITLES, draws, fading, federated_operator, learn

NOTEBOOK = "07_operator_learning"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "antiderivative", "levels", 50_000
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""
LINE = "antiderivative"

EXAMPLES = {LINE: (6, 10), "diffusion_reaction": (10,), "burgers_2": (5, 10)}
"""Levels n of the paper's examples: Figs. 12C, D, 13, 14D, E."""
DEAR = ("diffusion_reaction",)
"""Operators that are trained with the first seed only: a seed at one level takes 0.1 core-hours."""

TERM = rules.whole(1, TERMS)
LINES = rules.one_of(*(d for d in range(1, 101) if 100 % d == 0))

RULES = {
    "problems": rules.one_of(*TITLES),
    **dict.fromkeys(("levels", "central_levels", "E_levels"), TERM),
    **dict.fromkeys(("functions", "test_functions", "steps", "E_values", "E_steps"), rules.whole()),
    "E_seeds": rules.whole(0),
    "viscosity": rules.number(0.0625),  # below it a front may be thinner than the grid: the solver refuses it
    **dict.fromkeys(("diffusion_reaction_every", "burgers_every"), LINES),
    "burgers_times": rules.whole(0, 100),
}
"""Parameter -> what it may be."""

MAY_BE_EMPTY = {"jump_levels": TERM, "jump_seeds": rules.whole(0), "apart_levels": TERM}
"""The same of lists that may be empty."""


def check(p: Mapping) -> None:
    """ValueError where a table has no entry for an operator, or a level or a number of steps cannot be."""
    rules.check(p, **{name: rule for name, rule in MAY_BE_EMPTY.items() if p[name]})
    rules.check_tables(p, p["problems"], [*TITLES], "levels", "functions", "test_functions", "steps")
    rules.check_tables(p, [], [*TITLES], "central_levels")
    studied = [name for name in p["problems"] if name in p["E_values"]]
    rules.check_tables(p, studied, [*TITLES], "E_values", "E_levels", "E_seeds", "E_steps")
    for n in {*p["levels"].get("burgers_3", ()), *p["central_levels"].get("burgers_3", ())}:
        support("middle", n)
    for name in studied:
        if max(p["E_values"][name]) > min(p["E_steps"][name]):
            raise ValueError(
                f"E_values = {p['E_values']}: expected at most all {min(p['E_steps'][name])} steps of {name}"
            )
    if len(every := p["diffusion_reaction_every"]) != 2:
        raise ValueError(f"diffusion_reaction_every = {every}: expected two numbers, for x and for t")


def arguments(p: Mapping, name: str) -> dict:
    """Of ``federated_operator``."""
    x, t = p["diffusion_reaction_every"]
    grids = {
        "diffusion_reaction": {"places": [*range(0, 101, x)], "times": [*range(0, 101, t)]},
        "burgers": {"places": [*range(0, 101, p["burgers_every"])], "times": p["burgers_times"], "nu": p["viscosity"]},
    }
    shared = {"name": name, "functions": p["functions"][name], "tests": p["test_functions"][name]}
    return shared | grids.get(name.removesuffix("_2").removesuffix("_3"), {})


def trainings(p: Mapping) -> dict[Name, Call | Computed]:
    """Of each operator and each number of steps T "levels", and "central", one model with the functions of all; for the
    antiderivative "jump", with many seeds, and "apart", whose clients start apart; "local steps", with other numbers E
    of them between two averages, and "extremes", the least and the largest E at the other levels, with one seed. Of
    several T the largest is trained at the levels of EXAMPLES only, with one seed. "earlier": what is no row.
    "examples": see ``of_stored``.
    """
    E, seeds, calls = p["local_updates"], [*dict.fromkeys(p["seeds"])], {}
    for name in p["problems"]:
        line = name == LINE
        first = seeds if line else seeds[:1]  # whose models are kept; those of a field take megabytes
        train = partial(Call, federated_operator, arguments(p, name), apart=not line)
        rows = seeds[:1] if name in DEAR else seeds
        for T in dict.fromkeys(p["steps"][name]):
            changes = {"rounds": max(1, T // E), "local": Local(E), "lr": p["lr"], "evaluations": p["evaluations"]}
            kept = {"federated": first, "isolated": seeds[:1]}
            both = ["isolated", "federated"]
            if T == max(p["steps"][name]) > min(p["steps"][name]) and name in EXAMPLES:
                calls[name, "levels", T] = train(EXAMPLES[name], seeds[:1], both, changes=changes, models=kept)
                continue
            levels = [*dict.fromkeys(p["levels"][name])]
            calls[name, "levels", T] = train(levels, rows, both, changes=changes, models=kept)
            if central := p["central_levels"].get(name):
                kept, one = {"centralised": first}, [*dict.fromkeys(central)]
                calls[name, "central", T] = train(one, rows, ["centralised"], changes=changes, models=kept)
            if line and p["jump_levels"] and p["jump_seeds"]:
                kept = dict.fromkeys(("federated", "centralised"), seeds) | {"isolated": seeds[:1]}
                both = [*dict.fromkeys(p["jump_levels"])], [*dict.fromkeys(p["jump_seeds"])]
                calls[name, "jump", T] = train(*both, [*kept], changes=changes, models=kept)
            if line and p["apart_levels"]:
                start, levels = changes | {"common_init": False}, [*dict.fromkeys(p["apart_levels"])]
                calls[name, "apart", T] = train(levels, seeds, ["federated"], changes=start)
        others = [e for e in dict.fromkeys(p["E_values"].get(name, ())) if e != E]
        for T in dict.fromkeys(p["E_steps"][name] if others else ()):
            over = {e: {"local": Local(e), "rounds": T // e} for e in others}
            levels, some = [*dict.fromkeys(p["E_levels"][name])], [*dict.fromkeys(p["E_seeds"][name])]
            args = {"changes": {"lr": p["lr"], "evaluations": 1}, "models": {}}
            calls[name, "local steps", T] = train(levels, some, ["federated"], over={"E": over}, **args)
            if line and (further := [n for n in p["levels"][name] if n not in levels]):
                ends = {"E": {e: over[e] for e in sorted({min(others), max(others)})}}
                calls[name, "extremes", T] = train(further, some[:1], ["federated"], over=ends, **args)
    calls["earlier"] = Computed(earlier, {}, numerics=0)
    beside = "E_", "jump_", "apart_"  # settings that move no example
    if all(p[name] == value for name, value in PAPER.items() if not name.startswith(beside)):
        calls["examples"] = Computed(of_stored, {}, tolerances=NEARLY)
    return calls


NEARLY = {f"{name} {n} {what}": Tolerance(1e-3, 1e-3) for name, levels in EXAMPLES.items() for n in levels
          for what in ("u", "error")}  # fmt: skip


def earlier() -> xarray.Dataset:
    """What is stored of an earlier run, and is no row, for its models were not kept: "divergence" of the weights
    [problem, start, seed, level, matrix]. A run adds nothing to it."""
    return xarray.Dataset()


# what figures and claims take


class Results(NamedTuple):
    """What figures and claims take, by operator; the antiderivative's "jump" has more seeds at two levels.

    errors: (%) [round, kind, level, seed], kinds "client 1 alone", ..., "federated", "centralised", of the steps that
    have most rows; steps: how many these are; fewer: errors of other numbers of steps, (operator, T) -> array.
    divergences [seed, level, matrix]; apart: of the antiderivative's clients that start apart. functions: those of
    notebook 04's networks on a line. local: federated errors (%) [E, level, seed] by (operator, T).
    examples: (operator, n) -> ``example``. faded: what Burgers leaves of the variation (%), or None.
    """

    errors: dict[str, xarray.DataArray]
    steps: dict[str, int]
    fewer: dict[tuple[str, int], xarray.DataArray]
    divergences: dict[str, xarray.DataArray]
    apart: xarray.DataArray | None
    functions: xarray.DataArray | None
    local: dict[tuple[str, int], xarray.DataArray]
    examples: dict[tuple[str, int], xarray.Dataset]
    faded: float | None

    @property
    def last(self) -> dict[str, xarray.DataArray]:
        """Errors (%) after training [kind, level, seed]."""
        return {name: errors.isel(round=-1, drop=True) for name, errors in self.errors.items()}

    @property
    def way(self) -> dict[str, xarray.DataArray]:
        """Federated errors (%) while training, at the lowest and the highest level, where more than the end is kept."""
        ends = {
            n: e.sel(kind="federated", drop=True).isel(level=[0, -1]).dropna("seed") for n, e in self.errors.items()
        }
        return {name: errors for name, errors in ends.items() if errors.sizes["round"] > 1 and errors.sizes["seed"]}


def results(p: Mapping, histories: Mapping[Name, History | xarray.Dataset]) -> Results:
    """Of what ``trainings(p)`` left; what is not there is left out."""
    together = {
        (name, T): joined([histories[key] for key in ((name, part, T) for part in PARTS) if key in histories])
        for name in p["problems"]
        for T in p["steps"][name]
        if (name, "levels", T) in histories
    }
    errors = {key: sweep.errors(history, alone="each").sortby("level") for key, history in together.items()}
    steps = {
        name: max((int(errors[name, T][-1].notnull().sum()), T) for one, T in errors if one == name)[1]
        for name in dict.fromkeys(name for name, _ in errors)
    }
    old, kept, matrices = histories.get("earlier"), histories.get("examples"), {}
    for name, T in steps.items():
        now = divergences(together[name, T], name)
        matrices[name] = before(old, name) if now is None else now
    first = steps.get(LINE)
    starts = [histories[key] for part in ("apart", "central") if (key := (LINE, part, first)) in histories]
    apart = divergences(joined(starts), LINE) if len(starts) == 2 else None
    tried = [(name, part, T) for name, part, T in (key for key in histories if isinstance(key, tuple))]
    local = {
        (name, T): in_steps(
            joined([histories[key] for key in tried if key in ((name, part, T), (name, "extremes", T))]),
            errors.get((name, T)),
            p["local_updates"],
        )
        for name, part, T in tried
        if part == "local steps"
    }
    drift = of_functions(committed("04_function_approximation"))
    return Results(
        {name: errors[name, T] for name, T in steps.items()},
        steps,
        {key: values for key, values in errors.items() if steps[key[0]] != key[1]},
        {name: values for name, values in matrices.items() if values is not None},
        before(old, LINE, "apart") if apart is None else apart,
        drift,
        local,
        examples(p, together) if kept is None else unpacked(kept),
        faded(p) if kept is None else kept["faded"].item(),
    )


def examples(p: Mapping, together: Mapping[tuple[str, int], History]) -> dict[tuple[str, int], xarray.Dataset]:
    """(operator, n) -> ``example``, of the largest number of steps; together: (operator, T) -> what is trained."""
    return {
        (name, n): example(p, name, n, together[name, T])
        for name in dict.fromkeys(name for name, _ in together)
        for T in [max(t for one, t in together if one == name)]
        for n in example_levels(name, together[name, T], p["seeds"][0])
    }


def faded(p: Mapping) -> float | None:
    """What Burgers leaves of the variation (%)."""
    if not any(name.startswith("burgers") for name in p["problems"]):
        return None
    return fading(draws("forward", TERMS, 100, p["seeds"][0], "fading"), p["viscosity"])


def of_stored() -> xarray.Dataset:
    """``examples`` of the stored models, as ``unpacked`` takes them, and "faded": two equations are solved for 1600
    functions, which takes longer than to read all else. Compute it anew when these models are."""
    parts = {name: call for name, call in trainings(PAPER).items() if name[1] in PARTS and name[0] in EXAMPLES}
    every = histories_of(parts, folder_of(NOTEBOOK), earlier=True)
    together = {
        (name, T): joined([every[name, part, T] for part in PARTS if (name, part, T) in every]) for name, _, T in every
    }
    packed = {
        f"{name} {n}": one.rename({axis: f"{name} {n} {axis}" for axis in (*one.dims, *one.data_vars)})
        for (name, n), one in examples(PAPER, together).items()
    }
    return xarray.merge(packed.values()).assign(faded=faded(PAPER))


def unpacked(kept: xarray.Dataset) -> dict[tuple[str, int], xarray.Dataset]:
    """(operator, n) -> ``example``."""
    examples_of = {}
    for name, n in ((name, n) for name, levels in EXAMPLES.items() for n in levels):
        axes = {axis: axis.split()[-1] for axis in (*kept.variables, *kept.sizes) if axis.startswith(f"{name} {n} ")}
        examples_of[name, n] = kept[[axis for axis in axes if axis in kept.data_vars]].rename(axes)
    return examples_of


def of_functions(result: Mapping) -> xarray.DataArray | None:
    """Divergence [seed, level, matrix] of the networks on a line that a committed result of notebook 04 has."""
    if not result:
        return None
    values = np.array(result["metrics"]["weight_divergence"]["line"])
    return xarray.DataArray(values, {"level": result["metrics"]["levels"]["line"]}, ("seed", "level", "matrix"))


PARTS = ("levels", "central", "jump")


def joined(histories: list[History]) -> History:
    """One history of several parts; a row that two of them have is the first one's."""
    rows = {key: history for history in reversed(histories) for key in history.rows}
    return gathered(histories[::-1], [*rows])


def compared(history: History) -> dict[tuple[int, int], list[torch.Tensor]]:
    """(level, seed) -> parameters [P] of the federated and of the centralised model, where both are kept."""
    kinds = ("federated", "centralised")
    both = [key[1:] for key in history.rows if key[0] == kinds[0] and (kinds[1], *key[1:]) in history.rows]
    pairs = {key: [history.model(kind, *key) for kind in kinds] for key in both}
    return {key: pair for key, pair in pairs.items() if all(row.isfinite().all() for row in pair)}


def divergences(history: History, name: str) -> xarray.DataArray | None:
    """Relative divergence of the federated weights from the centralised ones [seed, level, matrix], where both are
    kept, or None: of the matrices "branch 1", ..., "trunk 1", ..."""
    net = learn(name).net()
    values = {
        key: {matrix: float(v) for matrix, v in weight_divergence(*(as_dict(net, row) for row in pair)).items()}
        for key, pair in compared(history).items()
    }
    if not values:
        return None
    keys = [*next(iter(values.values()))]  # "branch.0.weight", "branch.2.weight", ...
    matrices = [f"{part} {int(layer) // 2 + 1}" for part, layer, _ in (key.split(".") for key in keys)]
    levels, seeds = (sorted({key[i] for key in values}) for i in (0, 1))
    empty = dict.fromkeys(keys, np.nan)
    table = [[[*values.get((n, seed), empty).values()] for n in levels] for seed in seeds]
    coords = {"seed": seeds, "level": levels, "matrix": matrices}
    return xarray.DataArray(np.array(table), coords, ("seed", "level", "matrix"), name=TITLES[name])


def before(old: xarray.Dataset | None, name: str, start: str = "common") -> xarray.DataArray | None:
    """``divergences`` of an earlier run, or None."""
    values = None if old is None else excerpt(old, "divergence", problem=name, start=start)
    return None if values is None else values.rename(TITLES[name])


def in_steps(history: History, errors: xarray.DataArray | None, E: int) -> xarray.DataArray:
    """Federated errors (%) after training [E, level, seed], from few local steps between two averages to many; those of
    E itself are among the errors, if they are as long."""
    others = sweep.errors(history)[-1].sel(kind="federated", drop=True).reset_coords(drop=True)
    if errors is not None:
        same = errors[-1].sel(kind="federated", drop=True).reset_coords(drop=True).reindex_like(others.isel(E=0))
        others = xarray.concat([others, same.assign_coords(E=E)], "E") if same.notnull().any() else others
    return others.sortby(["E", "level", "seed"]).transpose("E", "level", "seed")


def example_levels(name: str, history: History, seed: int) -> list[int]:
    """Those of the paper's examples whose models are kept, else the lowest one."""
    levels = sorted(history.labels("level"))
    kept = [n for n in levels if all(
        (kind, n, seed) in history.rows and history.models(kind, n, seed).isfinite().all()
        for kind in ("federated", "isolated"))]  # fmt: skip
    return [n for n in EXAMPLES.get(name, ()) if n in kept] or kept[:1]


def models(history: History, n: int, seed: int) -> dict[str, torch.Tensor]:
    """Label -> parameters [P], of those that are kept."""
    rows = {f"client {k + 1} alone": row for k, row in enumerate(history.models("isolated", n, seed))}
    for kind in ("centralised", "federated"):
        if (kind, n, seed) in history.rows:
            rows[kind] = history.model(kind, n, seed)
    return {label: row for label, row in rows.items() if row.isfinite().all()}


def example(p: Mapping, name: str, n: int, history: History) -> xarray.Dataset:
    """One test function and all others, of the first seed: "v" [x] an input, "truth" [place] its image, "u" [model,
    place] what models say, and "error" (%) [model, function], of each function by itself, this one first.

    It is the first of its stream, the same for all operators.
    """
    seed, operator = p["seeds"][0], learn(name, nu=p["viscosity"])
    uses = ((1, "picture"), (p["test_functions"][name], "test"))
    c = np.concatenate([draws("forward", TERMS, k, seed, use) for k, use in uses])
    pairs, y, rows = operator.pairs(c), torch.as_tensor(operator.points).float(), models(history, n, seed)
    truth, x = pairs["s"].numpy(), np.linspace(0, 1, operator.branch[0])
    u = {label: predict(operator.net(), row, pairs["u"], y).numpy() for label, row in rows.items()}
    error = [[percent(guess, exact) for guess, exact in zip(values, truth, strict=True)] for values in u.values()]
    return xarray.Dataset(
        {
            "v": ("x", chebyshev_series(c[:1], x)[0]),
            "truth": ("place", truth[0]),
            "u": (("model", "place"), [values[0] for values in u.values()]),
            "error": (("model", "function"), np.array(error)),
        },
        {"model": [*u], "x": x},
    )
