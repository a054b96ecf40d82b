"""What notebook 08 trains, and what its figures and claims take: the curve and the surface of FedStNN.

``python -m fedlib train 08_stochastic_regression --only noise`` trains what is not stored of the losses.
"""

from collections.abc import Hashable, Mapping
from typing import NamedTuple

import numpy as np
import xarray

from ...federated.history import History
from ...notebook import rules
from ...numerics.metrics import plus_minus
from ...trainings.calls import Computed, Task, Tolerance
from ...trainings.settings import paper
from ...trainings.store import folder_of, histories_of
from .curve import study as curve
from .experiment import rms, seeds_of
from .sine import growing
from .surface import study as surface

NOTEBOOK = "08_stochastic_regression"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "curve", "shared"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""
IN_SHORT = True
"""Its rounds have hundreds of steps, see ``trainings.store.calls_of``."""

RULES = {
    **dict.fromkeys(("rounds_2d", "local_updates_2d"), rules.whole()),
    **dict.fromkeys(("sigma", "sigmas", "quiet_sigmas"), rules.positive()),
    "clients": rules.whole(10, 10_000),
}
"""Parameter -> what it may be."""


def check(p: Mapping) -> None:
    """ValueError where a client would observe without noise."""
    if (most := max(p["quiet_sigmas"])) >= 2 * p["sigma"]:
        raise ValueError(
            f"quiet_sigmas = {p['quiet_sigmas']}: expected less than 2 sigma = {2 * p['sigma']:g}, for the other "
            f"clients have a noise of 2 sigma less it; {most} leaves them none"
        )


def trainings(p: Mapping) -> dict[Hashable, Task]:
    """Those of the curve and of the surface; ("search", ...): what was tried for settings that are not printed;
    ``surface.ANSWERS``: what its models say."""
    calls: dict[Hashable, Task] = curve.trainings(p) | surface.trainings(p)
    calls |= {("search", room.NAME): room.search(PAPER) for room in (curve, surface)}
    if surface.trainings(p) == surface.trainings(PAPER):
        near = dict.fromkeys(("mean", "std", "path", "judged"), Tolerance(1e-3, 1e-3))
        calls[surface.ANSWERS] = Computed(answers, {}, tolerances=near)
    return calls


def answers() -> xarray.Dataset:
    """``surface.answers`` of what is stored: thirty models draw millions of paths, which takes longer than to read all
    else."""
    return surface.answers(PAPER, histories_of(surface.trainings(PAPER), folder_of(NOTEBOOK)))


class Results(NamedTuple):
    """Those of the two rooms."""

    curve: curve.Results
    surface: surface.Results


def results(p: Mapping, histories: Mapping[Hashable, History]) -> Results:
    """The labelled arrays of both."""
    return Results(curve.results(p, histories), surface.results(p, histories))


# tables, and what result.json keeps


def tried(results: Results) -> dict[str, dict[str, np.ndarray]]:
    """What was tried on validation data -> energy score, RMSE and std [seed], the best of a section first."""
    rows = {}
    for section, every in (("5.1", results.curve.tried), ("5.2", results.surface.tried)):
        if every is None:
            continue
        axes = [name for name in ("lr", "decay", "steps") if name in every.dims]
        one = every.squeeze(drop=True).stack(setting=axes)
        for setting in one.setting.values[one["energy score"].mean("seed").argsort()].tolist():
            words = ", ".join(f"{name} = {value:g}" for name, value in zip(axes, setting, strict=True))
            rows[f"{section}: {words}"] = seeds_of(one.sel(setting=setting))
    return rows


def tried_rows(results: Results) -> list[list[str]]:
    """The same as text: mean and st.dev. over seeds, in hundredths."""
    return [[name, *(plus_minus(100 * v, 2) for v in row.values())] for name, row in tried(results).items()]


def metrics(results: Results) -> dict:
    """What result.json keeps: the numbers of all tables, over seeds."""
    sine, plane = results
    alone, std = curve.own_and_elsewhere(sine.alone, sine.clients), curve.spreads(sine.one_place)
    errors = sine.growing["std"] - growing(sine.growing.x)
    return {
        "one_d": {name: seeds_of(curve.quality(sine, answers)) for name, answers in curve.models(sine).items()},
        "two_d": {name: seeds_of(row) for name, row in surface.report(plane).items()},
        "alone_rmse": {place: alone[place].transpose("seed", "client").values for place in alone},
        "learnt_std": {
            score: {f"{sigma:g}": std.sel(score=score, level=sigma).values for sigma in std.level.values}
            for score in std.score.values.tolist()
        },
        "client_noise": curve.noise_rows(sine),
        "growing_noise_error": dict(
            zip(errors.diffusion.values.tolist(), rms(errors.transpose("diffusion", "seed", "x").values), strict=True)
        ),
        "search": tried(results),
    }
