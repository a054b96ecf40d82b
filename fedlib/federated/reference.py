"""The papers' algorithms as plain loops: the readable twin of ``rounds``.

Everything is one client after the other with torch.optim and nn.Module. Tests pin the two implementations
equal in float64. ``loss`` is the same function as in the engine: (predict, batch) -> scalar.
"""

from copy import deepcopy

import numpy as np
import torch

from ..models.networks import fan_in_uniform
from ..streams import torch_stream
from .batches import batches, noise_stream, participants
from .stack import draw_parameters, load


def client_batches(pool, fed, c, r, local, noise=None):
    """Client c's mini-batches of round r; every point weighs 1 / (points in its batch).

    noise: shape of one point's fresh normals; the batches then carry them as "noise" [points, *noise].
    """
    draw = fed.seed, c, r, len(fed.shards[c]), local
    fresh = noise_stream(*draw, noise) if noise else None
    for positions in batches(*draw):
        points = torch.as_tensor(np.asarray(fed.shards[c])[positions[positions >= 0]])
        n, dtype = len(points), next(iter(pool.values())).dtype
        batch = {k: v[points] for k, v in pool.items()} | {"w": torch.full((n,), 1 / n, dtype=dtype)}
        yield batch | ({"noise": torch.as_tensor(fresh(1)[0, :n], dtype=dtype)} if fresh else {})


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


def feddro(net, loss, pool, fed, *, rounds, local, eta_1, lam, p=2, momentum=0.5, noise=None, init=fan_in_uniform):
    """FedDRO, Algorithm 1, lines 8-15: ascent on theta_i, descent on w, averaging of w after ``local`` updates.

    The displacements theta_i stay at the clients. Line 10 is mended: average where tau divides t. Returns the global
    w without theta, and theta_i [K, d]. pool: the mapped samples T_i(x). p = 2, by the proximal step.
    """
    if p != 2:
        raise ValueError(f"p = {p}: the loop knows p = 2 only")
    clients = [load(deepcopy(net), draw_parameters(net, init, torch_stream(fed.seed, "init"))) for _ in fed.shards]
    for r in range(rounds):
        for i, client in enumerate(clients):
            w = [q for name, q in client.named_parameters() if name != "theta"]
            descent = torch.optim.SGD(w, fed.rate(r), momentum=momentum)
            for batch in client_batches(pool, fed, i, r, local, noise):
                client.zero_grad()
                loss(client, batch).backward()
                with torch.no_grad():
                    client.theta.add_(client.theta.grad, alpha=eta_1).div_(1 + 2 * eta_1 * lam)
                descent.step()
        rows = [torch.cat([q.flatten() for k, q in c.named_parameters() if k != "theta"]).detach() for c in clients]
        mean = sum(share * row for share, row in zip(fed.p.tolist(), rows, strict=True))
        for client in clients:
            load(client, torch.cat([client.theta.detach(), mean]))  # theta is the first parameter
    return mean, torch.stack([client.theta.detach() for client in clients])
