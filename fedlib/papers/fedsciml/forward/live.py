"""Notebook 05's pieces: equations, and clients who each see some parts of the domain."""

from collections.abc import Mapping

import ipywidgets

from ....federated.solved import Solved
from ....live import widgets
from ....live.levels import explore, explored
from ....live.modules import Piece
from ....live.widgets import choice, slider
from ....notebook.pictures import solution
from ....trainings.store import stored
from . import study
from .problem import poisson


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
