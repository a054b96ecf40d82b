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

JUMP = (5, 6)
"""Levels of the antiderivative that have more seeds."""
MOST = {"diffusion_reaction": 5000}
"""Local steps T of the trainings with other E, where they are fewer than of the levels."""

LINES = rules.one_of(*(d for d in range(1, 101) if 100 % d == 0))

RULES = {
    "problems": rules.one_of(*TITLES),
    **dict.fromkeys(("levels", "central_levels", "E_levels"), rules.whole(1, TERMS)),
    **dict.fromkeys(("functions", "test_functions", "steps", "example_steps", "E_values"), rules.whole()),
    "E_seeds": rules.whole(0),
    **dict.fromkeys(("diffusion_reaction_every", "burgers_every"), LINES),
    "burgers_times": rules.whole(0, 100),
}
"""Parameter -> what it may be."""


def check(p: Mapping) -> None:
    """ValueError where a table has no entry for an operator, or a level or a number of steps cannot be."""
    if p["jump_seeds"]:  # it may be empty
        rules.check(p, jump_seeds=rules.whole(0))
    rules.check_tables(p, p["problems"], [*TITLES], "levels", "functions", "test_functions", "steps")
    rules.check_tables(p, [], [*TITLES], "central_levels")
    rules.check_tables(p, [], [*EXAMPLES], "example_steps")
    studied = [name for name in p["problems"] if name in p["E_values"]]
    rules.check_tables(p, studied, [*TITLES], "E_values", "E_levels", "E_seeds")
    for n in {*p["levels"].get("burgers_3", ()), *p["central_levels"].get("burgers_3", ())}:
        support("middle", n)
    for name in studied:
        if max(p["E_values"][name]) > (T := local_steps(p, name)):
            raise ValueError(f"E_values = {p['E_values']}: expected at most all {T} steps of {name}")
    if len(every := p["diffusion_reaction_every"]) != 2:
        raise ValueError(f"diffusion_reaction_every = {every}: expected two numbers, for x and for t")


def local_steps(p: Mapping, name: str) -> int:
    """T of the trainings with other E."""
    return min(p["steps"][name], MOST.get(name, p["steps"][name]))


def arguments(p: Mapping, name: str) -> dict:
    """Of ``federated_operator``."""
    x, t = p["diffusion_reaction_every"]
    grids = {
        "diffusion_reaction": {"places": [*range(0, 101, x)], "times": [*range(0, 101, t)]},
        "burgers": {"places": [*range(0, 101, p["burgers_every"])], "times": p["burgers_times"], "nu": 0.1},
    }
    shared = {"name": name, "functions": p["functions"][name], "tests": p["test_functions"][name]}
    return shared | grids.get(name.removesuffix("_2").removesuffix("_3"), {})


def trainings(p: Mapping) -> dict[Name, Call | Computed]:
    """Of each operator, after T local steps, "levels", and "central", one model with the functions of all; for the
    antiderivative "jump", with many seeds; "local steps", with other numbers E of them between two averages, and
    "extremes", the least and the largest E at the other levels, with one seed. With ``example_steps`` the levels of
    EXAMPLES are trained, with one seed. "examples": see ``of_stored``.
    """
    E, seeds, calls = p["local_updates"], [*dict.fromkeys(p["seeds"])], {}
    for name in p["problems"]:
        line, T = name == LINE, p["steps"][name]
        first = seeds if line else seeds[:1]  # whose models are kept; those of a field take megabytes
        train = partial(Call, federated_operator, arguments(p, name), apart=not line)
        rows = seeds[:1] if name in DEAR else seeds
        changes = {"rounds": max(1, T // E), "local": Local(E), "lr": p["lr"], "evaluations": p["evaluations"]}
        kept, both = {"federated": first, "isolated": seeds[:1]}, ["isolated", "federated"]
        if longer := p["example_steps"].get(name):
            more = changes | {"rounds": max(1, longer // E)}
            calls[name, "levels", longer] = train(EXAMPLES[name], seeds[:1], both, changes=more, models=kept)
        levels = [*dict.fromkeys(p["levels"][name])]
        calls[name, "levels", T] = train(levels, rows, both, changes=changes, models=kept)
        if central := p["central_levels"].get(name):
            kept, one = {"centralised": first}, [*dict.fromkeys(central)]
            calls[name, "central", T] = train(one, rows, ["centralised"], changes=changes, models=kept)
        if line and (many := [*dict.fromkeys(p["jump_seeds"])]):
            kept = dict.fromkeys(("federated", "centralised"), seeds) | {"isolated": seeds[:1]}
            calls[name, "jump", T] = train([*JUMP], many, [*kept], changes=changes, models=kept)
        if others := [e for e in dict.fromkeys(p["E_values"].get(name, ())) if e != E]:
            T = local_steps(p, name)
            over = {e: {"local": Local(e), "rounds": T // e} for e in others}
            some, seeds_E = [*dict.fromkeys(p["E_levels"][name])], [*dict.fromkeys(p["E_seeds"][name])]
            args = {"changes": {"lr": p["lr"], "evaluations": 1}, "models": {}}
            calls[name, "local steps", T] = train(some, seeds_E, ["federated"], over={"E": over}, **args)
            if line and (further := [n for n in levels if n not in some]):
                ends = {"E": {e: over[e] for e in sorted({min(others), max(others)})}}
                calls[name, "extremes", T] = train(further, seeds_E[:1], ["federated"], over=ends, **args)
    if all(p[name] == value for name, value in PAPER.items() if not name.startswith(("E_", "jump_"))):
        calls["examples"] = Computed(of_stored, {}, tolerances=NEARLY)  # which the others do not move
    return calls


NEARLY = {f"{name} {n} {what}": Tolerance(1e-3, 1e-3) for name, levels in EXAMPLES.items() for n in levels
          for what in ("u", "error")}  # fmt: skip


# what figures and claims take


class Results(NamedTuple):
    """What figures and claims take, by operator; the antiderivative's two levels of JUMP have more seeds.

    errors: (%) [round, kind, level, seed], kinds "client 1 alone", ..., "federated", "centralised". divergence: of the
    antiderivative's weights [seed, level, matrix], or None; functions: that of notebook 04's networks on a line.
    local: federated errors (%) [E, level, seed], and attrs["steps"]. examples: (operator, n) -> ``example``. faded:
    what Burgers leaves of the variation (%), or None.
    """

    errors: dict[str, xarray.DataArray]
    divergence: xarray.DataArray | None
    functions: xarray.DataArray | None
    local: dict[str, xarray.DataArray]
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
    trained = {name: p["steps"][name] for name in p["problems"] if (name, "levels", p["steps"][name]) in histories}
    errors = {name: titled(errors_of(parts(histories, name, T)), name, T) for name, T in trained.items()}
    kept, local = histories.get("examples"), {}
    for name in p["problems"]:
        T = local_steps(p, name)
        if others := parts(histories, name, T, ("local steps", "extremes")):
            same = errors.get(name) if trained.get(name) == T else None
            values = in_steps(joined(others), same, p["local_updates"])
            local[name] = titled(against_n(values), name, T).assign_attrs(steps=T)
    return Results(
        errors,
        divergence(parts(histories, LINE, trained.get(LINE), ("levels", "central"))),
        of_functions(committed("04_function_approximation")),
        local,
        examples(p, histories) if kept is None else unpacked(kept),
        faded(p) if kept is None else kept["faded"].item(),
    )


PARTS = ("levels", "central", "jump")


def parts(histories: Mapping[Name, History], name: str, T: int | None, among: Sequence[str] = PARTS) -> list[History]:
    """What is there of the trainings of an operator with T steps."""
    return [histories[name, part, T] for part in among if (name, part, T) in histories]


def errors_of(histories: list[History]) -> xarray.DataArray:
    """Errors (%) [round, kind, level, seed] of several parts, each client's alone."""
    return against_n(sweep.errors(joined(histories), alone="each").sortby("level"))


def against_n(values: xarray.DataArray) -> xarray.DataArray:
    """With the paper's axis."""
    values["level"].attrs |= {"long_name": "n", "scale": "linear"}
    return values.assign_attrs(level="terms that each client knows, n")


def titled(values: xarray.DataArray, name: str, T: int) -> xarray.DataArray:
    """With the operator, and after how many local steps."""
    return values.rename(f"{TITLES[name]}, T = " + f"{T:,}".replace(",", " "))


def joined(histories: list[History]) -> History:
    """One history of several parts; a row that two of them have is the first one's."""
    rows = {key: history for history in reversed(histories) for key in history.rows}
    return gathered(histories[::-1], [*rows])


def divergence(histories: list[History]) -> xarray.DataArray | None:
    """Relative divergence of the federated weights from the centralised ones [seed, level, matrix], of the matrices
    "branch 1", ..., "trunk 1", ..., or None: there are no levels that have both."""
    both = joined(histories) if len(histories) == 2 else None
    if both is None or not sweep.whole_levels(both):
        return None
    operator = learn(LINE)
    names = [f"{part} {i}" for part in ("branch", "trunk") for i in range(1, len(getattr(operator, part)))]
    return against_n(sweep.divergences(both, operator.net())).assign_coords(matrix=names)


def examples(p: Mapping, histories: Mapping[Name, History]) -> dict[tuple[str, int], xarray.Dataset]:
    """(operator, n) -> ``example``, of EXAMPLES, where the models of the first seed are kept."""
    shown, seed = {}, p["seeds"][0]
    for name in (name for name in p["problems"] if name in EXAMPLES):
        if some := parts(histories, name, p["example_steps"].get(name, p["steps"][name])):
            history = joined(some)
            shown |= {(name, n): example(p, name, n, history) for n in EXAMPLES[name] if has_models(history, n, seed)}
    return shown


def has_models(history: History, n: int, seed: int) -> bool:
    """Whether the federation's and each client's are kept, and finite."""
    keys = [(kind, n, seed) for kind in ("federated", "isolated")]
    return all(key in history.rows and bool(history.models(*key).isfinite().all()) for key in keys)


def faded(p: Mapping) -> float | None:
    """What Burgers leaves of the variation (%)."""
    if not any(name.startswith("burgers") for name in p["problems"]):
        return None
    return fading(draws("forward", TERMS, 100, p["seeds"][0], "fading"))


def of_stored() -> xarray.Dataset:
    """``examples`` of the stored models, as ``unpacked`` takes them, and "faded": two equations are solved for 1600
    functions, which takes longer than to read all else. Compute it anew when these models are."""
    calls = {name: call for name, call in trainings(PAPER).items() if name[1] in PARTS and name[0] in EXAMPLES}
    packed = {
        f"{name} {n}": one.rename({axis: f"{name} {n} {axis}" for axis in (*one.dims, *one.data_vars)})
        for (name, n), one in examples(PAPER, histories_of(calls, folder_of(NOTEBOOK), earlier=True)).items()
    }
    return xarray.merge(packed.values()).assign(faded=faded(PAPER))


def unpacked(kept: xarray.Dataset) -> dict[tuple[str, int], xarray.Dataset]:
    """(operator, n) -> ``example``."""
    shown = {}
    for name, n in ((name, n) for name, levels in EXAMPLES.items() for n in levels):
        axes = {axis: axis.split()[-1] for axis in (*kept.variables, *kept.sizes) if axis.startswith(f"{name} {n} ")}
        shown[name, n] = kept[[axis for axis in axes if axis in kept.data_vars]].rename(axes)
    return shown


def of_functions(result: Mapping) -> xarray.DataArray | None:
    """Divergence [seed, level, matrix] of the networks on a line that a committed result of notebook 04 has."""
    if not result:
        return None
    values = np.array(result["metrics"]["weight_divergence"]["line"])
    return xarray.DataArray(values, {"level": result["metrics"]["levels"]["line"]}, ("seed", "level", "matrix"))


def in_steps(history: History, errors: xarray.DataArray | None, E: int) -> xarray.DataArray:
    """Federated errors (%) after training [E, level, seed], from few local steps between two averages to many; those of
    E itself are among the errors, if they are as long."""
    others = sweep.errors(history)[-1].sel(kind="federated", drop=True).reset_coords(drop=True)
    if errors is not None:
        same = errors[-1].sel(kind="federated", drop=True).reset_coords(drop=True).reindex_like(others.isel(E=0))
        others = xarray.concat([others, same.assign_coords(E=E)], "E") if same.notnull().any() else others
    return others.sortby(["E", "level", "seed"]).transpose("E", "level", "seed")


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
    seed, operator = p["seeds"][0], learn(name)
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
