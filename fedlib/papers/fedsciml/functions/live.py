"""Notebook 04 live: a wiggly function on a line, and clients who own pieces of it."""

from .... import live
from ....federated.solved import stored_solutions
from ....federated.sweep import errors
from ....live.levels import Explorer, explore, explored
from ....live.stage import MIXING, SERVERS
from ....live.views import experiment_scene
from ....live.watched import Watched, watched_experiment
from ....live.widgets import choice, slider
from ....trainings.store import stored
from . import study
from .problem import gramacy_lee

WIDTH = 48

ALT = (
    "left the function with the owners of its points as shades, the clients' fits and the federated one; right the "
    "clients' steps in the plane of weights, and the errors over the rounds"
)


def training(
    clients: int = 2, pieces: int = 2, E: int = 20, lr: float = 0.003, mixing: str = "FedAvg", server: str = "mean",
    width: int = WIDTH,
) -> Watched:  # fmt: skip
    """K clients, who own pieces in turn, all of them as many; E local Adam steps; a centralised model goes along."""
    line = gramacy_lee(clients, width=width)
    return watched_experiment(
        line, clients * max(1, pieces // clients), E, lr=lr, mixing=MIXING[mixing], server=SERVERS[server]
    )


def show() -> None:
    """The function, who owns what, the clients' fits where they are now, and the federated one."""
    live.show(
        "04", training, experiment_scene, ALT,
        clients=slider([2, 3, 4, 5], 2, "clients K"),
        pieces=slider([2, 4, 10, 20, 40], 2, "pieces"),
        E=slider([1, 2, 5, 20, 50], 20, "local steps E"),
        lr=slider([0.0003, 0.001, 0.003, 0.01], 0.003, "rate"),
        mixing=choice(list(MIXING), "FedAvg", "mixing"),
        server=choice(list(SERVERS), "mean", "server"),
    )  # fmt: skip


def explorer() -> Explorer:
    """What each client finds alone, and what both find together, at every number of pieces, as it is stored."""
    history = stored(study, "line")
    return explore(*explored(stored_solutions(history, gramacy_lee()), errors(history, alone="each")))
