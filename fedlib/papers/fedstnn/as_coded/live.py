"""Notebook 08b live: the bands of three ways, as they are stored."""

import xarray

from ....live.levels import Explorer, explore
from ....notebook.style import COLORS
from ....trainings.store import stored
from .. import sine
from ..experiment import beside
from . import study
from .figures import LOOKS
from .problem import WAYS

NOISE = "noise σ"
"""A control's name."""


def explorer() -> Explorer:
    """The band that each way draws, for each noise of the data."""
    return explore(*explored(), {NOISE: 0.1})


def explored() -> tuple[xarray.DataArray, xarray.DataArray]:
    """(curves, errors): means with half the widths of their bands, and how far spreads are off the noise (%)."""
    answers = {way: sine.answered(stored(study, ("curve", way)), kind="federated", client=0) for way in WAYS}
    every = beside("model", answers).rename(level=NOISE).transpose(NOISE, "model", "seed", "x")
    first, sigma = every.isel(seed=0, drop=True), every[NOISE]
    curves = first["mean"].assign_coords(
        truth=("x", sine.curve(every.x.values)),
        half=first["mean"].copy(data=2 * first["std"]),
        truth_half=2 * sigma.expand_dims(x=every.x).transpose(NOISE, "x"),
        color=("model", [COLORS[LOOKS[way][0]] for way in answers]),
    )
    errors = 100 * abs((every["std"] ** 2).mean("x") ** 0.5 / sigma - 1)
    return curves.assign_attrs(xlabel="x", ylabel="y", limits=(-2.0, 2.0)), errors
