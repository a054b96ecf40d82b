"""Explorers of networks that a committed run has trained: nothing trains when a page opens, a move asks a network."""

import ipywidgets

from ..papers.fed_deeponet.pendulum import live as pendulum


def of_pendulum() -> ipywidgets.GridBox:
    """A torque of one's own, the true angle, and what the federation of 20 and one of its clients say."""
    return pendulum.asked()
