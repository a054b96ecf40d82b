"""Pictures by concept behind controls."""

from collections.abc import Mapping

import ipywidgets

from ..federated.solved import Solved
from ..notebook.pictures import solution
from .widgets import choice, explore, slider


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
    return explore(lambda equation, n: solution(solutions[equation], n), words, equation=equation, n=n)
