"""Explorers of networks that a committed run has trained: nothing trains when a page opens, a move asks a network."""

from pathlib import Path

import ipywidgets
import torch

from ..notebook import models
from ..papers.fed_deeponet.pendulum import live as pendulum
from ..papers.fedstnn.as_coded import figures, problem
from ..streams import stream
from ..trainings.profiles import committed, folder_of


def rows(folder: Path) -> dict:
    """Key -> rows [K, P] of a committed run.

    Raises:
        FileNotFoundError: the run kept no models.
    """
    if not (kept := models.load(folder)):
        raise FileNotFoundError(f"{folder / models.NAME}: these networks are part of the repository; fetch it anew")
    return {key: torch.as_tensor(row) for key, row in kept.items()}


def of_pendulum() -> ipywidgets.GridBox:
    """A torque of one's own, the true angle, and what the federation of 20 and one of its clients say."""
    return pendulum.asked()


def of_ways() -> ipywidgets.GridBox:
    """FedStNN as printed, as its authors coded it, and as it should be."""
    name = "08b_as_coded"
    p = committed(name, "paper")["parameters"]
    nets = {
        "as printed": problem.printed(1, 8, 16, p["steps"], p["batch_size"], p["rate"]).net,
        "as coded": problem.coded(1, 8, 16, p["steps"], p["batch_size"], "coded 1D", domain=(0, 2 * torch.pi)).net,
        "as it should be": problem.proper(1, 8, 16, p["steps_proper"], 32, p["lr"], p["decay"]).net,
    }
    kept = rows(folder_of(name, "paper"))
    return figures.ways_explorer({(way, sigma): (nets[way], row[0]) for (way, sigma), row in kept.items()})


def of_clouds() -> ipywidgets.GridBox:
    """Two clients' clouds, and the shared one with which they measure how far apart they are."""
    from ..numerics.transport import fedwad  # POT takes seconds, and other pages do not need it
    from ..plots import transport
    from ..problems import clouds

    X, Y, *_ = clouds.plane(200, stream(0, "clouds"))
    return transport.fedwad_explorer(X, Y, fedwad(X, Y, clouds.tight_start(X, Y, 200), 10, p=2))
