"""Notebook 13 live: Poisson's equation, solved in one round for any pieces, sines and points; and attacks on sums."""

from ipywidgets import GridBox

from ....live import levels
from ....live.modules import Piece
from ....live.widgets import explore, slider
from ..figures import SUMS
from .figures import attack
from .pieces import curves_and_errors

PIECES, SINES, POINTS = (2, 4, 6, 8, 10, 16, 32), (5, 10, 20, 60), (32, 64)
APART = (0, 0.1, 0.3, 0.7)
CROWD, FEW, NOISE = (4, 8, 16, 32, 64), (4, 6, 8, 12, 20, 60), (0, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1)


def explorer() -> Piece:
    """Sliders over pieces, sines and points: curves, and errors of five draws of sines beside notebook 05's network."""
    table = curves_and_errors(PIECES, SINES, POINTS, range(5))
    curves = table.u.assign_attrs(xlabel="x", ylabel="u(x)")
    curves = curves.assign_coords(color=("model", [SUMS if model == "sums" else "" for model in table.model.values]))
    return levels.explore(curves, table.error, {"pieces": 8, "sines": 60})


def attacks() -> GridBox:
    """Sums of other points at each move, attacked at once, beside what they are worth."""
    alt = "left points, and where two attacks on their sums take them to be; right the solution that the sums give"
    return explore(
        attack, alt,
        points=slider(CROWD, 16, "points", "How many points are in the sums."),
        sines=slider(FEW, 12, "sines", "How many functions the curve is made of."),
        noise=slider(NOISE, 0, "noise", "Added to each sum, in units of the most by which one point changes it."),
        apart=slider(APART, 0, "one apart", "How far one point stands from all others, which are left of it."),
        seed=slider(range(5), 0, "draw", "Other points, other sines."),
    )  # fmt: skip
