"""The algorithm of FedSciML as a plain loop.

One client after the other, with torch.optim and nn.Module. Tests pin it equal to the engine in float64.
"""

from copy import deepcopy

import numpy as np
import torch

from ...federated.batches import participants
from ...federated.reference import average, client_batches, local_updates
from ...federated.stack import draw_parameters, load
from ...models.networks import fan_in_uniform
from ...streams import torch_stream


def fedavg_adam(net, loss, pool, fed, *, rounds, local, init=fan_in_uniform):
    """FedAvg with an Adam that each client keeps over the rounds (what calling DeepXDE's train again does)."""
    theta = draw_parameters(net, init, torch_stream(fed.seed, "init"))
    clients = [load(deepcopy(net), theta) for _ in fed.shards]
    optimizers = [torch.optim.Adam(gamma.parameters(), fed.lr) for gamma in clients]
    for r in range(rounds):
        available = np.flatnonzero(participants(fed.seed, r, len(fed.shards), fed.fraction))
        for c in available:
            load(clients[c], theta)
            optimizers[c].param_groups[0]["lr"] = fed.rate(r)
            points = client_batches(pool, fed, c, r, local)
            local_updates(clients[c], optimizers[c], loss, points)
        theta = average([clients[c] for c in available], fed.p[available])
    return theta
