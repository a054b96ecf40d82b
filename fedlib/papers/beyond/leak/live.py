"""Notebook 12: what a server makes of one message, at every number of points and of local steps, as stored."""

import numpy as np
import xarray

from ....live import levels
from ....live.modules import Piece
from ....notebook.style import COLORS
from ....trainings.store import stored
from . import study

CONTROLS = {"points": "points", "E": "local steps", "optimizer": "optimiser"}
READ = "the server's reading"


def explored(messages: xarray.Dataset) -> tuple[xarray.DataArray, xarray.DataArray]:
    """(curves, errors) as ``levels.explore`` takes them: the curve that is read of the first client's message beside
    its nearest torque; how far off it is (%), of all clients."""
    names = [*CONTROLS.values()]
    table = messages.rename(CONTROLS).transpose(*names, ...)
    errors = table.off.rename(client="seed").expand_dims(model=[READ]).transpose(*names, "model", "seed")
    curves = table.u.rename(t="x").expand_dims(model=[READ], axis=-2)
    x = np.linspace(0, 1, curves.sizes["x"])
    curves = curves.assign_coords(x=x, truth=((*names, "x"), table.truth.values))
    curves = curves.assign_attrs(xlabel="t (s)", ylabel="torque, r.m.s. 1", limits=(-3.0, 3.0))
    return curves.assign_coords(color=("model", [COLORS["isolated"]])), errors


def explorer() -> Piece:
    """Sliders over points and local steps, and what the client descends with."""
    return levels.explore(*explored(stored(study, "messages")))
