"""What notebook 08 trains, and what its figures and claims take: the curve and the surface of FedStNN.

``python -m fedlib train 08_stochastic_regression --only noise`` trains what is not stored of the losses.
"""

from collections.abc import Hashable, Mapping
from typing import NamedTuple

import numpy as np
import xarray

from ...federated.history import History
from ...notebook import rules
from ...numerics.metrics import mean_sd
from ...trainings.calls import Computed, Task, Tolerance
from ...trainings.settings import paper
from ...trainings.store import folder_of, histories_of
from .curve import claims
from .curve import study as curve
from .experiment import likeness, rms, seeds_of
from .plane import on_grid
from .sine import SHARINGS, curve_grid, growing
from .sine import curve as sin
from .surface import study as surface
from .surface.readings import readings

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
    "test_paths": rules.whole(2),
    "clients": rules.whole(10, 10_000),
    "clients_2d": rules.whole(4),
    "sharings": rules.one_of(*SHARINGS),
}
"""Parameter -> what it may be."""


def check(p: Mapping) -> None:
    """ValueError where a client would observe without noise, or what is compared is not trained."""
    if (most := max(p["quiet_sigmas"])) >= 2 * p["sigma"]:
        raise ValueError(
            f"quiet_sigmas = {p['quiet_sigmas']}: expected less than 2 sigma = {2 * p['sigma']:g}, for the other "
            f"clients have a noise of 2 sigma less it; {most} leaves them none"
        )
    if lacks := {curve.MAIN, curve.SIXTY, curve.RANDOM} - {*p["sharings"]}:
        raise ValueError(f"sharings = {p['sharings']}: the claims compare {', '.join(sorted(lacks))} with the others")


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


def growing_errors(results: curve.Results) -> dict[str, np.ndarray]:
    """Diffusion -> RMS distance [seed] of the learnt spread from the noise that grows with x."""
    std, truth = results.growing["std"].transpose("diffusion", "seed", "x"), growing(results.growing.x.values)
    return dict(zip(std.diffusion.values.tolist(), rms(std.values - truth), strict=True))


def tried(results: Results) -> dict[str, dict[str, np.ndarray]]:
    """What was tried on validation data -> energy score, RMSE and std [seed]."""
    rows = {}
    if results.curve.tried is not None:
        for lr in results.curve.tried.lr.values.tolist():
            rows[f"5.1: lr = {lr:g}"] = seeds_of(results.curve.tried.sel(lr=lr).squeeze(drop=True))
    if results.surface.tried is not None:
        every = results.surface.tried.stack(setting=("lr", "decay", "steps"))
        for lr, decay, steps in every.setting.values.tolist():
            one = every.sel(setting=(lr, decay, steps))
            rows[f"5.2: lr = {lr:g}, decay = {decay:g}, {steps:g} steps"] = seeds_of(one)
    return rows


def tried_rows(results: Results) -> list[list[str]]:
    """Rows of text, the best of a section first: mean and st.dev. over seeds, in hundredths."""

    def words(values: np.ndarray) -> str:
        mean, sd = mean_sd(100 * np.asarray(values))
        return f"{mean:.2f} ± {sd:.2f}"

    ranked = sorted(tried(results).items(), key=lambda row: (row[0][:3], np.mean(row[1]["energy score"])))
    return [[name, *map(words, row.values())] for name, row in ranked]


def residuals(results: Results) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Section -> (one path - f, observations - f) of the federation's models [seed, point]."""
    sine, plane = results
    path, y = sine.samples["110"]
    pairs = {"5.1": (path - sin(curve_grid()), y - sin(curve_grid()))}
    predicted, f = plane.answers["path"].values, on_grid()
    return pairs | {"5.2": (predicted - f, plane.observed.values - f)}


def metrics(results: Results) -> dict:
    """What result.json keeps: the numbers of all tables, over seeds."""
    sine, plane = results
    common, alone = sine.shared.sel(level=curve.MAIN), curve.own_and_elsewhere(sine.alone, sine.clients)
    trained = {"autograd": common, "printed index": sine.printed, "common start": common, "own starts": sine.starts}
    misread = readings(plane.answers["path"].values, plane.observed.values, plane.sigma)
    losses = {score: sine.one_place.sel(score=score) for score in sine.one_place.score.values.tolist()}
    return {
        "one_d": {name: seeds_of(claims.quality(sine, answers)) for name, answers in curve.models(sine).items()},
        "two_d": {name: seeds_of(row) for name, row in surface.report(plane).items()},
        "trained": {name: seeds_of(claims.quality(sine, answers)) for name, answers in trained.items()},
        "alone_rmse": {place: alone[place].transpose("seed", "client").values for place in alone},
        "learnt_std": {
            score: {
                f"{sigma:g}": rms(one["std"].sel(level=sigma).transpose("seed", "x").values)
                for sigma in one.level.values
            }
            for score, one in losses.items()
        },
        "client_noise": curve.noise_rows(sine),
        "growing_noise_error": growing_errors(sine),
        "coverage_of_clients": {
            level: sine.coverage.sel(level=level).mean("seed").values for level in sine.coverage.level.values.tolist()
        },
        "likeness": {section: likeness(*pair, 0) for section, pair in residuals(results).items()},
        "readings": {name: [*mean_sd(values)] for name, values in misread.items()},
        "search": tried(results),
    }
