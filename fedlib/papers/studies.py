"""Notebook -> study: for who trains, replays or lists all of them. A notebook imports its own room only."""

from types import ModuleType

from .beyond.drift import study as drift
from .beyond.instruments import study as instruments
from .beyond.leak import study as leak
from .beyond.one_round import study as one_round
from .beyond.projection import study as projection
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
from .fedstnn import regression
from .fedstnn.as_coded import study as as_coded
from .fedstnn.letters import study as letters

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
        regression,
        as_coded,
        letters,
        transport,
        digits,
        drift,
        leak,
        one_round,
        projection,
        instruments,
    )
}
"""Notebook -> the module that says what it trains."""
