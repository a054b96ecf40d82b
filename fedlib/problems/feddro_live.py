"""Notebook 10's training to play with: shifted digits of five clients, as they are and carried to the barycenter."""

from functools import cache

import torch

from ..federated.batches import Local
from ..federated.federation import Federation, join
from ..federated.optimizers import sgd
from ..live.watched import Watched
from .barycenters import World, worlds
from .digits import deal_digits, normalised, small_digits
from .feddro import CNN, answers, classification

K, EACH, TESTED = 5, 50, 100  # so few that a slider answers soon
ON_Q, RAW = "on the barycenter", "FedAvg on what they see"


@cache
def digits() -> dict:
    """scikit-learn's small digits, which need no download."""
    return normalised(small_digits())


@cache
def world(level: float, atoms: int, rounds: int) -> World:
    """Five clients with a shift of size |Lambda|, and where a barycenter of so many atoms and rounds carries them."""
    clients = deal_digits(digits()["train"], K, EACH)
    return worlds(clients, [level], 0, "shared", atoms, rounds)[level]


def training(level: float = 2.0, atoms: int = 5, rounds: int = 3, E: int = 2, lr: float = 0.05) -> Watched:
    """FedAvg on the mapped digits, beside FedAvg on what the clients see; E steps of SGD with batches of 10.

    Without the ascent on theta_i. error: share (%) of clean test digits that a model reads wrongly.
    """
    of = world(level, atoms, rounds)
    parts = {ON_Q: of.mapped, RAW: of.seen}
    pool, at = join(
        {
            name: {"x": torch.as_tensor(own.x, dtype=torch.float32), "y": torch.as_tensor(own.y)}
            for name, own in parts.items()
        }
    )
    federations = {name: Federation(at(name, own.shards), lr=lr) for name, own in parts.items()}
    x, y = (v[:TESTED] for v in digits()["test"])
    how = dict(local=Local(E, batch_size=10), noise=CNN.NOISE, optimizer=sgd(0.5), reset_moments=True)

    def wrong(predict):
        return 100 * (answers(predict, x) != y).float().mean()

    return Watched(CNN(), classification, pool, federations, how | {"dtype": torch.float32}, wrong, of)
