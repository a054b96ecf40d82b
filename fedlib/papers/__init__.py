"""A room per experiment, in a folder per paper."""

from types import ModuleType

from .beyond.drift import study as drift
from .beyond.one_round import study as one_round
from .fed_deeponet.library import study as library
from .fed_deeponet.pendulum import study as pendulum
from .fed_deeponet.shards import study as shards
from .feddro.digits import study as digits
from .feddro.transport import study as transport
from .fedsciml.flow import study as flow
from .fedsciml.forward import study as forward
from .fedsciml.functions import study as functions
from .fedsciml.operators import study as operators
from .fedsciml.reaction import study as reaction

STUDIES: dict[str, ModuleType] = {
    study.NOTEBOOK: study
    for study in (
        pendulum,
        shards,
        library,
        functions,
        forward,
        flow,
        reaction,
        operators,
        transport,
        digits,
        drift,
        one_round,
    )
}
"""Notebook -> the module that says what it trains."""
