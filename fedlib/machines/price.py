"""What a federation costs: seconds and bytes of a round."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..federated.experiment import train_arguments
from ..federated.rounds import play
from .carriers import carrier
from .experiment import in_one_memory, load
from .local import sites_of
from .server import federate


class Price(NamedTuple):
    """Of each round: CPU seconds of this process [R], bytes of all arrays from server to sites [R] and back [R]."""

    seconds: np.ndarray
    down: np.ndarray
    up: np.ndarray

    @property
    def median(self) -> float:
        """Seconds of a round but the first, in which much is done for the first time."""
        return float(np.median(self.seconds[1:] if len(self.seconds) > 1 else self.seconds))


def of_sites(path: Path | str, by: str, rounds: int) -> Price:
    """With all sites on this machine. by: a carrier, see ``carriers``."""
    played, seconds = timed(federate(path, carrier(by, sites_of(path)), rounds=rounds), rounds)
    down, up = np.array([np.sum(list(done.sent.values()), 0) for done in played]).T
    return Price(seconds, down, up)


def of_one_process(path: Path | str, rounds: int) -> Price:
    """Of ``train`` on the same points in one memory: nothing is sent."""
    plan = load(path)
    pool, owners, _ = in_one_memory(plan)
    playing = play(
        **train_arguments(plan.experiment), pool=pool, federations=[plan.federation(owners)], rounds=rounds,
        init=plan.experiment.init, dtype=plan.dtype, backend=plan.backend,
    )  # fmt: skip
    _, seconds = timed(playing, rounds)
    return Price(seconds, np.zeros(rounds, int), np.zeros(rounds, int))


def timed(playing: Iterator, rounds: int) -> tuple[list, np.ndarray]:
    """The next rounds, and the CPU seconds of each [R]: what else the machine does is not in them."""
    played, seconds = [], []
    for _ in range(rounds):
        began = time.process_time()
        played.append(next(playing))
        seconds.append(time.process_time() - began)
    return played, np.array(seconds)


def expected_bytes(parameters: int, clients: Sequence[int], item: int = 4) -> tuple[int, int]:
    """Bytes of a FedAvg round, all clients at work: the model once to each site, one back from each client.

    With every model goes who is asked (client and its row, 8 bytes each), with every answer its loss (8 bytes).

    Args:
        parameters: of the model. clients: of each site. item: bytes of a number.
    """
    n = sum(clients)
    return item * parameters * len(clients) + 16 * n, item * parameters * n + 8 * n
