"""What notebook 06b trains, and what its figures and claims take.

``python -m fedlib train 06b_reaction --only ends_8`` trains what is not stored of one choice of points.
"""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
import xarray

from ....federated import sweep
from ....federated.batches import Local
from ....federated.experiment import Experiment, data_of
from ....federated.history import History
from ....federated.rounds import on
from ....federated.solved import answer
from ....federated.stack import predict
from ....notebook import rules
from ....trainings.calls import Call
from ....trainings.settings import paper
from .problem import reaction, residual

NOTEBOOK = "06b_reaction"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "inside_10", "levels"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""

RULES = {
    "k_version": rules.one_of("paper", "code"),
    **dict.fromkeys(("levels", "many_levels"), rules.whole(2)),
    **dict.fromkeys(("inside", "with_ends"), rules.whole()),
    "many_seeds": rules.whole(0),
}
"""Parameter -> what it may be."""


class Points(NamedTuple):
    """A choice of points of the equation: so many inside, and perhaps the two ends."""

    inside: int
    ends: bool

    def __str__(self) -> str:
        return f"{self.inside} inner" + " and 2 end" * self.ends

    @property
    def file(self) -> str:
        """Where its trainings are."""
        return f"{'ends' if self.ends else 'inside'}_{self.inside}"


CHOICES = (Points(8, True), Points(10, False))
"""The authors' ten points of the equation, and ten inner ones, between which the lesson chooses."""


def check(p: Mapping) -> None:
    """ValueError where the observations do not allow a level."""
    for level in {*p["levels"], *p["many_levels"]}:
        data_of(reaction(), level)


def choices(p: Mapping) -> list[Points]:
    """Those at which federations are trained; verdicts rest on the first one."""
    return [Points(n, False) for n in p["inside"]] + [Points(n, True) for n in p["with_ends"]]


def arguments(p: Mapping, points: Points) -> dict:
    """Of ``reaction``."""
    return points._asdict() | {"version": p["k_version"]}


def trainings(p: Mapping) -> dict[tuple[str, str], Call]:
    """Of each choice of points all levels, and those with many seeds at which the seeds fall into two groups."""
    changes = {"rounds": p["rounds"], "local": Local(p["local_updates"]), "lr": p["lr"], "evaluations": 40}
    kept = {"federated": p["seeds"], "centralised": p["seeds"], "isolated": p["seeds"][:1]}
    few = {"levels": p["levels"], "seeds": p["seeds"], "models": kept}
    many = {"levels": p["many_levels"], "seeds": p["many_seeds"], "kinds": ["federated"], "models": {}}
    return {
        (points.file, name): Call(reaction, arguments(p, points), changes=changes, **rows)
        for points in choices(p)
        for name, rows in (("levels", few), ("many seeds", many))
    }


FIELDS = xarray.Variable("field", ["u", "k"])
MODELS = ("client 1 alone", "client 2 alone", "federated", "centralised")


class Results(NamedTuple):
    """What figures and claims take, by choice of points as a text, "10 inner". judged: the one that verdicts rest on.

    errors: (%) [field, round, kind, level, seed], fields "u" and "k". divergences: of the weights of the networks for
    u and for k [field, seed, level, matrix]. answers: see ``answers``. squares: of the residual of the centralised
    models [seed, x] at the points of the equation. many: errors (%) of federations after training [field, level, seed],
    with many seeds.
    """

    judged: str
    errors: dict[str, xarray.DataArray]
    divergences: dict[str, xarray.DataArray]
    answers: dict[str, xarray.DataArray]
    squares: dict[str, xarray.DataArray]
    many: dict[str, xarray.DataArray]

    @property
    def last(self) -> dict[str, xarray.DataArray]:
        """Errors (%) after training [field, kind, level, seed]."""
        return {choice: errors.isel(round=-1) for choice, errors in self.errors.items()}


def results(p: Mapping, histories: Mapping[tuple[str, str], History]) -> Results:
    """The labelled arrays of what is trained: of a choice of points all levels, or nothing can be said of it yet."""
    arrays = Results(str(choices(p)[0]), {}, {}, {}, {}, {})
    for points in choices(p):
        history, name, ours = histories.get((points.file, "levels")), str(points), reaction(**arguments(p, points))
        if history and {*p["levels"]} <= {*sweep.whole_levels(history)}:
            arrays.errors[name] = by_field(history)
            arrays.divergences[name] = divergence_by_field(history, ours)
            arrays.answers[name] = answers(history, ours)
            arrays.squares[name] = squares(history, ours)
        if (points.file, "many seeds") in histories:
            last = by_field(histories[points.file, "many seeds"]).isel(round=-1)
            arrays.many[name] = last.sel(kind="federated", drop=True)
    return arrays


def by_field(history: History) -> xarray.DataArray:
    """Errors (%) [field, round, kind, level, seed]."""
    errors = xarray.concat([sweep.errors(history, f"error_{field}") for field in FIELDS.values], FIELDS)
    return errors.assign_attrs(middle="median")


def divergence_by_field(history: History, experiment: Experiment) -> xarray.DataArray:
    """Relative divergence [field, seed, level, matrix]; the first half of the matrices is the network for u."""
    both = sweep.divergences(history, experiment.net)
    half = both.sizes["matrix"] // 2
    halves = [both.isel(matrix=part) for part in (slice(half), slice(half, None))]
    both = xarray.concat([part.assign_coords(matrix=halves[0].matrix) for part in halves], FIELDS)
    return both.assign_attrs(middle="median")


def answers(history: History, experiment: Experiment) -> xarray.DataArray:
    """What the models of MODELS say of u and k [seed, level, model, field, x]; NaN of clients that were not kept.

    Beside x stands the "truth" [field, x], beside level the clients' distance, as of ``sweep.errors``.
    """
    levels, seeds = sweep.whole_levels(history), history.labels("seed")
    test = data_of(experiment, levels[0]).test

    def says(level, seed: int) -> list[np.ndarray]:
        alone = sweep.models_of(history, "isolated", level, seed)
        rows = [*alone, *(sweep.models_of(history, kind, level, seed)[0] for kind in ("federated", "centralised"))]
        return [answer(experiment, row, test).T for row in rows]

    values = np.array([[says(level, seed) for level in levels] for seed in seeds])
    coords = {"seed": seeds, "level": levels, "model": [*MODELS], "field": FIELDS, "x": test["x"][:, 0].numpy()}
    array = xarray.DataArray(values, coords, ("seed", "level", "model", "field", "x"))
    return sweep.named(array.assign_coords(truth=(("field", "x"), test["u"].T.numpy())), history)


def squares(history: History, experiment: Experiment) -> xarray.DataArray:
    """Squared residual of the centralised models [seed, x] at the points of the equation."""
    batch, level = on(experiment.constants, "cpu", torch.float32), history.labels("level")[0]
    rows = {seed: sweep.models_of(history, "centralised", level, seed)[0] for seed in history.labels("seed")}
    values = [residual(partial(predict, experiment.net, row), batch).numpy() ** 2 for row in rows.values()]
    x = experiment.constants["points"][:, 0].numpy()
    return xarray.DataArray(np.array(values), {"seed": [*rows], "x": x}, ("seed", "x"))
