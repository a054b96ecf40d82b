"""SCAFFOLD: every client remembers where it pulls, and subtracts it."""

import torch

from .optimizers import Optimizer, around, sgd


def scaffold(inner: Optimizer | None = None) -> Optimizer:
    """Local steps take g_i(y) - c_i + c instead of g_i(y), with control variates c_i of the clients and c their mean.

    After the K local steps of a round from x to y: c_i <- mean of the K gradients g_i(y), and c <- sum_i p_i c_i over
    all clients; who was absent keeps its c_i. With SGD this is the paper's option II, c_i <- c_i - c + (x - y) / (K
    eta_l), for x - y = eta_l sum (g_i - c_i + c); the mean also makes sense inside other optimisers. The corrections
    c - c_i have the weighted sum 0. The paper has p_i = 1 / N; its server rate eta_g is ``fedavgm(0, eta_g)``.
    ``reset_moments`` leaves the control variates alone.
    Sent up per client and round: 2 P (theta and the change of c_i).

    Source: Karimireddy et al. 2020 (SCAFFOLD), Algorithm 1.
    """

    def gradient(y, g, state):
        state["sum g_i"].add_(g)
        return g - state["c_i"] + state["c"]

    def finish(y, state, wire):
        c_i = torch.where(wire.active, state["sum g_i"] / wire.steps, state["c_i"])
        c_i[:, wire.mix.home] = 0  # personal parameters are never mixed: nothing to correct
        state["c"].copy_(wire.mean(c_i, state["c_i"], state["c"]))
        state["c_i"].copy_(c_i)

    kept = dict(own=["c_i"], shared=["c"], passing=["sum g_i"])
    return around(inner or sgd(), **kept, gradient=gradient, finish=finish, sent=1)
