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
from .problem import by_descent, gramacy_lee, partitions, schaffer
from .weights import theorem, walks

NOTEBOOK = "04_function_approximation"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "line"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""

CLIENTS = (2, 3, 4, 5)
"""Figs. 2D and 6."""
RATES = (0.01, 0.03, 0.1)
"""Of gradient descent, which Section 2.1.2 sets against Adam."""
SLABS = (("slabs", "coded"), ("slabs", "printed"))
BLOCKS = tuple(("blocks", K) for K in CLIENTS)

RULES = {
    **dict.fromkeys(("subdomains", "slabs", "slabs_coded"), rules.whole(2)),
    "blocks": rules.whole(3),
    **dict.fromkeys(("n_points", "schaffer_points", "blocks_points"), rules.whole(16)),
    "width": rules.whole(),
}


def check(p: Mapping) -> None:
    """ValueError where the points do not allow a level."""
    for call in sweeps(p).values():
        experiment = call.experiment()
        for level in call.levels:
            data_of(experiment, level)


def trainings(p: Mapping) -> dict[Hashable, Call | Computed]:
    """``sweeps``; and, whatever the parameters, "partitions" (Fig. 2), "theorem" (Theorem 3.1), "walks" (Fig. 3)."""
    line = {"make": gramacy_lee, "n": 200, "levels": [2, 100]}
    descent = {"steps": [1, 2, 5, 10, 20], "rounds": [1, 3, 10, 30, 100]}
    adam = {"width": 64, "rounds": 3000, "E": 5, "lr": 0.001, "seed": 0}
    tables = {
        "line": 200, "square": 1600, "clients": CLIENTS,
        "pieces": [n // 2 for n in PAPER["subdomains"]],  # 200, a point each in turn, is in the authors' code only
        "slabs": [1, 2, 3, 5, 10], "blocks": [2, 3, 4, 5, 6, 8, 10, 11, 20],
    }  # fmt: skip
    # after a hundred rounds in float32, of which 26 are kept, rounding decides on another CPU, ever more
    near = {"distance": Tolerance(relative=1e-3, absolute=1e-5, first={"round": 26})}
    return sweeps(p) | {
        "partitions": Computed(partitions, tables),
        "theorem": Computed(theorem, line | descent, tolerances={"distance": Tolerance(absolute=1e-6)}),
        "walks": Computed(walks, line | adam, tolerances=near),
    }


def sweeps(p: Mapping) -> dict[Hashable, Call]:
    """The name "line" (Fig. 4), SLABS (Fig. 5), BLOCKS (Fig. 6, of an earlier run: errors only); ("descent", rate):
    gradient descent instead of Adam on the line, with 2, 10 and 100 pieces."""
    seeds = p["seeds"]
    kept = {"isolated": seeds[:1], "federated": seeds, "centralised": seeds}  # what figures and sliders show
    line, square, few = (
        {"n": p[name], "width": p["width"]} for name in ("n_points", "schaffer_points", "blocks_points")
    )
    adam = {"rounds": p["rounds"], "local": Local(p["local_updates"]), "lr": p["lr"]}
    calls = {"line": Call(gramacy_lee, line, p["subdomains"], seeds, changes=adam, models=kept)}
    for name, levels in zip(SLABS, (p["slabs_coded"], p["slabs"]), strict=True):
        of_slabs = {"printed": name[1] == "printed", **square}
        calls[name] = Call(schaffer, of_slabs, levels, seeds, changes=adam, models=kept)
    for name in BLOCKS:
        of_blocks = {"method": "xy", "clients": name[1], **few}
        kinds = [*KINDS] if name == BLOCKS[0] else ["isolated", "federated"]  # one centralised model for all
        before = adam | {"numerics": 0}  # from a result file, which kept no losses
        calls[name] = Call(schaffer, of_blocks, p["blocks"], seeds[:3], kinds, changes=before, models={})
    if levels := [n for n in (2, 10, 100) if n in p["subdomains"]]:
        for lr in RATES:
            descent = adam | {"lr": lr}
            calls["descent", lr] = Call(by_descent, line, levels, seeds, ["federated"], changes=descent, models={})
    return calls


class Results(NamedTuple):
    """What figures and claims take, by name of the training, of those that are trained at both ends of their levels.

    errors (%) [round, kind, level, seed]: of two clients each one alone; best (%) [kind, level, seed]: after training,
    the best client alone, on blocks, too. divergences [seed, level, matrix]. solutions: of the first seed. descent:
    federated errors (%) [rate, level, seed]. walks, theorem: as of ``weights``, partitions: of ``problem``; None where
    they are not computed.
    """

    errors: Mapping[Hashable, xarray.DataArray]
    best: Mapping[Hashable, xarray.DataArray]
    divergences: Mapping[Hashable, xarray.DataArray]
    solutions: Mapping[Hashable, Solved]
    descent: xarray.DataArray | None
    walks: xarray.Dataset | None
    theorem: xarray.Dataset | None
    partitions: xarray.Dataset | None


def results(p: Mapping, histories: Mapping[Hashable, History | xarray.Dataset]) -> Results:
    """The arrays of what was trained."""
    calls = sweeps(p)
    ended = {
        name: histories[name]
        for name in ("line", *SLABS, *BLOCKS)
        if name in histories and {min(calls[name].levels), max(calls[name].levels)} <= {*whole_levels(histories[name])}
    }
    two = {name: history for name, history in ended.items() if name not in BLOCKS}
    experiments = {name: calls[name].experiment() for name in two}
    rates = {name[1]: on_all(h).sel(kind="federated", drop=True) for name, h in histories.items() if "descent" in name}
    return Results(
        errors=errors_of(two),
        best=with_central({name: on_all(history) for name, history in ended.items()}),
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


def with_central(values: Mapping[Hashable, xarray.DataArray]) -> dict[Hashable, xarray.DataArray]:
    """Errors by name; those on blocks with the centralised model of two clients, which is the same for all."""
    whole = dict(values)
    for name in values.keys() & {*BLOCKS[1:]} if BLOCKS[0] in values else ():
        central = values[BLOCKS[0]].sel(kind=["centralised"]).reindex_like(values[name].isel(kind=0, drop=True))
        whole[name] = xarray.concat([values[name], central.assign_coords(distance=values[name].distance)], "kind")
    return whole | {name: whole[name].rename(f"{name[1]} clients on blocks") for name in BLOCKS if name in whole}
