"""Notebook 09's training to play with: a small picture of three letters, and clients who own pixels of it."""

from functools import cache
from typing import NamedTuple

import numpy as np
import torch

from ..federated.batches import Local
from ..federated.federation import Federation, centralised
from ..live.watched import Watched
from ..papers.fedstnn.network import SNN, init_snn
from ..papers.fedstnn.scores import local_loss, squared_error
from ..streams import torch_stream
from .letters import Picture, letters, pixels, psi
from .letters_study import shards_of

SHAPE, WIDTH = (20, 60), 24


class Drawing(NamedTuple):
    """The picture; the pixels [n_k] of each client; coordinates [n, 2] and one path's noise [n, N, 1, L] of all."""

    picture: Picture
    owned: list[np.ndarray]
    x: torch.Tensor
    w: torch.Tensor


@cache
def picture() -> Picture:
    return Picture(letters(SHAPE))


def drawn(predict, shown: Drawing) -> torch.Tensor:
    """The picture that ONE model draws with one path for every pixel, bool [n]: its Xi highest scores are white."""
    return psi(predict(shown.x, shown.w)[:, 0], shown.picture.xi)


def training(
    own: int = 200, others: int = 6, clients: int = 6, active: float = 1.0, E: int = 10, lr: float = 0.03
) -> Watched:
    """K clients, a third of them for each letter, who own L pixels of its third and F of the rest; E Adam steps.

    active: share of the clients in a round.
    """
    shape = picture()
    shards = shards_of(shape, clients, own, others, seed=0)
    net = SNN(2, WIDTH, WIDTH, N=2, std=0.1)
    x = pixels(SHAPE).float()
    shown = Drawing(shape, shards, x, torch.randn(len(x), *net.noise(1), generator=torch_stream(0, "live")))
    feds = {"federated": Federation(shards, lr=lr, fraction=active), "centralised": centralised(shards, lr=lr)}
    how = dict(local=Local(E, batch_size=48), init=init_snn, noise=net.noise(1), reset_moments=True)

    def wrong(predict):
        return 100 * (drawn(predict, shown) ^ shape.truth).float().mean()

    pool = {"x": x, "y": shape.truth.float()}
    return Watched(net, local_loss(squared_error), pool, feds, how | {"dtype": torch.float32}, wrong, shown)
