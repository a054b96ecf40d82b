"""Rules against client drift as plain loops: the readable twins of ``rules``, and of mixing rules that are no average.

One client after the other with torch.optim, as in ``reference``. ``optimizer``: torch.optim.SGD or Adam, one for each
client, kept over the rounds.
"""

from copy import deepcopy

import numpy as np
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from fedlib.federated.batches import Local, participants
from fedlib.federated.reference import average, client_batches, local_updates
from fedlib.federated.stack import draw_parameters, load
from fedlib.models.networks import fan_in_uniform
from fedlib.streams import torch_stream


def set_up(net, fed, optimizer, init):
    """The common start theta [P], and K clients with an optimiser each."""
    theta = draw_parameters(net, init, torch_stream(fed.seed, "init"))
    clients = [load(deepcopy(net), theta) for _ in fed.shards]
    return theta, clients, [optimizer(c.parameters(), fed.lr) for c in clients]


def synchronise(clients, optimizers, theta, fed, r):
    """Who takes part in round r, after they received theta and the rate."""
    here = np.flatnonzero(participants(fed.seed, r, len(fed.shards), fed.fraction))
    for k in here:
        load(clients[k], theta)
        optimizers[k].param_groups[0]["lr"] = fed.rate(r)
    return here


def gradient(net, loss, batch):
    """g [P] at the network's parameters."""
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss(net, batch), [*net.parameters()])])


def step(net, optimizer, g):
    """One step of the optimiser with the gradient g [P]."""
    grads = [p.detach().clone() for p in net.parameters()]
    vector_to_parameters(g, grads)
    for p, grad in zip(net.parameters(), grads, strict=True):
        p.grad = grad
    optimizer.step()


def fedprox(net, loss, pool, fed, *, rounds, local, mu, optimizer=torch.optim.SGD, init=fan_in_uniform):
    """FedProx: client k minimises F_k(w) + mu / 2 |w - w^t|^2."""
    theta, clients, optimizers = set_up(net, fed, optimizer, init)
    for r in range(rounds):
        here = synchronise(clients, optimizers, theta, fed, r)
        for k in here:

            def near(w, batch, start=theta):
                return loss(w, batch) + mu / 2 * (parameters_to_vector(w.parameters()) - start).square().sum()

            local_updates(clients[k], optimizers[k], near, client_batches(pool, fed, k, r, local))
        theta = average([clients[k] for k in here], fed.p[here])
    return theta


def scaffold(net, loss, pool, fed, *, rounds, local, optimizer=torch.optim.SGD, init=fan_in_uniform):
    """SCAFFOLD, Algorithm 1 with weights p_i; with SGD by option II as printed, otherwise by the mean gradient."""
    x, clients, optimizers = set_up(net, fed, optimizer, init)
    c, c_i = torch.zeros_like(x), [torch.zeros_like(x) for _ in clients]
    for r in range(rounds):
        here, dc = synchronise(clients, optimizers, x, fed, r), torch.zeros_like(x)
        for i in here:
            y, seen = clients[i], []
            for batch in client_batches(pool, fed, i, r, local):
                seen.append(gradient(y, loss, batch))
                step(y, optimizers[i], seen[-1] - c_i[i] + c)
            if optimizer is torch.optim.SGD:
                moved = x - parameters_to_vector(y.parameters()).detach()
                new = c_i[i] - c + moved / (len(seen) * fed.rate(r))
            else:
                new = sum(seen) / len(seen)
            dc += fed.p[i] * (new - c_i[i])
            c_i[i] = new
        x, c = average([clients[i] for i in here], fed.p[here]), c + dc
    return x


def fedopt(
    net, loss, pool, fed, *, rounds, local, kind, eta, beta1=0.9, beta2=0.99, tau=1e-3,
    optimizer=torch.optim.SGD, init=fan_in_uniform,
):  # fmt: skip
    """Reddi et al. 2021, Algorithm 2. kind: "adam" or "yogi"."""
    x, clients, optimizers = set_up(net, fed, optimizer, init)
    m, v = torch.zeros_like(x), torch.full_like(x, tau**2)
    for r in range(rounds):
        here = synchronise(clients, optimizers, x, fed, r)
        for i in here:
            local_updates(clients[i], optimizers[i], loss, client_batches(pool, fed, i, r, local))
        delta = average([clients[i] for i in here], fed.p[here]) - x
        m = beta1 * m + (1 - beta1) * delta
        if kind == "adam":
            v = beta2 * v + (1 - beta2) * delta**2
        else:
            v = torch.where(v > delta**2, v - (1 - beta2) * delta**2, v + (1 - beta2) * delta**2)
        x = x + eta * m / (v.sqrt() + tau)
    return x


MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def averaged_moments(net, loss, pool, fed, *, rounds, local, correct=False, names=MOMENTS, init=fan_in_uniform):
    """FedAvg with Adam, whose m, v and step count are averaged with the parameters; ``correct``: see ``corrected``."""
    theta, clients, optimizers = set_up(net, fed, torch.optim.Adam, init)
    common = {}
    for r in range(rounds):
        here = synchronise(clients, optimizers, theta, fed, r)
        for k in here:
            for i, q in enumerate(clients[k].parameters()):
                fresh = {"step": torch.tensor(0.0), "exp_avg": torch.zeros_like(q), "exp_avg_sq": torch.zeros_like(q)}
                own = optimizers[k].state[q] or fresh
                optimizers[k].state[q] = own | {name: values[i].clone() for name, values in common.items()}
        client_rounds(clients, optimizers, loss, pool, fed, here, r, local, correct)
        p = fed.p[here] / fed.p[here].sum()
        states = [[optimizers[k].state[q] for q in clients[k].parameters()] for k in here]
        common = {  # torch counts steps in float32, and a mean of counts is no whole number
            name: [sum(w * s[i][name].double() for w, s in zip(p, states, strict=True)) for i in range(len(states[0]))]
            for name in names
        }
        theta = average([clients[k] for k in here], fed.p[here])
    return theta


def corrected(net, loss, pool, fed, *, rounds, local, optimizer=torch.optim.SGD, init=fan_in_uniform):
    """Local steps with g_c(theta_c) + gbar(theta) - g_c(theta), theta the model at the start of the round."""
    theta, clients, optimizers = set_up(net, fed, optimizer, init)
    for r in range(rounds):
        here = synchronise(clients, optimizers, theta, fed, r)
        client_rounds(clients, optimizers, loss, pool, fed, here, r, local, correct=True)
        theta = average([clients[c] for c in here], fed.p[here])
    return theta


def mime(net, loss, pool, fed, *, rounds, local, beta1=0.9, beta2=0.999, eps=1e-8, init=fan_in_uniform):
    """Mime with Adam: the server's moments of gbar, renewed first, stand still in the local steps."""
    theta, clients, optimizers = set_up(net, fed, torch.optim.SGD, init)
    m, v = torch.zeros_like(theta), torch.zeros_like(theta)
    for r in range(rounds):
        here = synchronise(clients, optimizers, theta, fed, r)
        g = [gradient(clients[c], loss, next(client_batches(pool, fed, c, r, Local(1)))) for c in here]  # all points
        gbar = sum(p * g_c for p, g_c in zip(fed.p[here] / fed.p[here].sum(), g, strict=True))
        before, m = m, beta1 * m + (1 - beta1) * gbar
        v = beta2 * v + (1 - beta2) * gbar**2
        for c, g_c in zip(here, g, strict=True):
            for batch in client_batches(pool, fed, c, r, local):
                own = beta1 * before + (1 - beta1) * (gradient(clients[c], loss, batch) + gbar - g_c)
                root = (v / (1 - beta2 ** (r + 1))).sqrt() + eps
                step(clients[c], optimizers[c], own / (1 - beta1 ** (r + 1)) / root)
        theta = average([clients[c] for c in here], fed.p[here])
    return theta


def client_rounds(clients, optimizers, loss, pool, fed, here, r, local, correct):
    """The local steps of all clients of a round, in place, with or without the fresh correction."""
    if not correct:
        for c in here:
            local_updates(clients[c], optimizers[c], loss, client_batches(pool, fed, c, r, local))
        return
    g = [gradient(clients[c], loss, next(client_batches(pool, fed, c, r, Local(1)))) for c in here]  # all points
    gbar = sum(p * g_c for p, g_c in zip(fed.p[here] / fed.p[here].sum(), g, strict=True))
    for c, g_c in zip(here, g, strict=True):
        for batch in client_batches(pool, fed, c, r, local):
            step(clients[c], optimizers[c], gradient(clients[c], loss, batch) + gbar - g_c)


def gossip(net, loss, pool, fed, *, rounds, local, optimizer=torch.optim.SGD, init=fan_in_uniform):
    """theta_i <- sum_j A_ij theta_j with fed.mixing(p, active). Returns theta [K, P]."""
    _, clients, optimizers = set_up(net, fed, optimizer, init)
    for r in range(rounds):
        active = participants(fed.seed, r, len(fed.shards), fed.fraction)
        for k in np.flatnonzero(active):
            optimizers[k].param_groups[0]["lr"] = fed.rate(r)
            local_updates(clients[k], optimizers[k], loss, client_batches(pool, fed, k, r, local))
        rows = torch.stack([parameters_to_vector(c.parameters()).detach() for c in clients])
        rows = torch.as_tensor(fed.mixing(fed.p, active)) @ rows
        for client, row in zip(clients, rows, strict=True):
            load(client, row)
    return rows
