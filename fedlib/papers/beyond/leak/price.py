"""What a federation sends, and what a round costs: messages as a table, numbers that stand in them, seconds, bytes."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ....federated.rounds import play
from ....files import packed
from ....machines.engines import ask_in_turn, sites_of
from ....machines.messages import Heard, size
from ....machines.plan import Plan
from ....machines.points import train_arguments_of
from ....machines.server import federate


def content(message: Mapping) -> str:
    """What is in a message: "round, rows 7 x 5681, losses 7"."""
    shapes = {name: np.shape(value) for name, value in message.items()}
    return ", ".join(" ".join([name, " x ".join(map(str, shape))]).strip() for name, shape in shapes.items())


def record(heard: Sequence[Heard]) -> list[list[str]]:
    """For a table: message, from, to, what is in it, bytes of the arrays, bytes of the message as it is packed."""
    return [
        [
            {"round": f"round {h.number + 1}", "mixed": f"in round {h.number + 1}"}.get(h.what, h.what),
            *((h.site, "server") if h.up else ("server", h.site)),
            content(h.content),
            f"{size(h.content):,}",
            f"{len(packed(h.content)):,}",
        ]
        for h in heard
    ]


def values_in_common(heard: Sequence[Heard], points: np.ndarray) -> int:
    """In how many arrays of messages one of these numbers stands as it is, in their own precision; 0 is not counted."""
    values = [value for h in heard for value in h.content.values() if isinstance(value, np.ndarray)]
    points = points[points != 0]
    return sum(bool(np.isin(points.astype(v.dtype), v).any()) for v in values if v.dtype.kind == "f")


class Price(NamedTuple):
    """Of each round: CPU seconds of this process [R], bytes of all arrays from server to sites [R] and back [R]."""

    seconds: np.ndarray
    down: np.ndarray
    up: np.ndarray

    @property
    def median(self) -> float:
        """Seconds of a round but the first, in which much is done for the first time."""
        return float(np.median(self.seconds[1:] if len(self.seconds) > 1 else self.seconds))


def of_sites(plan: Plan, rounds: int) -> Price:
    """With all sites in this process, each asked in turn."""
    played, seconds = timed(federate(plan, ask_in_turn(sites_of(plan)), rounds=rounds), rounds)
    down, up = np.array([np.sum(list(done.sent.values()), 0) for done in played]).T
    return Price(seconds, down, up)


def of_one_process(plan: Plan, rounds: int) -> Price:
    """Of ``train`` on the same points in one memory: nothing is sent."""
    _, seconds = timed(play(**train_arguments_of(plan), rounds=rounds), rounds)
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
    """Bytes of a FedAvg round, down and up, all clients at work: a model to each site, one back from each client.

    With every model goes who is asked (client and its row, 8 bytes each), with every answer its loss (8 bytes).

    Args:
        parameters: of the model. clients: of each site. item: bytes of a number.
    """
    n = sum(clients)
    return item * parameters * len(clients) + 16 * n, item * parameters * n + 8 * n


def rows(price: Mapping[str, Mapping | Sequence]) -> list[list[str]]:
    """Rows of a table, against clients per site: megabytes of a round, and CPU time over that of one process.

    price: seconds (name -> [n]), bytes down, up, and data, those of all points [n].
    """
    words = {"down": "down, all sites", "up": "up, all sites", "data": "of all points, once"}
    lines = [[f"MB {text}", *(f"{b / 1e6:.2f}" for b in price[name])] for name, text in words.items()]
    alone = np.array(price["seconds"]["in one process"])
    for name in price["seconds"]:
        if name != "in one process":
            ratios = np.array(price["seconds"][name]) / alone
            lines.append([f"CPU time over one process's, {name}", *(f"{x:.1f}" for x in ratios)])
    return lines
