"""Notebook 13 live: Poisson's equation, solved in one round for any pieces, sines and points."""

from ....live import levels
from .figures import SUMS
from .pieces import curves_and_errors

PIECES, SINES, POINTS = (2, 4, 6, 8, 10, 16, 32), (5, 10, 20, 60), (32, 64)


def explorer() -> levels.Explorer:
    """Sliders over pieces, sines and points: curves, and errors of five draws of sines beside notebook 05's network."""
    table = curves_and_errors(PIECES, SINES, POINTS, range(5))
    curves = table.u.assign_attrs(xlabel="x", ylabel="u(x)")
    curves = curves.assign_coords(color=("model", [SUMS if model == "sums" else "" for model in table.model.values]))
    return levels.explore(curves, table.error, {"pieces": 8, "sines": 60})
