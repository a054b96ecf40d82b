"""A room per experiment, in a folder per paper."""

from types import ModuleType

from .beyond.one_round import study as one_round
from .fed_deeponet.library import study as library
from .fedsciml.forward import study as forward
from .fedsciml.functions import study as functions

STUDIES: dict[str, ModuleType] = {study.NOTEBOOK: study for study in (library, functions, forward, one_round)}
"""Notebook -> the module that says what it trains."""
