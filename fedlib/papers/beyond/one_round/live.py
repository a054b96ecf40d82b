"""Notebook 13 live: Poisson's equation, solved in one round for any pieces, sines and points; and attacks on sums."""

import numpy as np
import xarray

from ....live import levels
from ....notebook.style import COLORS
from .figures import ATTACK, SUMS
from .pieces import curves_and_errors

PIECES, SINES, POINTS = (2, 4, 6, 8, 10, 16, 32), (5, 10, 20, 60), (32, 64)


def explorer() -> levels.Explorer:
    """Sliders over pieces, sines and points: curves, and errors of five draws of sines beside notebook 05's network."""
    table = curves_and_errors(PIECES, SINES, POINTS, range(5))
    curves = table.u.assign_attrs(xlabel="x", ylabel="u(x)")
    curves = curves.assign_coords(color=("model", [SUMS if model == "sums" else "" for model in table.model.values]))
    return levels.explore(curves, table.error, {"pieces": 8, "sines": 60})


def attacks(crowd: xarray.Dataset) -> levels.Explorer:
    """Sliders over points and sines: which part of the points lies up to x, and where attacks on their sums take it to
    be; beside it the share that they find. crowd: of ``privacy.in_a_crowd``."""
    grid = xarray.DataArray(np.linspace(0, np.pi, levels.POINTS), dims="x")

    def up_to(places: xarray.DataArray) -> xarray.DataArray:
        return (100 * (places <= grid).sum("place") / crowd.points).rename(m="sines")

    truth = up_to(crowd.x).transpose("points", "sines", "x")
    curves = up_to(crowd.guess).rename(attack="model").transpose("points", "sines", "model", "x")
    curves = curves.assign_coords(x=grid.values, color=("model", [COLORS["other"], ATTACK]))
    curves = curves.assign_coords(truth=(truth.dims, truth.values))
    shares = (100 * crowd.found).rename(m="sines", attack="model").transpose("points", "sines", "model", "seed")
    return levels.explore(
        curves.assign_attrs(xlabel="x", ylabel="points up to x (%)"),
        shares.assign_attrs(verb="finds", ylabel="points found (%)"),
        {"points": 16, "sines": 12},
    )
