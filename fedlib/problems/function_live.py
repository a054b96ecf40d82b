"""Notebook 04's training to play with: a wiggly function on a line, and clients who own pieces of it."""

from functools import cache

import numpy as np
import torch
from torch import nn

from ..federated.batches import Local
from ..federated.federation import Federation, centralised
from ..federated.partitions import index_rule
from ..models.networks import glorot_uniform, mlp
from ..notebook.live import MIXING, SERVERS
from ..notebook.watching import Training
from . import functions

POINTS, WIDTH = 200, 48


@cache
def points() -> tuple:
    """(pool, test) of ``functions.on_line``, in float32."""
    return tuple({name: value.float() for name, value in part.items()} for part in functions.on_line(POINTS, 400))


def training(clients: int = 2, pieces: int = 1, E: int = 20, lr: float = 0.003, mixing: str = "FedAvg",
             server: str = "mean", width: int = WIDTH) -> Training:  # fmt: skip
    """K clients, p pieces each, E local Adam steps; a centralised model goes along."""
    pool, test = points()
    shards = index_rule(POINTS, clients, pieces)
    feds = {
        "federated": Federation(shards, mixing=MIXING[mixing], server=SERVERS[server], lr=lr),
        "centralised": centralised([np.arange(POINTS)], lr=lr),
    }
    net = mlp((1, width, width, width, 1), nn.Tanh)
    how = dict(local=Local(E), init=glorot_uniform, dtype=torch.float32)
    return Training(
        net, functions.loss, pool, feds, how, lambda predict: 100 * functions.relative_error(predict, test)["e"]
    )
