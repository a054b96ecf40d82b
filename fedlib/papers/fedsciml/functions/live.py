"""Notebook 04 live: a wiggly function on a line, and clients who own pieces of it."""

from .... import live
from ....live.levels import explore, explored
from ....live.modules import Piece
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
    clients: int = 2, pieces: int = 1, E: int = 20, lr: float = 0.003, mixing: str = "FedAvg", server: str = "mean",
    width: int = WIDTH,
) -> Watched:  # fmt: skip
    """K clients, with ``pieces`` each, E local Adam steps; a centralised model goes along."""
    line = gramacy_lee(clients, width=width)
    return watched_experiment(line, clients * pieces, E, lr=lr, mixing=MIXING[mixing], server=SERVERS[server])


def all_pieces(clients: int) -> list[tuple[str, int]]:
    """(pieces in all, in words; pieces of each client): what a slider offers."""
    return [(f"{clients * each}", each) for each in (1, 2, 5, 10, 20)]


def show() -> None:
    """The function, who owns what, the clients' fits where they are now, and the federated one."""
    clients, pieces = slider([2, 3, 4, 5], 2, "clients K"), slider(all_pieces(2), 1, "pieces")
    clients.observe(lambda change: pieces.set_trait("options", all_pieces(change.new)), "value")
    live.show(
        "04", training, experiment_scene, ALT,
        clients=clients, pieces=pieces,
        E=slider([1, 2, 5, 20, 50], 20, "local steps E"),
        lr=slider([0.0003, 0.001, 0.003, 0.01], 0.003, "rate"),
        mixing=choice(list(MIXING), "FedAvg", "mixing"),
        server=choice(list(SERVERS), "mean", "server"),
    )  # fmt: skip


def explorer() -> Piece:
    """What each client finds alone, and what both find together, at every number of pieces, as it is stored."""
    return explore(*explored(stored(study, "line"), gramacy_lee()))
