"""Notebook 07's training to play with: the antiderivative, two clients who know different terms of the inputs."""

from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..federated.batches import Local
from ..federated.federation import Federation, centralised
from ..federated.rounds import on
from ..live.watched import Watched
from ..models.networks import glorot_normal
from ..numerics.spaces import TERMS, chebyshev_draws
from ..papers.fedsciml.operators import problem as operators
from ..streams import stream

OPERATOR = operators.learn_antiderivative()
COUNT = 100  # functions of a client


class Pairs(NamedTuple):
    """Inputs v [2, m] and antiderivatives s [2, P], one of each client's own kind; points y [P, 1]."""

    v: Tensor
    s: Tensor
    y: Tensor


@cache
def tests(count: int = 100) -> dict[str, Tensor]:
    """Functions with all terms, and the points, in float32."""
    c = chebyshev_draws("forward", TERMS, count, stream(0, "live tests"))
    return OPERATOR.pairs(c) | on(OPERATOR.constants())


def training(level: int = 3, E: int = 20, lr: float = 0.003) -> Watched:
    """Client 1 knows the first n terms, client 2 the last n; n = 10 is everything."""
    kinds = "forward", "inverse"
    shards = [COUNT * k + np.arange(COUNT) for k in range(2)]
    pool = OPERATOR.pairs(np.concatenate([operators.draws(kind, level, COUNT, 0) for kind in kinds]))
    mine = OPERATOR.pairs(np.concatenate([operators.draws(kind, level, 1, 0, "test") for kind in kinds]))
    feds = {"federated": Federation(shards, lr=lr), "centralised": centralised(shards, lr=lr)}
    how = dict(local=Local(E), init=glorot_normal, constants=OPERATOR.constants(), dtype=torch.float32)
    shown = Pairs(mine["u"], mine["s"], tests()["y"])
    error = lambda predict: operators.operator_error(predict, tests())["e"]  # noqa: E731
    return Watched(OPERATOR.net(), operators.operator_loss, pool, feds, how, error, shown)
