"""The papers' algorithms as plain loops: the readable twin of ``rounds``.

Everything is one client after the other with torch.optim and nn.Module. Tests pin the two implementations
equal in float64. ``loss`` is the same function as in the engine: (predict, batch) -> scalar.
"""

from copy import deepcopy

import numpy as np
import torch

from ..models.networks import fan_in_uniform
from ..models.stochastic import init_snn
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


def algorithm_3(net, optimizer, score, points):
    """FedStNN, Algorithm 3: local updates of one SNN by sample-wise backpropagation, in place.

    Nothing is differentiated but the terminal loss Phi and softplus: f_x, f_u are written out for f = W2 tanh(W1 X
    + b1) + b2. The index of Eq. 34 is mended (Z_n = Y_{n+1} w_n / sqrt(h) with Y_{n+1} = dPhi/dX_{n+1}), and the
    update is h times the printed one, which is the gradient of the loss.

    points: batches with x [B, d], y [B], w [B] and noise [B, N, M, L].
    """
    h, N = net.h, net.N
    for batch in points:
        x, omega = batch["x"], batch["noise"].unbind(1)
        A, a, C, c = net.lift.weight, net.lift.bias, net.read.weight, net.read.bias
        W1, b1, W2, b2 = ([getattr(f[i], kind) for f in net.drift] for i in (0, 1) for kind in ("weight", "bias"))
        with torch.no_grad():
            X, act = [(x @ A.T + a)[:, None].expand_as(omega[0])], []
            for n in range(N):  # forward, Eq. 12
                act.append(torch.tanh(X[n] @ W1[n].T + b1[n]))
                g = torch.nn.functional.softplus(net.s[n])
                X.append(X[n] + h * (act[n] @ W2[n].T + b2[n]) + h**0.5 * g * omega[n])
        out = (X[N] @ C.T + c)[..., 0].detach().requires_grad_()
        (dPhi,) = torch.autograd.grad((batch["w"] * score(out, batch["y"])).sum(), out)
        with torch.no_grad():
            C.grad, c.grad = torch.einsum("bm,bml->l", dPhi, X[N])[None], dPhi.sum()[None]
            Y, net.s.grad = dPhi[..., None] * C, torch.zeros_like(net.s)
            for n in reversed(range(N)):
                Z = Y * omega[n] / h**0.5
                D = (Y @ W2[n]) * (1 - act[n] ** 2)
                W2[n].grad, b2[n].grad = h * torch.einsum("bml,bmk->lk", Y, act[n]), h * Y.sum((0, 1))
                W1[n].grad, b1[n].grad = h * torch.einsum("bmk,bml->kl", D, X[n]), h * D.sum((0, 1))
                g_s = torch.sigmoid(net.s[n])  # the derivative of softplus
                net.s.grad[n] = h * (Z * g_s).sum((0, 1))
                Y = Y + h * D @ W1[n]
            A.grad, a.grad = torch.einsum("bml,bd->ld", Y, x), Y.sum((0, 1))
        optimizer.step()


def algorithm_4(net, score, pool, fed, *, rounds, local, paths, init=init_snn, optimizer=torch.optim.Adam):
    """FedStNN, Algorithm 4: S_t clients run Algorithm 3 from the global model, then u <- sum_k n_k / m u^k (Eq. 39).

    m counts the points of the selected clients only. The paper averages drift and diffusion "separately"; an
    average is elementwise, so this is the average of all parameters.
    """
    theta = draw_parameters(net, init, torch_stream(fed.seed, "init"))
    for r in range(rounds):
        selected = np.flatnonzero(participants(fed.seed, r, len(fed.shards), fed.fraction))
        clients = [load(deepcopy(net), theta) for _ in selected]
        for k, u in zip(selected, clients, strict=True):
            points = client_batches(pool, fed, k, r, local, net.noise(paths))
            algorithm_3(u, optimizer(u.parameters(), fed.rate(r)), score, points)
        theta = average(clients, fed.p[selected])
    return theta
