"""The federations of the picture that nobody owns: the main run, the choice of settings, the sweep over L."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from ..federated.federation import Federation, centralised
from ..federated.history import History
from ..federated.mixing import isolated
from ..federated.partitions import focused
from ..streams import stream
from .letters import Picture

RATIO = 100, 3  # L : F, printed


def federations(shards: Mapping[int, Sequence[np.ndarray]], fraction: float, **common) -> dict[tuple, Federation]:
    """(name, seed) -> Federation: all clients; each of them alone; one model with the pixels of all.

    shards: seed -> pixels of each client. fraction: of the clients in a round. common: settings of all.
    """
    feds = {}
    for seed, own in shards.items():
        feds["federation", seed] = Federation(own, fraction=fraction, seed=seed, **common)
        feds["alone", seed] = Federation(own, mixing=isolated, seed=seed, **common)
        feds["central", seed] = centralised(own, seed=seed, **common)
    return feds


def others_of(own: int) -> int:
    """F for L = own pixels at the printed L : F = 100 : 3, to the nearest whole number (halves up)."""
    return (2 * own * RATIO[1] + RATIO[0]) // (2 * RATIO[0])


def shards_of(picture: Picture, clients: int, own: int, others: int, seed: int) -> list[np.ndarray]:
    """Pixels of each client: L of its own third, F in total of the other two."""
    return focused(picture.thirds, picture.white.size, clients, own, others, stream(seed, "pixels"))


def sweep(picture: Picture, levels: Sequence[int], seeds: Sequence[int], clients: int, **common) -> dict:
    """(L, seed) -> Federation at L : F = 100 : 3, for all levels and seeds."""
    return {
        (own, seed): Federation(shards_of(picture, clients, own, others_of(own), seed), seed=seed, **common)
        for own, seed in product(levels, seeds)
    }


def decay_of(lr_end: float, rounds: int) -> float:
    """The factor per round with which the last round has lr_end times the first one's learning rate."""
    return lr_end ** (1 / max(rounds - 1, 1))


class Choice(NamedTuple):
    """Settings that are tried on other seeds."""

    local_updates: int
    rounds: int
    lr: float
    lr_end: float
    seed: int


def grid(
    shards: Mapping[int, Sequence[np.ndarray]], lrs: Sequence[float], lr_ends: Sequence[float], steps: int, rounds: int,
    fraction: float,
) -> dict[Choice, Federation]:  # fmt: skip
    """All learning rates x their ends x seeds, for so many local steps and rounds: one stack. shards: by seed."""
    return {
        Choice(steps, rounds, lr, end, seed): Federation(
            own, fraction=fraction, lr=lr, decay=decay_of(end, rounds), seed=seed
        )
        for lr, end, (seed, own) in product(lrs, lr_ends, shards.items())
    }


def errors_of(history: History, picture: Picture) -> dict[Choice, float]:
    """Share of wrong pixels of every choice's federation after the last round."""
    last = history.metrics["score"][-1]
    return {choice: float(1 - picture.accuracy(last[rows.start])) for choice, rows in history.rows.items()}


def tried(errors: Mapping[Choice, float]) -> list[dict]:
    """The grid that was tried, best first: settings, seeds, share of wrong pixels for each seed and their mean."""
    rows: dict[tuple, dict] = {}
    for choice, error in errors.items():
        settings = {name: value for name, value in choice._asdict().items() if name != "seed"}
        row = rows.setdefault(choice[:-1], settings | {"seeds": [], "wrong": []})
        row["seeds"].append(choice.seed)
        row["wrong"].append(error)
    return sorted(({**row, "mean": float(np.mean(row["wrong"]))} for row in rows.values()), key=lambda row: row["mean"])
