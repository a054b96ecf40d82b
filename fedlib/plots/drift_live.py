"""Notebook 11 live: two clients on the wave of notebook 04, with a rule against their drift."""

from ..federated.rules import RULES
from ..notebook import live
from ..notebook.watching import Training
from ..notebook.widgets import choice, slider
from ..problems import function_live as wave
from . import function_live

OFFERED = ("FedAvg", "SCAFFOLD", "averaged moments", "fresh correction", "fresh correction + averaged moments")
"""Rules that change nothing for a single client, so that the centralised model beside them is what it should be."""


def training(
    rule: str = "FedAvg", pieces: int = 10, E: int = 5, lr: float = 0.003, width: int = wave.WIDTH
) -> Training:
    """Two clients with p pieces each, E local steps in a round; the rule around Adam."""
    made = wave.training(2, pieces, E, lr, width=width)
    return made._replace(how={**made.how, "optimizer": RULES[rule].optimizer(RULES[rule].knobs[0])})


def show() -> None:
    """The live training of notebook 11."""
    live.show(
        "11", training, function_live.scene, function_live.ALT,
        rule=choice(OFFERED),
        pieces=slider([1, 5, 10, 25], 10, "pieces each"),
        E=slider([1, 2, 5, 10, 20, 50], 5, "local steps E"),
        lr=slider([0.0003, 0.001, 0.003, 0.01], 0.001, "rate"),
    )  # fmt: skip
