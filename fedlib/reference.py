"""The papers' algorithms as plain loops: the readable twin of ``federation``.

Everything is one client after the other with torch.optim and nn.Module. Tests pin the two implementations
equal in float64. ``loss`` is the same function as in the engine: (predict, batch) -> scalar.
"""

from copy import deepcopy

import numpy as np
import torch

from .networks import draw_parameters, fan_in_uniform, load
from .sampling import batches, participants
from .streams import torch_stream


def client_batches(pool, shard, *draw):
    """The client's mini-batches of one round; every point weighs 1 / (points in its batch)."""
    for at in batches(*draw):
        points = torch.as_tensor(np.asarray(shard)[at[at >= 0]])
        weight = torch.full((len(points),), 1 / len(points), dtype=next(iter(pool.values())).dtype)
        yield {k: v[points] for k, v in pool.items()} | {"w": weight}


def local_updates(net, optimizer, loss, points):
    """K local updates of one client, in place."""
    for batch in points:
        optimizer.zero_grad()
        loss(net, batch).backward()
        optimizer.step()


def average(nets, weights):
    """theta = sum_c p_c theta_c, with p renormalised over the given clients."""
    rows = torch.stack([torch.nn.utils.parameters_to_vector(n.parameters()).detach() for n in nets])
    p = torch.as_tensor(weights / weights.sum(), dtype=rows.dtype)
    return (p[:, None] * rows).sum(0)


def algorithm_1(net, loss, pool, fed, *, rounds, local, init=fan_in_uniform):
    """Fed-DeepONet, Algorithm 1: every client runs K plain SGD updates, then theta <- sum_c p_c gamma^c."""
    theta = draw_parameters(net, init, torch_stream(fed.seed, "init"))
    for r in range(rounds):
        clients = [load(deepcopy(net), theta) for _ in fed.shards]
        for c, gamma in enumerate(clients):
            points = client_batches(pool, fed.shards[c], fed.seed, c, r, len(fed.shards[c]), local)
            local_updates(gamma, torch.optim.SGD(gamma.parameters(), fed.lr), loss, points)
        theta = average(clients, fed.p)
    return theta


def algorithm_2(net, loss, pool, fed, *, rounds, local, init=fan_in_uniform):
    """Fed-DeepONet, Algorithm 2: the available set A_k runs K Adam updates, with moments started anew.

    Eq. 8 is mended: moments run within a round, t counts the steps since the last synchronisation, and the
    weights are renormalised over A_k.
    """
    theta = draw_parameters(net, init, torch_stream(fed.seed, "init"))
    for r in range(rounds):
        available = np.flatnonzero(participants(fed.seed, r, len(fed.shards), fed.fraction))
        clients = [load(deepcopy(net), theta) for _ in available]
        for c, gamma in zip(available, clients, strict=True):
            points = client_batches(pool, fed.shards[c], fed.seed, c, r, len(fed.shards[c]), local)
            local_updates(gamma, torch.optim.Adam(gamma.parameters(), fed.lr), loss, points)
        theta = average(clients, fed.p[available])
    return theta


def fedavg_adam(net, loss, pool, fed, *, rounds, local, init=fan_in_uniform):
    """FedAvg with an Adam that each client keeps over the rounds (what calling DeepXDE's train again does)."""
    theta = draw_parameters(net, init, torch_stream(fed.seed, "init"))
    clients = [load(deepcopy(net), theta) for _ in fed.shards]
    optimizers = [torch.optim.Adam(gamma.parameters(), fed.lr) for gamma in clients]
    for r in range(rounds):
        available = np.flatnonzero(participants(fed.seed, r, len(fed.shards), fed.fraction))
        for c in available:
            load(clients[c], theta)
            points = client_batches(pool, fed.shards[c], fed.seed, c, r, len(fed.shards[c]), local)
            local_updates(clients[c], optimizers[c], loss, points)
        theta = average([clients[c] for c in available], fed.p[available])
    return theta
