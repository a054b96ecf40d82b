"""Mime: local steps with the server's moments, which no client changes on its way, and a fresh correction."""

import math

import torch

from .optimizers import Optimizer


def mime(beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8) -> Optimizer:
    """Adam with moments of the mean gradient gbar(theta) at the start of a round, theta the common model there.

    Once in a round m <- beta1 m + (1 - beta1) gbar and v <- beta2 v + (1 - beta2) gbar^2. Then m and v stand still, and
    every local step goes along m + (1 - beta1) (g_c(theta_c) - g_c(theta)), over sqrt(v) + eps: what Adam would do with
    the corrected gradient g_c(theta_c) + gbar - g_c(theta). The printed method renews m and v after the local steps;
    with v = 0 its first round would divide by eps alone. So E = 1 with full batches is centralised Adam.
    Sent up per client and round: 2 P (g_c and theta) in 2 exchanges; moments need not be sent.

    Source: Karimireddy et al. 2020 (Mime, arXiv 2008.03606), with Adam as the centralised algorithm.

    Raises:
        ValueError: in training, some parameters are personal; their gradients have no mean.
    """

    def init(theta):
        return {name: torch.zeros_like(theta) for name in ("m", "v", "g_c")} | {"t": torch.zeros_like(theta[:, :1])}

    def start(theta, state, wire):
        if len(wire.mix.home):
            raise ValueError("mime was asked for together with personal parameters; train without personal=...")
        state["g_c"].copy_(wire.gradient())
        gbar = wire.mix(state["g_c"])
        state["t"].add_(1)
        state["m"].lerp_(gbar, 1 - beta1)
        state["v"].mul_(beta2).addcmul_(gbar, gbar, value=1 - beta2)

    def apply(theta, g, state, lr):
        t = state["t"]
        m = (state["m"] + (1 - beta1) * (g - state["g_c"])) / -torch.expm1(t * math.log(beta1))
        v = state["v"] / -torch.expm1(t * math.log(beta2))
        theta.sub_(lr * m / (v.sqrt() + eps))

    return Optimizer(init, apply, start, sent=2, exchanges=2, passing=("g_c",), shared=("m", "v", "t"))
