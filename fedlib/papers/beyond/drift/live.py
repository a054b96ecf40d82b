"""Notebook 11 live: two clients whose losses are known, what is stored on the way, and a training to watch."""

from functools import partial

import numpy as np
import xarray

from .... import live
from ....live.levels import explore
from ....live.modules import Piece
from ....live.views import experiment_scene
from ....live.watched import Watched, watched_experiment
from ....live.widgets import choice, slider
from ....numerics.metrics import percent
from ....trainings.store import stored
from ...fedsciml.functions.problem import gramacy_lee
from . import figures, study
from .plane import Quadratics, two_clients, walk

ROUNDS = 40
STEPS = (1, 2, 3, 5, 7, 10, 15, 20, 30)
SIZES = (0.02, 0.05, 0.1, 0.2, 0.5)
LEAST = 1e-3  # error (%) that a picture shows

OFFERED = ("FedAvg", "SCAFFOLD", "averaged moments", "fresh correction", study.REPAIR)
"""Rules that change nothing for a single client, so that the centralised model beside them is what it should be."""

ALT = (
    "left the wave with the owners of its points as shades, the clients' fits and the federated one; right the "
    "clients' steps in the plane of weights, and the errors over the rounds"
)


def explorer() -> Piece:
    """Where two clients, and their server, come to in the plane: its first coordinate over the rounds."""
    return explore(*toy(two_clients()), {"local steps E": 10, "size of a step": 0.5})


def toy(problem: Quadratics) -> tuple[xarray.DataArray, xarray.DataArray]:
    """(curves, errors) as ``explore`` takes them: theta_1 over ROUNDS rounds of each client alone, of FedAvg and of
    the repair; truth: the best point. Errors: how far the model is from it in the end (%), LEAST or more."""
    best = problem.optimum()
    models = ("client 1 alone", "client 2 alone", "FedAvg", "repair")
    values, errors = (np.empty((len(STEPS), len(SIZES), len(models), n)) for n in (ROUNDS + 1, 1))
    for i, E in enumerate(STEPS):
        for j, size in enumerate(SIZES):
            alone = [Quadratics(problem.H[[c]], problem.w[[c]]) for c in (0, 1)]
            parts = [(one, False) for one in alone] + [(problem, False), (problem, True)]
            for m, (one, correct) in enumerate(parts):
                theta = walk(one, correct, E, ROUNDS, size).theta
                values[i, j, m], errors[i, j, m] = theta[:, 0], max(LEAST, percent(theta[-1], best))
    coords = {"local steps E": [*STEPS], "size of a step": [*SIZES], "model": [*models]}
    x = np.arange(ROUNDS + 1.0)
    colors = ["", "", *(figures.LOOKS[rule]["color"] for rule in models[2:])]
    curves = xarray.DataArray(
        values,
        coords | {"x": x, "truth": ("x", np.full(len(x), best[0])), "color": ("model", colors)},
        (*coords, "x"),
        attrs={"xlabel": "round", "ylabel": "θ₁", "limits": (-0.1, 2.3)},
    )
    return curves, xarray.DataArray(errors, coords | {"seed": [0]}, (*coords, "seed"))


def rounds(name: str = "poisson_8") -> Piece:
    """FedAvg, the repair and the centralised model on the way, at every rate and schedule, as they are stored."""
    curves, errors = on_the_way(study.followed(partial(stored, study), name))
    return explore(curves, errors, {"rounds": curves.rounds.values[-1], "rate": 1e-3})


def on_the_way(table: xarray.Dataset) -> tuple[xarray.DataArray, xarray.DataArray]:
    """(curves, errors) as ``explore`` takes them, of a table as of ``study.followed``."""
    table = table.rename({"round": "rounds", "lr": "rate", "rule": "model"})
    names = [figures.name_of(rule) for rule in table.model.values]
    colors = [figures.LOOKS[name]["color"] for name in names]
    table = table.assign_coords(model=names).assign_coords(color=("model", colors))
    curves = table.u.transpose("rounds", "rate", "schedule", "model", "x").assign_attrs(xlabel="x", ylabel="u(x)")
    owner = np.tile(table.owner.values, (table.sizes["rounds"], 1))
    curves = curves.drop_vars("owner").assign_coords(owner=(("rounds", "x"), owner))
    errors = table.error.transpose("rounds", "rate", "schedule", "model", "seed").drop_vars("color")
    return curves, errors


def training(rule: str = "FedAvg", pieces: int = 20, E: int = 5, lr: float = 0.003, width: int = 48) -> Watched:
    """Two clients who own pieces of the wave in turn, E local steps in a round; the rule around Adam."""
    return watched_experiment(gramacy_lee(width=width), pieces, E, rule=rule, lr=lr)


def show() -> None:
    """The live training of notebook 11."""
    live.show(
        "11", training, experiment_scene, ALT,
        rule=choice([(figures.name_of(rule), rule) for rule in OFFERED], words="rule"),
        pieces=slider([2, 10, 20, 50], 20, "pieces"),
        E=slider([1, 2, 5, 10, 20, 50], 5, "local steps E"),
        lr=slider([0.0003, 0.001, 0.003, 0.01], 0.003, "rate"),
    )  # fmt: skip
