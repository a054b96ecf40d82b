"""What notebook 04 trains and computes, from its parameters, and what its figures and claims take of it."""

from collections.abc import Hashable, Mapping
from typing import NamedTuple

import xarray
from torch import nn

from ....federated.batches import Local
from ....federated.experiment import KINDS, data_of
from ....federated.history import History
from ....federated.solved import Solved, stored_solutions
from ....federated.sweep import divergences, errors, whole_levels
from ....notebook import rules
from ....trainings.calls import Call, Computed, Tolerance
from ....trainings.settings import paper
from ....trainings.store import folder_of, histories_of
from .problem import by_descent, gramacy_lee, partitions, schaffer
from .weights import theorem, walks

NOTEBOOK = "04_function_approximation"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "line"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""

SUBDOMAINS = (2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 40, 50, 66, 100, 200)
"""Fig. 4: the authors' levels on the line, two clients. 200, a point each in turn, is in their code only."""

CLIENTS = (2, 3, 4, 5)
"""Figs. 2D and 6."""

SLABS = (("slabs", "coded"), ("slabs", "printed"))
BLOCKS = tuple(("blocks", K) for K in CLIENTS)

RULES = {
    **dict.fromkeys(("subdomains", "what_if_subdomains", "slabs", "slabs_coded", "fall_slabs"), rules.whole(2)),
    **dict.fromkeys(("n_points", "schaffer_points", "partition_points"), rules.whole(16)),
    **dict.fromkeys(("width", "schaffer_rounds", "theorem_E", "theorem_rounds"), rules.whole()),
    **dict.fromkeys(("schaffer_seeds", "fall_seeds"), rules.whole(0)),
    "lrs_fall": rules.positive(),
}

FIRST = Tolerance(relative=1e-3, absolute=1e-5, first={"round": 26})
PLANE = Tolerance(absolute=2.0)
WALKS = {
    **dict.fromkeys(("distance", "steps", "mean", "near_share"), FIRST),
    **dict.fromkeys(("server", "central"), PLANE),
    "share": Tolerance(absolute=0.05),
    "first_steps": Tolerance(absolute=1e-5),
}
"""How nearly the weights walk the same way on another CPU. After a hundred rounds in float32 (26 that are kept)
rounding decides, ever more: in the plane through all rounds, 25 wide, a twentieth is left open."""


def check(p: Mapping) -> None:
    """ValueError where the points do not allow a level."""
    if p["blocks"]:
        rules.check(p, blocks=rules.whole(3))
    for call in sweeps(p).values():
        experiment = call.experiment()
        for level in call.levels:
            data_of(experiment, level)


def trainings(p: Mapping) -> dict[Hashable, Call | Computed]:
    """``sweeps``; and "partitions" (Fig. 2), "theorem" (Theorem 3.1), "walks" (Fig. 3)."""
    ends = [min(p["subdomains"]), max([n for n in p["subdomains"] if n <= 100] or p["subdomains"])]
    line = {"make": gramacy_lee, "n": p["n_points"], "levels": [*dict.fromkeys(ends)]}
    descent = {"steps": p["theorem_E"], "rounds": p["theorem_rounds"]}
    adam = {"width": p["width"], "rounds": p["rounds"], "E": p["local_updates"], "lr": p["lr"], "seed": p["seeds"][0]}
    tables = {
        "line": p["n_points"], "square": p["partition_points"], "clients": CLIENTS,
        "pieces": [n // 2 for n in SUBDOMAINS], "slabs": [1, 2, 3, 5, 10], "blocks": [2, 3, 4, 5, 6, 8, 10, 11, 20],
    }  # fmt: skip
    return sweeps(p) | {
        "partitions": Computed(partitions, tables),
        "theorem": Computed(theorem, line | descent, tolerances={"distance": Tolerance(absolute=1e-6)}),
        "walks": Computed(walks, line | adam, tolerances=WALKS),
    }


def sweeps(p: Mapping) -> dict[Hashable, Call]:
    """The name "line" (Fig. 4), those of ``on_square`` (Figs. 5, 6); ("what_if", optimiser, change): choices that the
    paper or its code leaves open, on the line; ("fall", change): what could make Schaffer's error fall by ten."""
    E, seeds = p["local_updates"], p["seeds"]
    line, square = ({"n": p[name], "width": p["width"]} for name in ("n_points", "schaffer_points"))
    common = {"local": Local(E), "lr": p["lr"]}
    of_line, of_square = ({"rounds": p[name], **common} for name in ("rounds", "schaffer_rounds"))
    start, reset = {"common_init": False}, {"reset_moments": True}
    calls = {"line": Call(gramacy_lee, line, p["subdomains"], seeds, changes=of_line, models=shown(seeds))}
    calls |= on_square(square, (p["slabs_coded"], p["slabs"]), p["blocks"], p["schaffer_seeds"], of_square)
    what_if = {
        ("Adam", "independent starts"): start,
        ("Adam", "moments reset"): reset,
        ("Adam", "E = 3"): {"rounds": max(1, p["rounds"] * E // 3), "local": Local(3)},  # as many steps in all
        **{("SGD", f"rate {rate:g}"): {"lr": rate} for rate in p["lrs_sgd"]},
    }
    for name, changes in what_if.items():
        make = {"Adam": gramacy_lee, "SGD": by_descent}[name[0]]
        levels, changes = p["what_if_subdomains"], of_line | changes
        calls["what_if", *name] = Call(make, line, levels, seeds, ["federated"], changes=changes)
    fall = {
        "independent starts": ({}, start),
        "moments reset": ({}, reset),
        "both": ({}, start | reset),
        **{f"rate {1e4 * rate:g}e-4": ({}, {"lr": rate}) for rate in p["lrs_fall"]},
        "ReLU": ({"activation": nn.ReLU}, {}),
    }
    for name, (arguments, changes) in fall.items():
        levels, changes = p["fall_slabs"], of_square | changes
        calls["fall", name] = Call(
            schaffer, square | arguments, levels, p["fall_seeds"], ["federated"], changes=changes, models={}
        )
    return calls


def on_square(
    arguments: Mapping, slabs: tuple[list[int], list[int]], blocks: list[int], seeds: list[int], changes: Mapping
) -> dict[Hashable, Call]:  # fmt: skip
    """("slabs", "coded") and ("slabs", "printed") (Fig. 5); ("blocks", K) of K clients (Fig. 6), if any."""
    calls = {}
    for name, levels, printed in zip(SLABS, slabs, (False, True), strict=True):
        calls[name] = Call(
            schaffer, {"printed": printed, **arguments}, levels, seeds, changes=changes, models=shown(seeds)
        )
    for name, K in (
        zip(BLOCKS, CLIENTS, strict=True) if blocks else ()
    ):  # one model that sees all points is the same for all of them
        kinds = [*KINDS] if K == 2 else ["isolated", "federated"]
        calls[name] = Call(
            schaffer, {"method": "xy", "clients": K, **arguments}, blocks, seeds, kinds, changes=changes, models={}
        )
    return calls


def shown(seeds: list[int]) -> dict[str, list[int]]:
    """The models that figures and sliders show: those of clients alone for the first seed only."""
    return {"isolated": seeds[:1], "federated": seeds, "centralised": seeds}


EARLIER = 1600
"""Points of the earlier run."""


def earlier() -> dict[Hashable, History]:
    """What is stored of an earlier run, ("earlier", *name): errors only, converted from its result file (numerics 0),
    for what is not trained anew. Schaffer's function with 1600 of the 2304 points, three seeds, few levels."""
    changes = {"rounds": 3000, "local": Local(5), "lr": 1e-3, "numerics": 0}
    calls = on_square({"n": EARLIER}, ([2, 4, 10, 20, 50],) * 2, [3, 5, 11], [0, 1, 2], changes)
    return histories_of({("earlier", *name): call for name, call in calls.items()}, folder_of(NOTEBOOK))


class Results(NamedTuple):
    """What figures and claims take, by name of the training, of those that are trained at both ends of their levels.

    errors (%) [round, kind, level, seed]: of two clients each one alone, on blocks the best of those who are alone;
    best: of two clients, the best one alone; earlier: those of the earlier run. divergences [seed, level, matrix].
    solutions: of the first seed. what_if, fall: errors (%) [level, seed] of the variants, first as the paper has it.
    walks, theorem: as of ``weights``, partitions: of ``problem``; None where they are not computed.
    """

    errors: Mapping[Hashable, xarray.DataArray]
    best: Mapping[Hashable, xarray.DataArray]
    earlier: Mapping[Hashable, xarray.DataArray]
    divergences: Mapping[Hashable, xarray.DataArray]
    solutions: Mapping[Hashable, Solved]
    what_if: Mapping[tuple, xarray.DataArray]
    fall: Mapping[tuple, xarray.DataArray]
    walks: xarray.Dataset | None
    theorem: xarray.Dataset | None
    partitions: xarray.Dataset | None

    @property
    def blocks(self) -> dict[Hashable, xarray.DataArray]:
        """Errors of 2 to 5 clients on the same blocks: those of the earlier run until all are trained."""
        newer = {name: self.errors[name] for name in BLOCKS if name in self.errors}
        older = {name: values for name, values in self.earlier.items() if name[1] == "blocks"}
        return newer if len(newer) == len(BLOCKS) else older


def results(p: Mapping, histories: Mapping[Hashable, History | xarray.Dataset]) -> Results:
    """The arrays of what was trained, and of ``earlier``."""
    calls, histories = sweeps(p), {**histories, **earlier()}
    ended = {
        name: histories[name]
        for name in ("line", *SLABS, *BLOCKS)
        if name in histories and {min(calls[name].levels), max(calls[name].levels)} <= {*whole_levels(histories[name])}
    }
    two = {name: history for name, history in ended.items() if name not in BLOCKS}
    experiments = {name: calls[name].experiment() for name in two}
    before = errors_of({name[1:]: history for name, history in histories.items() if name[0] == "earlier"})
    return Results(
        errors=errors_of(ended),
        best={n: errors(history, alone="best")[-1].sel(level=whole_levels(history)) for n, history in two.items()},
        earlier={("earlier", *name): e.rename(f"{e.name}, {EARLIER} points") for name, e in before.items()},
        divergences={name: divergences(two[name], experiments[name].net) for name in two if name != SLABS[1]},
        solutions={name: stored_solutions(history, experiments[name]) for name, history in two.items()},
        what_if=variants(histories, "what_if", "line", ("Adam", "as above")),
        fall=variants(histories, "fall", SLABS[0]),
        **{name: histories.get(name) for name in ("walks", "theorem", "partitions")},
    )


def errors_of(histories: Mapping[Hashable, History]) -> dict[Hashable, xarray.DataArray]:
    """Errors (%) at the levels that have all rows; those on blocks with the centralised model, which is one for all."""
    arrays = {
        name: errors(history, alone="best" if name in BLOCKS else "each").sel(level=whole_levels(history))
        for name, history in histories.items()
    }
    for name in [name for name in BLOCKS if name in arrays]:
        values = arrays[name].rename(f"{name[1]} clients on blocks")
        if name != BLOCKS[0] and BLOCKS[0] in arrays:
            central = arrays[BLOCKS[0]].sel(kind="centralised", drop=True).drop_vars("distance")
            values = values.reindex(kind=[*values.kind.values, "centralised"])
            values.loc[{"kind": "centralised"}] = central.reindex(level=values.level, seed=values.seed)
        arrays[name] = values
    return arrays


def variants(
    histories: Mapping[Hashable, History], file: str, base: Hashable, first: tuple = ("as above",)
) -> dict[tuple, xarray.DataArray]:
    """Federated errors (%) [level, seed] of the variants in a file, after those of ``base``, called ``first``: at the
    levels and of the seeds that all have; nothing where there are none."""
    tried = {name[1:]: history for name, history in histories.items() if name[0] == file}
    if tried and base in histories:
        tried = {first: histories[base]} | tried
    last = [errors(history)[-1].sel(kind="federated", drop=True) for history in tried.values()]
    alike = xarray.align(*last, join="inner")
    return dict(zip(tried, alike, strict=True)) if alike and alike[0].size else {}
