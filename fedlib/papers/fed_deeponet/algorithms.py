"""Algorithms 1 and 2 of Fed-DeepONet as plain loops, line by line as the paper writes them.

One client after the other, with torch.optim and nn.Module. Tests pin them equal to the engine in float64.
"""

from copy import deepcopy

import numpy as np
import torch

from ...federated.batches import participants
from ...federated.reference import average, client_batches, local_updates
from ...federated.stack import draw_parameters, load
from ...models.networks import fan_in_uniform
from ...streams import torch_stream


def algorithm_1(net, loss, pool, fed, *, rounds, local, init=fan_in_uniform):
    """Algorithm 1: every client runs K plain SGD updates, then theta <- sum_c p_c gamma^c."""
    theta = draw_parameters(net, init, torch_stream(fed.seed, "init"))
    for r in range(rounds):
        clients = [load(deepcopy(net), theta) for _ in fed.shards]
        for c, gamma in enumerate(clients):
            points = client_batches(pool, fed, c, r, local)
            local_updates(gamma, torch.optim.SGD(gamma.parameters(), fed.rate(r)), loss, points)
        theta = average(clients, fed.p)
    return theta


def algorithm_2(net, loss, pool, fed, *, rounds, local, init=fan_in_uniform):
    """Algorithm 2: the available set A_k runs K Adam updates, with moments started anew.

    Eq. 8 is mended: moments run within a round, t counts the steps since the last synchronisation, and the
    weights are renormalised over A_k.
    """
    theta = draw_parameters(net, init, torch_stream(fed.seed, "init"))
    for r in range(rounds):
        available = np.flatnonzero(participants(fed.seed, r, len(fed.shards), fed.fraction))
        clients = [load(deepcopy(net), theta) for _ in available]
        for c, gamma in zip(available, clients, strict=True):
            points = client_batches(pool, fed, c, r, local)
            local_updates(gamma, torch.optim.Adam(gamma.parameters(), fed.rate(r)), loss, points)
        theta = average(clients, fed.p[available])
    return theta
