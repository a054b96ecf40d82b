"""Algorithms 1 to 4 of FedStNN as plain loops, line by line as the paper writes them.

One client after the other, with torch.optim and nn.Module. Tests pin them equal to the engine in float64.
"""

from copy import deepcopy

import numpy as np
import torch

from ...federated.batches import participants
from ...federated.reference import average, client_batches
from ...federated.stack import draw_parameters, load
from ...models.networks import fan_in_uniform
from ...streams import torch_stream
from .network import init_snn


def algorithm_2(net, loss, points, rate):
    """Algorithm 2, ClientUpdate: u <- u - eta grad l(b; u) for every batch b of every local epoch, in place."""
    for batch in points:
        net.zero_grad()
        loss(net, batch).backward()
        with torch.no_grad():
            for u in net.parameters():
                u -= rate * u.grad


def algorithm_1(net, loss, pool, fed, *, rounds, local, init=fan_in_uniform):
    """Algorithm 1, federated averaging: S_t clients run Algorithm 2 from u_t, then u_{t+1} <- sum_k n_k / m u_{t+1}^k.

    Mended: the paper divides by n, all clients' points, where only S_t answered; Eq. 39 has m, as here.
    """
    u = draw_parameters(net, init, torch_stream(fed.seed, "init"))
    for t in range(rounds):
        selected = np.flatnonzero(participants(fed.seed, t, len(fed.shards), fed.fraction))
        clients = [load(deepcopy(net), u) for _ in selected]
        for k, client in zip(selected, clients, strict=True):
            algorithm_2(client, loss, client_batches(pool, fed, k, t, local), fed.rate(t))
        u = average(clients, fed.p[selected])
    return u


def algorithm_3(net, optimizer, score, points):
    """Algorithm 3: local updates of one SNN by sample-wise backpropagation, in place.

    Nothing is differentiated but the terminal loss Phi and softplus: f_x, f_u are written out for f = W2 tanh(W1 X
    + b1) + b2. The indices of Eqs. 33 to 35 are those of backpropagation (Z_n = Y_{n+1} w_n / sqrt(h) with Y_{n+1} =
    dPhi/dX_{n+1}), and the update is h times the printed one, which is the gradient of the loss.

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
    """Algorithm 4: S_t clients run Algorithm 3 from the global model, then u <- sum_k n_k / m u^k (Eq. 39).

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
