"""Notebook 06b live: the unknown rate k that two clients find, and what moves while they train."""

import numpy as np
import xarray

from .... import live
from ....federated.experiment import data_of
from ....federated.solved import clouds_of, owners
from ....federated.sweep import errors
from ....live.levels import POINTS, explore
from ....live.modules import Piece
from ....live.widgets import slider
from ....trainings.store import stored
from . import study
from .problem import reaction
from .study import Points

ALT = (
    "left u and k, the truth and what the clients and the server say, with the owners of the pieces as shades; right "
    "the clients' steps in the plane of weights, and the error of u over the rounds"
)


def show() -> None:
    """u and k of the clients and the server."""
    live.show(
        "06b", reaction(), None, ALT,
        level=slider([2, 4, 8, 24], 24, "pieces", "Pieces of the interval, which the clients own in turn."),
        E=slider([1, 5, 20], 5, "local steps E"),
        lr=slider([0.0003, 0.001, 0.003], 0.003, "rate"),
    )  # fmt: skip


def explorer() -> Piece:
    """k of each client alone and of both together, at every number of pieces and two choices of points, as stored."""
    both = {str(points): pieces(points) for points in study.CHOICES}
    name = xarray.Variable("points of the equation", [*both])
    curves, errors = (
        xarray.concat(arrays, name).transpose("pieces", name.dims[0], "model", ...)
        for arrays in zip(*both.values(), strict=True)
    )
    return explore(curves.assign_attrs(xlabel="x", ylabel="k(x)"), errors, {"pieces": int(curves.pieces[-1])})


def pieces(points: Points) -> tuple[xarray.DataArray, xarray.DataArray]:
    """Curves of k [pieces, model, x] of the first seed, and the errors of all seeds [pieces, model, seed]."""
    history, experiment = stored(study, (points.file, "levels")), reaction(**points._asdict())
    k = study.answers(history, experiment).isel(seed=0).sel(field="k", model=[*study.MODELS[:3]])
    k = k.isel(x=np.linspace(0, k.sizes["x"] - 1, POINTS).round().astype(int)).drop_vars(["distance", "field", "seed"])
    owner = [owners(k.x.values, clouds_of(data_of(experiment, level))) for level in k.level.values.tolist()]
    curves = k.rename(level="pieces").assign_coords(owner=(("pieces", "x"), owner))
    last = errors(history, "error_k", "each").isel(round=-1, drop=True).sel(level=k.level).reset_coords(drop=True)
    last = last.rename(level="pieces", kind="model").transpose("pieces", "model", "seed")
    return curves, last
