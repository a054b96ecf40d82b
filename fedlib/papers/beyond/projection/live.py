"""Notebook 14 live: Poisson's network by sums, for any pieces, evaluation by evaluation, as it is stored."""

import xarray

from ....live.levels import explore, explored
from ....live.modules import Piece
from ....trainings.store import stored
from ...fedsciml.forward import study as forward
from ...fedsciml.forward.problem import poisson
from ..figures import SUMS
from . import study


def explorer() -> Piece:
    """Sliders over pieces and evaluations: the networks that notebook 05 averaged stay, that of the sums moves."""
    curves, errors = shown(stored(study, "sums_poisson"))
    return explore(curves, errors, {"pieces": 8, "evaluations": 1})


def shown(table: xarray.Dataset) -> tuple[xarray.DataArray, xarray.DataArray]:
    """(curves, errors) as ``explore`` takes them, of what ``by_sums`` computed beside notebook 05's networks, which are
    the same at every number of evaluations."""
    curves, errors = explored(stored(forward, "poisson"), poisson())
    errors = errors.sel(model=curves.model.values)
    table = table[["u", "error"]].sel(level=curves.pieces.values).rename(level="pieces", evaluation="evaluations")
    axis = {"evaluations": table.evaluations.values}
    u, error = (part.expand_dims(model=["sums"]) for part in (table.u, table.error))
    u = u.assign_coords(x=curves.x)
    both = xarray.concat([curves.expand_dims(axis), u], "model", coords="minimal", compat="override")
    errors = xarray.concat([errors.expand_dims(axis), error], "model", join="outer")
    colors = [SUMS if model == "sums" else "" for model in both.model.values.tolist()]
    both = both.assign_coords(color=("model", colors)).assign_attrs(curves.attrs)
    order = ("pieces", "evaluations", "model")
    return both.transpose(*order, "x"), errors.transpose(*order, "seed")
