"""Notebooks 02 and 03 live."""

from ..live.widgets import choice, slider
from ..papers.fed_deeponet import live
from ..problems import pendulum_live as problem


def show(notebook: str) -> None:
    """The live training of "02" or "03"."""
    setup, controls = KINDS[notebook]
    live.show(notebook, setup, idle, **controls())


def idle(data: str = "", **values) -> list[str]:
    """Shards have no second field, and fields no shards."""
    return {"sorted shards": ["delta"], "two fields": ["shards_each"]}.get(data, [])


KINDS = {
    "02": (
        problem.skewed,
        lambda: dict(
            data=choice(["sorted shards", "two fields"], "sorted shards", "data", "In what the clients' data differ."),
            shards_each=slider(
                [1, 2, 5, 20], 1, "shards each", "How many shards each client is dealt; more shards, more alike."
            ),
            delta=slider([0.0, 1.0, 4.0], 4.0, "Delta", "By how much the length scales of the two fields differ."),
            **live.steps_and_rate(),
            optimizer=live.optimizer(),
        ),
    ),
    "03": (
        problem.library,
        lambda: dict(
            spread=slider(
                [0.0, 0.25, 0.5, 1.0], 0.5, "k = 1 ±", "How far the stiffnesses of the clients' pendulums lie apart."
            ),
            told=choice(
                ["told", "hidden"], "told", "stiffness is", "Whether the network is told the stiffness of the pendulum."
            ),
            clients=live.clients(),
            **live.steps_and_rate(),
        ),
    ),
}
"""Of each notebook the training and its controls; made when they are shown, for ipywidgets keeps every widget."""
