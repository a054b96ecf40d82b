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
from ..experiment import beside, judged, seeds_of
from ..network import SNN
from .coded import Coded, statistics
from .problem import CASES, RUNNING, WAYS, coded, mended, one_client, printed, running_only

NOTEBOOK = "08b_as_coded"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "curve", "mended"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""
IN_SHORT = True
"""Its rounds have hundreds of steps, see ``trainings.store.calls_of``."""

RULES = {
    **dict.fromkeys(
        ("rounds_2d", "steps", "steps_2d", "steps_alone", "steps_mended", "steps_mended_2d", "batch", "batch_2d"),
        rules.whole(),
    ),
    **dict.fromkeys(("sigma", "sigmas", "rate"), rules.positive()),
    "fraction": rules.share(),
    "test_paths": rules.whole(2),
    "clients": rules.whole(10, 1000),
    "clients_2d": rules.whole(4),
}
"""Parameter -> what it may be."""

RATES = {"curve": [0.01, 0.03, 0.1], "surface": [0.01, 0.02, 0.03, 0.05]}
"""Case -> rates of SGD that were tried, the largest that does not diverge last; of the surface that one is taken."""
TRIED_ON = [100, 101]  # seeds that count nowhere else
DECAY = 0.75  # factor on the rate of what is mended, per round; see notebook 08


def check(p: Mapping) -> None:
    """``RULES`` say it all."""


PATHS = ("frozen paths", "fresh paths")
ANSWERS = "answers", "surface"


def trainings(p: Mapping) -> dict[Hashable, Task]:
    """("curve", way), ("surface", way): federations. ("rates", case): those tried for SGD. ("statistics", "own"): as
    coded, but each client keeps its own of the batch normalisation. ("alone", paths): one client, frozen or fresh.
    ANSWERS: what models of the surface say."""
    calls: dict[Hashable, Task] = {(case, way): call for case in CASES for way, call in federations(p, case).items()}
    calls |= {("rates", case): call for case, call in searches(PAPER).items()}
    call = calls["curve", "as coded"]
    personal = {"personal": statistics(Coded(*CASES["curve"].widths)), "evaluate": running_only}
    calls["statistics", "own"] = call._replace(levels=[p["sigma"]], changes=call.changes | personal)
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
        made[case] = call._replace(arguments=arguments, levels=[p["sigma"]], seeds=TRIED_ON, over=over, models={})
    return made


SUFFIX = {"curve": "", "surface": "_2d"}
"""Case -> how its parameters end."""


def federations(p: Mapping, case: str) -> dict[Hashable, Call]:
    """Way -> its federations. On the surface models are kept: at all points answers are too much to keep."""
    clients, steps, batch, few, rounds, seeds = (
        p[name + SUFFIX[case]] for name in ("clients", "steps", "batch", "steps_mended", "rounds", "seeds")
    )
    rate = p["rate"] if case == "curve" else RATES[case][-1]
    common = {"rounds": rounds, "fraction": p["fraction"]}
    levels, tests, models = (
        (sorted({*p["sigmas"], p["sigma"]}), p["test_paths"], {}) if case == "curve" else ([p["sigma"]], 20, None)
    )

    def call(make, steps: int, batch: int, **changes) -> Call:
        arguments = {"case": case, "clients": clients, "steps": steps, "batch": batch, "tests": tests}
        return Call(make, arguments, levels, seeds, ["federated"], changes=common | changes, models=models)

    return {
        "as printed": call(printed, steps, batch, lr=rate),
        "as coded": call(coded, steps, batch),
        "mended": call(mended, few, 32, lr=p["lr"], decay=DECAY),
    }


class Results(NamedTuple):
    """What figures and claims take; None: nothing of it is trained. A level is the sigma of the data.

    curve: ``Answers`` at ``sine.TESTED`` points [way, level, seed, x]. quality: of them, ``judged`` [way, level, seed].
    surface, quality_2d: mean and std at all points of the grid in the first seed [way, x]; ``judged`` [way, seed].
    alone: spread of one client [paths, level, seed]. tried: case -> squared error on new observations [seed, lr].
    normalised: how one normalises -> RMSE [seed] of the mean, as coded. sigma: of the run.
    """

    curve: xarray.Dataset | None
    quality: xarray.Dataset | None
    surface: xarray.Dataset | None
    quality_2d: xarray.Dataset | None
    alone: xarray.DataArray | None
    tried: dict[str, xarray.DataArray]
    normalised: dict[str, np.ndarray]
    sigma: float


def results(p: Mapping, histories: Mapping[Hashable, History]) -> Results:
    """The labelled arrays of what is trained."""
    sigma, federated = p["sigma"], {"kind": "federated", "client": 0}
    curve = beside("way", {way: sine.answered(histories.get(("curve", way)), **federated) for way in WAYS})
    surface = histories[ANSWERS] if ANSWERS in histories else answers(histories, sigma)
    one = {"kind": "isolated", "client": 0}
    alone = beside("paths", {paths: sine.answered(histories.get(("alone", paths)), **one) for paths in PATHS})
    return Results(
        curve,
        None if curve is None else judged_each(curve),
        None if surface is None else surface[["mean", "std"]],
        None if surface is None else surface.drop_vars(["mean", "std"]).rename(spread="std"),
        None if alone is None else (alone["std"] ** 2).mean("x") ** 0.5,
        {
            case: history.last("a path against f", level=PAPER["sigma"], **federated) + PAPER["sigma"] ** 2
            for (name, case), history in histories.items()
            if name == "rates"
        },
        normalised(histories, sigma),
        sigma,
    )


def answers(histories: Mapping[Hashable, History], sigma: float) -> xarray.Dataset | None:
    """What models say at all points of the grid: mean and std of the first seed [way, x], which are drawn, and
    ``judged`` [way, seed], in which "spread" is the std over all points."""
    every = beside("way", {way: on_grid(histories.get(("surface", way)), way, sigma) for way in WAYS})
    if every is None:
        return None
    quality = with_path(judged(every, plane.on_grid(), sigma)).rename(std="spread")
    return quality.merge(every[["mean", "std"]].isel(seed=0, drop=True))


def of_stored() -> xarray.Dataset:
    """``answers`` of what is stored: to draw a hundred thousand paths takes longer than to read all else."""
    names = {("surface", way): call for way, call in federations(PAPER, "surface").items()}
    return answers(histories_of(names, folder_of(NOTEBOOK)), PAPER["sigma"])


def on_grid(history: History | None, way: str, sigma: float) -> xarray.Dataset | None:
    """``Answers`` at all points of the grid [seed, x], computed here: they are too much to keep."""
    if history is None:
        return None
    widths = CASES["surface"].widths
    net = Coded(*widths) if way == "as coded" else SNN(*widths)
    return plane.answered(net, plane.probes(net, sigma), history, "federated", sigma)


def judged_each(curve: xarray.Dataset) -> xarray.Dataset:
    """``judged`` of answers on the curve, each level by its own sigma, and a path against f."""
    f = sine.curve(curve.x.values)
    return with_path(xarray.concat([judged(curve.sel(level=s), f, s) for s in curve.level.values], "level"))


def with_path(quality: xarray.Dataset) -> xarray.Dataset:
    """And the mean square of a path against f, which the authors' notebooks print."""
    return quality.assign({PATH: quality["RMSE"] ** 2 + quality["std"] ** 2})


PATH = "a path against f"


def normalised(histories: Mapping[Hashable, History], sigma: float) -> dict[str, np.ndarray]:
    """RMSE of the mean as coded, over seeds, by how one normalises when one predicts.

    Of the federation's model; and of the clients that have ever worked, each with running statistics of its own, their
    mean.
    """
    averaged, personal = (histories.get(name) for name in (("curve", "as coded"), ("statistics", "own")))
    if averaged is None or personal is None:
        return {}
    answers = sine.answered(averaged, kind="federated", client=0, level=sigma)
    worked = personal.metric("loss", kind="federated", level=sigma).notnull().any("round")
    each = personal.last(RUNNING, kind="federated", level=sigma)
    return {
        "statistics of the points asked for": judged(answers, sine.curve(answers.x.values), sigma)["RMSE"].values,
        "averaged running statistics": averaged.last(RUNNING, kind="federated", client=0, level=sigma).values,
        "each client's own running statistics": each.where(worked).mean("client").values,
    }


# tables, and what result.json keeps


def spreads(results: Results) -> dict[str, dict[float, np.ndarray]]:
    """Way -> sigma of the data -> spread [seed]."""
    return {way: by_level(results.quality["std"].sel(way=way)) for way in results.quality.way.values.tolist()}


def alone(results: Results) -> dict[str, dict[float, np.ndarray]]:
    """The same of one client: paths -> sigma -> spread [seed]."""
    return {paths: by_level(results.alone.sel(paths=paths)) for paths in results.alone.paths.values.tolist()}


def tried(results: Results) -> dict[str, dict[str, np.ndarray]]:
    """Case -> rate -> squared error on new observations [seed]."""
    return {
        case: {f"{lr:g}": values.sel(lr=lr).values for lr in values.lr.values} for case, values in results.tried.items()
    }


def by_level(values: xarray.DataArray) -> dict[float, np.ndarray]:
    """Level -> values [seed]."""
    return {level: values.sel(level=level).values for level in values.level.values.tolist()}


def rows(results: Results) -> dict[str, dict[str, np.ndarray]]:
    """ "5.1, way" -> quantity -> values [seed], at the sigma of the run."""
    table = {f"5.1, {way}": results.quality.sel(way=way, level=results.sigma) for way in WAYS}
    table |= {f"5.2, {way}": results.quality_2d.sel(way=way) for way in WAYS}
    return {name: seeds_of(row) for name, row in table.items()}


def hundredths(table: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, dict[str, np.ndarray]]:
    """Row -> quantity -> values times 100: so a share is in percent."""
    return {name: {quantity: 100 * np.asarray(v) for quantity, v in row.items()} for name, row in table.items()}


def metrics(results: Results) -> dict:
    """What result.json keeps: the numbers of all tables, over seeds."""
    return {
        "quality": rows(results),
        "spreads": spreads(results),
        "spread_alone": alone(results),
        "tried": tried(results),
        "normalised": results.normalised,
    }
