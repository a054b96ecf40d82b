"""Explorers of networks that a committed run has trained: nothing trains when a page opens, a move asks a network."""

import ipywidgets

from ..papers.fed_deeponet.pendulum import live as pendulum
from ..streams import stream


def of_pendulum() -> ipywidgets.GridBox:
    """A torque of one's own, the true angle, and what the federation of 20 and one of its clients say."""
    return pendulum.asked()


def of_clouds() -> ipywidgets.GridBox:
    """Two clients' clouds, and the shared one with which they measure how far apart they are."""
    from ..numerics.transport import fedwad  # POT takes seconds, and other pages do not need it
    from ..plots import transport
    from ..problems import clouds

    X, Y, *_ = clouds.plane(200, stream(0, "clouds"))
    return transport.fedwad_explorer(X, Y, fedwad(X, Y, clouds.tight_start(X, Y, 200), 10, p=2))
