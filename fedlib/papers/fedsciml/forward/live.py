"""Notebook 05 live: Poisson's equation, two clients who each see some pieces of the interval."""

from collections.abc import Mapping

import ipywidgets

from .... import live
from ....federated.solved import Solved
from ....live import widgets
from ....live.levels import explore, explored
from ....live.modules import Piece
from ....live.widgets import HELP, choice, slider
from ....notebook.pictures import solution
from ....trainings.store import stored
from . import study
from .problem import poisson

ALT = (
    "left the truth, the clients' solutions and the federated one, below their residuals, with the owners of the "
    "pieces as shades; right the clients' steps in the plane of weights, and the errors over the rounds"
)


def show() -> None:
    """Curves u above, and below the residual -u'' - f: small where a client has points, free elsewhere."""
    live.show(
        "05", poisson(), None, ALT,
        level=slider([2, 4, 8, 16, 32], 2, "pieces", HELP["pieces"]),
        E=slider([1, 5, 20, 50], 20, "local steps E"),
        lr=slider([0.0003, 0.001, 0.003, 0.01], 0.003, "rate"),
    )  # fmt: skip


def explorer() -> Piece:
    """What each client finds alone, and what both find together, at every number of pieces, as it is stored."""
    return explore(*explored(stored(study, "poisson"), poisson()))


def solution_explorer(solutions: Mapping[str, Solved]) -> ipywidgets.GridBox:
    """Choose an experiment and its level."""
    options = [(solved.experiment.name, name) for name, solved in solutions.items()]
    equation = choice(options, words="equation")
    n = slider(list(solutions[equation.value].models))

    def follow(_=None):  # before the picture hears of a new equation, so that it and n always belong together
        solved = solutions[equation.value]
        n.options, n.description = list(solved.models), solved.experiment.level

    follow()
    equation.observe(follow, "value")
    words = "who owns which points, the exact solution, and where the isolated clients and the federation err"
    return widgets.explore(lambda equation, n: solution(solutions[equation], n), words, equation=equation, n=n)
