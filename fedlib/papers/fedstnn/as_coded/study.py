"""What notebook 08b trains of three ways, and the labelled arrays that its figures and claims take.

``python -m fedlib train 08b_as_coded --only curve`` trains what is not stored of Section 5.1.
"""

from collections.abc import Hashable, Mapping
from typing import NamedTuple

import numpy as np
import xarray

from ....federated.history import History
from ....notebook import rules
from ....trainings.calls import Call, Computed, Task, Tolerance
from ....trainings.settings import paper
from ....trainings.store import folder_of, histories_of
from .. import plane, sine
from ..experiment import beside, judged, seeds_of, with_truth
from ..network import SNN
from .coded import Coded
from .problem import CASES, WAYS, coded, mended, one_client, printed

NOTEBOOK = "08b_as_coded"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "curve", "mended"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""
IN_SHORT = True
"""Its rounds have hundreds of steps, see ``trainings.store.calls_of``."""

RULES = {
    **dict.fromkeys(("steps", "steps_2d", "steps_mended", "steps_mended_2d", "steps_alone"), rules.whole()),
    "rounds_2d": rules.whole(),
    **dict.fromkeys(("sigmas", "rate"), rules.positive()),
    "fraction": rules.share(),
    "clients": rules.whole(10, 1000),
}
"""Parameter -> what it may be."""

SIGMA = 0.1
"""St.dev. of the data's noise in the paper."""
RATES = {"curve": [0.01, 0.03, 0.1], "surface": [0.01, 0.02, 0.03, 0.05]}
"""Case -> rates of SGD that were tried, the largest that did not diverge last; of the surface that one is taken."""
TRIED_ON = [100, 101]  # seeds that count nowhere else
CLIENTS_2D = 40  # K of 5.2
BATCHES = {"curve": 16, "surface": 256}  # of a step, as coded
PATHS_TESTED = {"curve": 100, "surface": 20}  # at a point, for means and spreads


def check(p: Mapping) -> None:
    """``RULES`` say it all."""


PATHS = ("frozen paths", "fresh paths")
ANSWERS = "answers", "surface"


def trainings(p: Mapping) -> dict[Hashable, Task]:
    """("curve", way), ("surface", way): federations. ("rates", case): those tried for SGD. ("alone", paths): one
    client, frozen or fresh. ANSWERS: what models of the surface say."""
    calls: dict[Hashable, Task] = {(case, way): call for case in CASES for way, call in federations(p, case).items()}
    calls |= {("rates", case): call for case, call in searches(PAPER).items()}
    call = calls["curve", "as coded"]
    for paths in PATHS:
        arguments = {name: call.arguments[name] for name in ("clients", "batch", "tests")}
        arguments |= {"steps": p["steps_alone"], "frozen": paths == "frozen paths"}
        calls["alone", paths] = call._replace(
            make=one_client, arguments=arguments, kinds=["isolated"], changes={"rounds": 1, "lr": 1e-3}
        )
    if federations(p, "surface") == federations(PAPER, "surface"):
        calls[ANSWERS] = Computed(of_stored, {}, tolerances=dict.fromkeys(("mean", "std"), Tolerance(1e-3, 1e-3)))
    return calls


def searches(p: Mapping) -> dict[str, Call]:
    """Case -> what was tried for the rate that is not printed, on the surface with a fifth of the local steps."""
    made = {}
    for case, fewer in (("curve", 1), ("surface", 5)):
        call = federations(p, case)["as printed"]
        arguments = call.arguments | {"steps": -(-call.arguments["steps"] // fewer), "choice": True}
        over = {"lr": RATES[case]}
        made[case] = call._replace(arguments=arguments, levels=[SIGMA], seeds=TRIED_ON, over=over, models={})
    return made


def federations(p: Mapping, case: str) -> dict[Hashable, Call]:
    """Way -> its federations. On the surface models are kept: at all points answers are too much to keep."""
    if case == "curve":
        clients, levels, models, suffix, rate = p["clients"], sorted({*p["sigmas"], SIGMA}), {}, "", p["rate"]
    else:
        clients, levels, models, suffix, rate = CLIENTS_2D, [SIGMA], None, "_2d", RATES[case][-1]
    rounds, steps, few = (p[name + suffix] for name in ("rounds", "steps", "steps_mended"))
    common = {"rounds": rounds, "fraction": p["fraction"]}

    def call(make, steps: int, batch: int = BATCHES[case], **changes) -> Call:
        arguments = {"case": case, "clients": clients, "steps": steps, "batch": batch, "tests": PATHS_TESTED[case]}
        return Call(make, arguments, levels, p["seeds"], ["federated"], changes=common | changes, models=models)

    return {
        "as printed": call(printed, steps, lr=rate),
        "as coded": call(coded, steps),
        "mended": call(mended, few, 32, lr=0.02, decay=0.75),  # as in notebook 08
    }


class Results(NamedTuple):
    """What figures and claims take; None: nothing of it is trained. A level is the sigma of the data.

    curve: ``Answers`` at ``sine.TESTED`` points [way, level, seed, x]. quality: of them, ``judged`` [way, level, seed].
    surface, quality_2d: mean and std at all points of the grid in the first seed [way, x]; ``judged`` [way, seed], NaN
    of a seed that diverged. alone: spread of one client [paths, level, seed]. tried: case -> squared error on new
    observations [seed, lr].
    """

    curve: xarray.Dataset | None
    quality: xarray.Dataset | None
    surface: xarray.Dataset | None
    quality_2d: xarray.Dataset | None
    alone: xarray.DataArray | None
    tried: dict[str, xarray.DataArray]


def results(p: Mapping, histories: Mapping[Hashable, History]) -> Results:
    """The labelled arrays of what is trained."""
    federated, one = {"kind": "federated", "client": 0}, {"kind": "isolated", "client": 0}
    curve = beside("way", {way: sine.answered(histories.get(("curve", way)), **federated) for way in WAYS})
    surface = histories[ANSWERS] if ANSWERS in histories else answers(histories)
    alone = beside("paths", {paths: sine.answered(histories.get(("alone", paths)), **one) for paths in PATHS})
    return Results(
        curve,
        None if curve is None else judged_each(curve),
        None if surface is None else surface[["mean", "std"]],
        None if surface is None else surface.drop_vars(["mean", "std"]).rename(spread="std"),
        None if alone is None else (alone["std"] ** 2).mean("x") ** 0.5,
        {
            name[1]: history.last("a path against f", level=SIGMA, **federated) + SIGMA**2
            for name, history in histories.items()
            if name[0] == "rates"
        },
    )


def answers(histories: Mapping[Hashable, History]) -> xarray.Dataset | None:
    """What models say at all points of the grid: mean and std of the first seed [way, x], which are drawn, and
    ``judged`` [way, seed], in which "spread" is the std over all points."""
    every = beside("way", {way: on_grid(histories.get(("surface", way)), way) for way in WAYS})
    if every is None:
        return None
    quality = with_path(judged(every, plane.on_grid(), SIGMA)).rename(std="spread")
    return quality.merge(every[["mean", "std"]].isel(seed=0, drop=True))


def of_stored() -> xarray.Dataset:
    """``answers`` of what is stored: to draw a hundred thousand paths takes longer than to read all else."""
    names = {("surface", way): call for way, call in federations(PAPER, "surface").items()}
    return answers(histories_of(names, folder_of(NOTEBOOK)))


def on_grid(history: History | None, way: str) -> xarray.Dataset | None:
    """``Answers`` at all points of the grid [seed, x], computed here, for they are many; NaN of what diverged."""
    if history is None:
        return None
    widths = CASES["surface"].widths
    net = Coded(*widths) if way == "as coded" else SNN(*widths)
    every = plane.answered(net, plane.probes(net, SIGMA), history, "federated", SIGMA)
    return every.where(every["mean"].notnull().all("x"))


def judged_each(curve: xarray.Dataset) -> xarray.Dataset:
    """``judged`` of answers on the curve, each level by its own sigma, and a path against f."""
    f = sine.curve(curve.x.values)
    return with_path(xarray.concat([judged(curve.sel(level=s), f, s) for s in curve.level.values], "level"))


PATH = "a path against f"


def with_path(quality: xarray.Dataset) -> xarray.Dataset:
    """And the mean square of a path against f, which the authors' notebooks print."""
    return quality.assign({PATH: quality["RMSE"] ** 2 + quality["std"] ** 2})


def spreads(std: xarray.DataArray, hue: str) -> xarray.DataArray:
    """Learnt spreads [hue, level, seed] with what they should be, named for a picture."""
    std = std.rename(None).assign_coords(level=std.level.assign_attrs(long_name=r"$\sigma$ of the data"))
    return with_truth(std.assign_attrs(long_name="learnt spread"), hue, std.level)


# tables, and what result.json keeps


def by_level(values: xarray.DataArray) -> dict[str, np.ndarray]:
    """Level -> values [seed]."""
    return {f"{level:g}": values.sel(level=level).values for level in values.level.values.tolist()}


def rows(results: Results) -> dict[str, dict[str, np.ndarray]]:
    """ "5.1, way" -> quantity -> values [seed], at the paper's sigma, of the seeds that did not diverge."""
    table = {f"5.1, {way}": results.quality.sel(way=way, level=SIGMA) for way in WAYS}
    table |= {f"5.2, {way}": results.quality_2d.sel(way=way).dropna("seed") for way in WAYS}
    return {name: seeds_of(row) for name, row in table.items()}


def hundredths(table: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, dict[str, np.ndarray]]:
    """Row -> quantity -> values times 100: so a share is in percent."""
    return {name: {quantity: 100 * np.asarray(v) for quantity, v in row.items()} for name, row in table.items()}


def metrics(results: Results) -> dict:
    """What result.json keeps: the numbers of all tables, over seeds."""
    std, alone = results.quality["std"], results.alone
    return {
        "quality": rows(results),
        "spreads": {way: by_level(std.sel(way=way)) for way in std.way.values.tolist()},
        "spread_alone": {paths: by_level(alone.sel(paths=paths)) for paths in alone.paths.values.tolist()},
        "tried": {
            case: {f"{lr:g}": values.sel(lr=lr).values for lr in values.lr.values}
            for case, values in results.tried.items()
        },
    }
