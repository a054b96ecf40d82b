"""What the papers' algorithms have in common as plain loops (``algorithms`` of each paper), the readable twins of
``rounds``.

Everything is one client after the other with torch.optim and nn.Module. Tests pin the two implementations
equal in float64. ``loss`` is the same function as in the engine: (predict, batch) -> scalar.
"""

import numpy as np
import torch

from .batches import batches, noise_stream


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
