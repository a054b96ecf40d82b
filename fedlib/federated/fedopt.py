"""FedOpt: the clients' mean step is a gradient for an optimiser at the server (Reddi et al. 2021, Algorithms 1 and 2).

x^t: the model at the start of round t. Delta^t = mixed - x^t, the (weighted) mean over the clients of what they moved.
Nothing more goes over the wire: sent up per client and round, P. A server that several federations share works on all
of them at once: make it once.
"""

from collections.abc import Callable

import torch

from .server import Server


def fedavgm(beta: float = 0.9, eta: float = 1.0) -> Server:
    """FedAvgM, momentum at the server: m <- beta m + Delta, x <- x + eta m.

    beta = 0, eta = 1 is FedAvg. With one full SGD step at the clients it is the heavy ball of centralised training.

    Source: Hsu, Qi & Brown 2019 (FedAvgM); Reddi et al. 2021.
    """

    def apply(x, mixed, state, r):
        return x + eta * state["m"].mul_(beta).add_(mixed - x)

    return Server(lambda x: {"m": torch.zeros_like(x)}, apply)


def fedadam(eta: float, beta1: float = 0.9, beta2: float = 0.99, tau: float = 1e-3) -> Server:
    """FedAdam: as ``adaptive``, with v <- beta2 v + (1 - beta2) Delta^2."""
    return adaptive(eta, beta1, tau, lambda v, square: beta2 * v + (1 - beta2) * square)


def fedyogi(eta: float, beta1: float = 0.9, beta2: float = 0.99, tau: float = 1e-3) -> Server:
    """FedYogi: as ``adaptive``, with v <- v - (1 - beta2) Delta^2 sign(v - Delta^2): v forgets slowly."""
    return adaptive(eta, beta1, tau, lambda v, square: v - (1 - beta2) * square * torch.sign(v - square))


def adaptive(eta: float, beta1: float, tau: float, second: Callable) -> Server:
    """m <- beta1 m + (1 - beta1) Delta, v <- second(v, Delta^2), x <- x + eta m / (sqrt(v) + tau).

    v starts at tau^2, and there is no bias correction, as in the paper. eta: the server's rate, about how far a
    parameter moves in a round; it has no default, since a rate that was not tuned does harm. tau: how adaptive, small
    is more.

    Raises:
        ValueError: tau <= 0, a division by zero where no client moves a parameter.
    """
    if not tau > 0:
        raise ValueError(f"tau = {tau!r}: expected a number > 0, such as 1e-3; it is what keeps the division finite")

    def init(x):
        return {"m": torch.zeros_like(x), "v": torch.full_like(x, tau**2)}

    def apply(x, mixed, state, r):
        delta = mixed - x
        m = state["m"].lerp_(delta, 1 - beta1)
        v = state["v"].copy_(second(state["v"], delta.square()))
        return x + eta * m / (v.sqrt() + tau)

    return Server(init, apply)
