"""Notebook 03 live."""

from ..live.widgets import choice, slider
from ..papers.fed_deeponet import live
from ..problems import pendulum_live as problem


def show() -> None:
    """Clients with pendulums of their own, whose stiffness the network is told or not."""
    live.show(
        "03", problem.library,
        spread=slider(
            [0.0, 0.25, 0.5, 1.0], 0.5, "k = 1 ±", "How far the stiffnesses of the clients' pendulums lie apart."
        ),
        told=choice(
            ["told", "hidden"], "told", "stiffness is", "Whether the network is told the stiffness of the pendulum."
        ),
        clients=live.clients(), **live.steps_and_rate(),
    )  # fmt: skip
