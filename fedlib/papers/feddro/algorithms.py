"""Algorithm 1 of FedDRO as the paper writes it: lines 1 to 7 a barycenter, lines 8 to 15 a training, one client after
the other.

Clients keep their clouds and samples; what crosses the boundary to the server is a ``Message``: interpolants (eta,
gamma), the shared cloud (xi, Q), moments, or a distance. Tests pin the training equal to the engine in float64.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import NamedTuple

import numpy as np
import ot
import torch

from ...federated.reference import client_batches
from ...federated.stack import draw_parameters, load
from ...models.networks import fan_in_uniform
from ...streams import torch_stream
from .measures import Measure, barycentric_map, interpolant, plan, project, uniform


class Message(NamedTuple):
    """What crosses: value is a cloud [S, d] or a number."""

    sender: str
    receiver: str
    what: str
    value: np.ndarray


def send(wire: list[Message] | None, sender: str, receiver: str, what: str, value) -> None:
    """Append what crosses the boundary to ``wire``, if there is one."""
    if wire is not None:
        wire.append(Message(sender, receiver, what, np.array(value)))


class Barycenter(NamedTuple):
    """Q [S, d] at the server; gammas: one cloud [S, d] per client; mapped: T_i(x) [n_i, d] of each client's samples."""

    Q: np.ndarray
    gammas: list[np.ndarray]
    mapped: list[np.ndarray]


def federated_barycenter(
    clients: Sequence[Measure],
    start: np.ndarray,
    rounds: int,
    weights: np.ndarray | None = None,
    wire: list[Message] | None = None,
    restarts: int = 0,
    stride: float = 1.0,
) -> Barycenter:
    """W_2 barycenter of the clients' measures on S free atoms, without their samples (FedDRO, Algorithm 1, 1-7).

    Round: eta_P = interpolant(gamma_i, P_i) at the client, eta_Q = interpolant(gamma_i, Q) at the server,
    gamma_i <- interpolant(eta_P, eta_Q) (Eq. 4), then one free-support step of POT from Q over the gamma_i.

    Carried from round to round, as printed, gamma_i keeps the pairs that it found first, and Q stays above the
    objective of a centralised method. In the first ``restarts`` rounds gamma_i starts anew at Q; it ends a quarter of
    the way to P_i, and so Q goes a quarter of the centralised step (Cuturi & Doucet 2014). There the server may go
    ``stride`` times as far: with 4 these rounds are the centralised method, from the same messages.

    Args:
        start: atoms [S, d] that Q and all gamma_i start from. It is sent to everybody: no raw samples, please.
        weights: lambda_i, 1 / K by default.
    """
    K = len(clients)
    weights = np.full(K, 1 / K) if weights is None else np.asarray(weights, float)
    if len(weights) != K or not np.isclose(weights.sum(), 1) or (weights < 0).any():
        raise ValueError(f"weights = {weights}: expected {K} numbers >= 0 with sum 1")
    Q = uniform(start)
    if wrong := [P.x.shape[1] for P in clients if P.x.shape[1] != Q.x.shape[1]]:
        raise ValueError(f"start has atoms in R^{Q.x.shape[1]}, a client in R^{wrong[0]}")
    gammas, names = [Q] * K, [f"client {i + 1}" for i in range(K)]
    for name in names:
        send(wire, "server", name, "start", Q.x)
    for k in range(rounds):
        for i, name in enumerate(names):
            gammas[i] = Q if k < restarts else gammas[i]
            eta_P = interpolant(gammas[i], clients[i])  # client
            eta_Q = interpolant(gammas[i], Q)  # server
            send(wire, "server", name, "eta_Q", eta_Q.x)
            gammas[i] = interpolant(eta_P, eta_Q)  # client, Eq. 4
            send(wire, name, "server", "gamma", gammas[i].x)
        atoms = ot.lp.free_support_barycenter([g.x for g in gammas], [g.w for g in gammas], Q.x, Q.w, weights, 1)
        Q = Measure(Q.x + (stride if k < restarts else 1.0) * (atoms - Q.x), Q.w)
    mapped = []
    for i, name in enumerate(names):
        image = barycentric_map(gammas[i].x, Q.x)  # T^gamma at the atoms of gamma_i, server
        send(wire, "server", name, "T(gamma)", image)
        # T_i = T^gamma o T^eta, client; its weights are its own
        mapped.append(project(plan(clients[i], gammas[i]), image))
    return Barycenter(Q.x, [g.x for g in gammas], mapped)


def adversarial(net, loss, pool, fed, *, rounds, local, eta_1, lam, p=2, momentum=0.5, noise=None, init=fan_in_uniform):
    """Algorithm 1, lines 8-15: ascent on theta_i, descent on w, averaging of w after ``local`` updates.

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
