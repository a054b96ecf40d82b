"""Notebook 04's piece: a wiggly function on a line, and clients who own pieces of it."""

from ....live.levels import explore, explored
from ....live.modules import Piece
from ....trainings.store import stored
from . import study
from .problem import gramacy_lee


def explorer() -> Piece:
    """What each client finds alone, and what both find together, at every number of pieces, as it is stored."""
    return explore(*explored(stored(study, "line"), gramacy_lee()))
