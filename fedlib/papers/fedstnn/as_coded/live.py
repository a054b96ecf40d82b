"""Notebook 08b live: the bands of three ways, as they are stored."""

import xarray

from ....live.levels import explore
from ....live.modules import Piece
from ....trainings.store import stored
from .. import sine
from ..experiment import beside
from . import study
from .figures import LOOKS
from .problem import WAYS

NOISE = "noise σ"
"""A control's name."""


def explorer() -> Piece:
    """The band that each way draws, for each noise of the data."""
    return explore(*explored(), {NOISE: 0.1})


def explored() -> tuple[xarray.DataArray, xarray.DataArray]:
    """(curves, errors): means with half the widths of their bands, and how far spreads are off the noise (%)."""
    answers = {way: sine.answered(stored(study, ("curve", way)), kind="federated", client=0) for way in WAYS}
    colors = [LOOKS[way]["color"] for way in answers]
    return sine.as_bands(beside("model", answers).rename(level=NOISE), NOISE, colors)
