"""Notebook 11 live: two clients on the wave of notebook 04, with a rule against their drift."""

from .. import live
from ..live.views import experiment_scene
from ..live.watched import Watched, watched_experiment
from ..live.widgets import choice, slider
from ..papers.fedsciml.functions.live import ALT, WIDTH
from ..papers.fedsciml.functions.problem import gramacy_lee

OFFERED = ("FedAvg", "SCAFFOLD", "averaged moments", "fresh correction", "fresh correction + averaged moments")
"""Rules that change nothing for a single client, so that the centralised model beside them is what it should be."""


def training(rule: str = "FedAvg", pieces: int = 20, E: int = 5, lr: float = 0.003, width: int = WIDTH) -> Watched:
    """Two clients who own pieces in turn, E local steps in a round; the rule around Adam."""
    return watched_experiment(gramacy_lee(width=width), pieces, E, rule=rule, lr=lr)


def show() -> None:
    """The live training of notebook 11."""
    live.show(
        "11", training, experiment_scene, ALT,
        rule=choice(OFFERED),
        pieces=slider([2, 10, 20, 50], 20, "pieces"),
        E=slider([1, 2, 5, 10, 20, 50], 5, "local steps E"),
        lr=slider([0.0003, 0.001, 0.003, 0.01], 0.001, "rate"),
    )  # fmt: skip
