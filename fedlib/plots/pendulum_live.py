"""Notebook 02 live."""

from ..live.widgets import choice, slider
from ..papers.fed_deeponet import live
from ..problems import pendulum_live as problem


def show(notebook: str) -> None:
    """The live training of "02"."""
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
}
"""Of each notebook the training and its controls; made when they are shown, for ipywidgets keeps every widget."""
