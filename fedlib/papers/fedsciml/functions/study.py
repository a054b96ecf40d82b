"""What notebook 04 trains and computes, from its parameters, and what its figures and claims take of it."""

from collections.abc import Hashable, Mapping
from typing import NamedTuple

import xarray

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

CLIENTS = (2, 3, 4, 5)
"""Figs. 2D and 6."""

SLABS = (("slabs", "coded"), ("slabs", "printed"))
BLOCKS = tuple(("blocks", K) for K in CLIENTS)

RULES = {
    **dict.fromkeys(("subdomains", "slabs", "slabs_coded"), rules.whole(2)),
    **dict.fromkeys(("n_points", "schaffer_points", "partition_points"), rules.whole(16)),
    **dict.fromkeys(("width", "schaffer_rounds", "theorem_E", "theorem_rounds"), rules.whole()),
    "schaffer_seeds": rules.whole(0),
}

WALKS = {
    "distance": Tolerance(relative=1e-3, absolute=1e-5, first={"round": 26}),
    "steps": Tolerance(absolute=1e-5),
}
"""How nearly the weights walk the same way on another CPU. After a hundred rounds in float32 (26 that are kept)
rounding decides, ever more."""


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
        "pieces": [n // 2 for n in PAPER["subdomains"]],  # 200, a point each in turn, is in the authors' code only
        "slabs": [1, 2, 3, 5, 10], "blocks": [2, 3, 4, 5, 6, 8, 10, 11, 20],
    }  # fmt: skip
    return sweeps(p) | {
        "partitions": Computed(partitions, tables),
        "theorem": Computed(theorem, line | descent, tolerances={"distance": Tolerance(absolute=1e-6)}),
        "walks": Computed(walks, line | adam, tolerances=WALKS),
    }


def sweeps(p: Mapping) -> dict[Hashable, Call]:
    """The name "line" (Fig. 4), those of ``on_square`` (Figs. 5, 6); ("descent", rate): gradient descent instead of
    Adam on the line, with 2, 10 and 100 pieces."""
    seeds, common = p["seeds"], {"local": Local(p["local_updates"]), "lr": p["lr"]}
    line, square = ({"n": p[name], "width": p["width"]} for name in ("n_points", "schaffer_points"))
    of_line, of_square = ({"rounds": p[name], **common} for name in ("rounds", "schaffer_rounds"))
    calls = {"line": Call(gramacy_lee, line, p["subdomains"], seeds, changes=of_line, models=shown(seeds))}
    calls |= on_square(square, (p["slabs_coded"], p["slabs"]), p["blocks"], p["schaffer_seeds"], of_square)
    if levels := [n for n in (2, 10, 100) if n in p["subdomains"]]:
        for lr in p["lrs_sgd"]:
            changes = of_line | {"lr": lr}
            calls["descent", lr] = Call(by_descent, line, levels, seeds, ["federated"], changes=changes, models={})
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
    for name, K in zip(BLOCKS, CLIENTS, strict=True) if blocks else ():
        kinds = [*KINDS] if K == 2 else ["isolated", "federated"]  # the centralised model is the same for all of them
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

    errors (%) [round, kind, level, seed]: of two clients each one alone; best (%) [kind, level, seed]: after training,
    the best client alone. blocks: K -> the same of K clients on the same blocks. divergences [seed, level, matrix].
    solutions: of the first seed. descent: federated errors (%) [rate, level, seed]. walks, theorem: as of ``weights``,
    partitions: of ``problem``; None where they are not computed.
    """

    errors: Mapping[Hashable, xarray.DataArray]
    best: Mapping[Hashable, xarray.DataArray]
    blocks: Mapping[int, xarray.DataArray]
    divergences: Mapping[Hashable, xarray.DataArray]
    solutions: Mapping[Hashable, Solved]
    descent: xarray.DataArray | None
    walks: xarray.Dataset | None
    theorem: xarray.Dataset | None
    partitions: xarray.Dataset | None


def results(p: Mapping, histories: Mapping[Hashable, History | xarray.Dataset]) -> Results:
    """The arrays of what was trained; on blocks those of ``earlier`` until all are."""
    calls = sweeps(p)
    ended = {
        name: histories[name]
        for name in ("line", *SLABS, *BLOCKS)
        if name in histories and {min(calls[name].levels), max(calls[name].levels)} <= {*whole_levels(histories[name])}
    }
    two = {name: history for name, history in ended.items() if name not in BLOCKS}
    experiments = {name: calls[name].experiment() for name in two}
    blocks, which = {name: history for name, history in ended.items() if name in BLOCKS}, ""
    if len(blocks) < len(BLOCKS):
        blocks, which = {name[1:]: history for name, history in earlier().items()}, f", {EARLIER} points"
    rates = {name[1]: on_all(h).sel(kind="federated", drop=True) for name, h in histories.items() if "descent" in name}
    return Results(
        errors=errors_of(two),
        best={name: on_all(history) for name, history in two.items()},
        blocks=with_central({name[1]: on_all(h) for name, h in blocks.items() if name in BLOCKS}, which),
        divergences={name: divergences(two[name], experiments[name].net) for name in two if name != SLABS[1]},
        solutions={name: stored_solutions(history, experiments[name]) for name, history in two.items()},
        descent=xarray.concat(rates.values(), xarray.Variable("rate", [*rates]), join="inner") if rates else None,
        **{name: histories.get(name) for name in ("walks", "theorem", "partitions")},
    )


def errors_of(histories: Mapping[Hashable, History]) -> dict[Hashable, xarray.DataArray]:
    """Errors (%) [round, kind, level, seed] at the levels that have all rows, of each client alone."""
    return {name: errors(h, alone="each").sel(level=whole_levels(h)) for name, h in histories.items()}


def on_all(history: History) -> xarray.DataArray:
    """Errors (%) after training [kind, level, seed] at the same levels, of the best client alone."""
    return errors(history, alone="best")[-1].sel(level=whole_levels(history))


def with_central(blocks: Mapping[int, xarray.DataArray], which: str) -> dict[int, xarray.DataArray]:
    """K -> errors on blocks with the centralised model, which is trained once, for all numbers of clients."""
    whole = {}
    for K, values in blocks.items():
        central = blocks[2].sel(kind=["centralised"]).reindex_like(values.isel(kind=0, drop=True))
        both = values.drop_sel(kind="centralised", errors="ignore"), central.assign_coords(distance=values.distance)
        whole[K] = xarray.concat(both, "kind").rename(f"{K} clients on blocks{which}")
    return whole
