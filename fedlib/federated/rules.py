"""Rules beside FedAvg: what clients and server do about heterogeneous data, a function each.

At the clients a rule goes around a local optimiser (``around``); at the server it is a ``Server``. To add one, write it
here, name it in ``RULES``, and write its plain loop in tests/federated/reference_rules.py.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from .optimizers import Optimizer, Server, adam, around, remembered, sgd


@remembered
def fedprox(mu: float, inner: Optimizer = sgd()) -> Optimizer:
    """Client k minimises F_k(w) + mu / 2 |w - w^t|^2, with w^t the model at the start of the round.

    Its gradient g + mu (w - w^t) goes to ``inner``, plain SGD by default. mu = 0 is FedAvg, and so is any mu with one
    local step.
    Sent up per client and round: P.

    Source: Li et al. 2020 (Federated optimization in heterogeneous networks), Algorithm 2.

    Raises:
        ValueError: mu < 0.
    """
    if not mu >= 0:
        raise ValueError(f"mu = {mu!r}: expected a number >= 0; a negative spring pushes the clients apart")
    return around(
        inner,
        passing=["w^t"],
        start=lambda w, state, wire: state["w^t"].copy_(w),
        gradient=lambda w, g, state: g + mu * (w - state["w^t"]),
    )


@remembered
def scaffold(inner: Optimizer = sgd()) -> Optimizer:
    """Local steps take g_i(y) - c_i + c instead of g_i(y), with control variates c_i of the clients and c their mean.

    After the K local steps of a round from x to y: c_i <- mean of the K gradients g_i(y), and c <- sum_i p_i c_i over
    all clients; who was absent keeps its c_i. With SGD this is the paper's option II, c_i <- c_i - c + (x - y) / (K
    eta_l), for x - y = eta_l sum (g_i - c_i + c); the mean also makes sense inside other optimisers. The corrections
    c - c_i have the weighted sum 0. The paper has p_i = 1 / N, and a server rate eta_g, 1 here.
    ``reset_moments`` leaves the control variates alone.
    Sent up per client and round: 2 P (theta and the change of c_i).

    Source: Karimireddy et al. 2020 (SCAFFOLD), Algorithm 1.
    """

    def gradient(y, g, state):
        state["sum g_i"].add_(g)
        return g - state["c_i"] + state["c"]

    def finish(y, state, wire):
        c_i = torch.where(wire.active, state["sum g_i"] / wire.steps, state["c_i"])
        c_i[:, wire.home] = 0  # personal parameters are never mixed: nothing to correct
        state["c"].copy_(wire.mean(c_i, state["c_i"], state["c"]))
        state["c_i"].copy_(c_i)

    kept = dict(per_client=["c_i"], shared=["c"], passing=["sum g_i"])
    return around(inner, **kept, gradient=gradient, finish=finish, sent=1)


@remembered
def corrected(inner: Optimizer = sgd()) -> Optimizer:
    """Local steps take g_c(theta_c) + gbar(theta) - g_c(theta) instead of g_c(theta_c).

    theta: the model at the start of the round, g_c(theta): the client's gradient there over all its points, gbar =
    sum_c p_c g_c over who takes part. SCAFFOLD's c_i and c, but of this round: an exchange more, no memory. The first
    local step of every client sees gbar, so E = 1 with full batches is centralised training for every optimiser; with
    ``averaged_moments`` all clients have the same preconditioner in later steps, too.
    Sent up per client and round: 2 P (g_c and theta) in 2 exchanges; ``corrected(averaged_moments(adam()))``: 4 P.

    Source: Mitra et al. 2021 (FedLin), Algorithm 1, for SGD; FAdamGC (arXiv 2502.02727) corrects before the moments.
    """

    def start(theta, state, wire):
        g = wire.gradient()
        state["gbar - g_c"].copy_(wire.mix(g) - g)

    return around(
        inner,
        passing=["gbar - g_c"],
        start=start,
        gradient=lambda theta, g, state: g + state["gbar - g_c"],
        sent=1,
        exchanges=1,
    )


EXAMPLE = torch.zeros(1, 2)  # a client with two parameters: tells vectors [M, P] from numbers [M, 1]


@remembered
def averaged_moments(inner: Optimizer = adam(), names: Sequence[str] = ()) -> Optimizer:
    """At a synchronisation m <- sum_k p_k m_k and v <- sum_k p_k v_k, as theta: all clients go on from common moments.

    The clients then share a preconditioner. Everything that ``inner`` keeps is averaged, Adam's step count, too: it
    stays a count where all clients take equally many steps, and is their mean otherwise.
    Sent up per client and round: P and a vector for each moment, 3 P for Adam (and one number, its step count).

    names: of what is averaged, all of it by default; ("v",) of Adam is a common preconditioner and nothing else, 2 P.

    Source: measured in our notes; FedAdamW (arXiv 2510.27486) shares second moments.

    Raises:
        ValueError: ``inner`` is a rule, whose memory of each client is no moment, or keeps nothing of such a name. In
            training: some parameters are personal; their moments would stay behind while the one step count is mixed.
    """
    if inner.start or inner.finish:
        raise ValueError(
            "averaged_moments was given a rule that remembers something of each client; put the rule around it: "
            "scaffold(averaged_moments(adam())), not averaged_moments(scaffold(adam()))"
        )
    kept = inner.init(EXAMPLE)
    if unknown := [name for name in names if name not in kept]:
        raise ValueError(
            f"names = {list(names)}: this optimiser keeps {', '.join(kept) or 'nothing'}, not {unknown[0]!r}"
        )
    kept = {name: value for name, value in kept.items() if name in names or not names}
    vectors = [name for name, value in kept.items() if value.shape == EXAMPLE.shape]

    def finish(theta, state, wire):
        if len(wire.home):
            raise ValueError(
                "averaged moments were asked for together with personal parameters, but a client has one step count "
                "for all its parameters; train without personal=... or with the moments kept at the clients"
            )
        for name in kept:
            state[name].copy_(wire.mix(state[name]))

    return around(inner, finish=finish, sent=len(vectors))._replace(shared=tuple(kept))


@remembered
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
        if len(wire.home):
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


@remembered
def fedadam(eta: float, beta1: float = 0.9, beta2: float = 0.99, tau: float = 1e-3) -> Server:
    """FedAdam: as ``adaptive``, with v <- beta2 v + (1 - beta2) Delta^2."""
    return adaptive(eta, beta1, tau, lambda v, square: beta2 * v + (1 - beta2) * square)


@remembered
def fedyogi(eta: float, beta1: float = 0.9, beta2: float = 0.99, tau: float = 1e-3) -> Server:
    """FedYogi: as ``adaptive``, with v <- v - (1 - beta2) Delta^2 sign(v - Delta^2): v forgets slowly."""
    return adaptive(eta, beta1, tau, lambda v, square: v - (1 - beta2) * square * torch.sign(v - square))


def adaptive(eta: float, beta1: float, tau: float, second: Callable) -> Server:
    """m <- beta1 m + (1 - beta1) Delta, v <- second(v, Delta^2), x <- x + eta m / (sqrt(v) + tau).

    v starts at tau^2, and there is no bias correction, as in the paper. eta: the server's rate, about how far a
    parameter moves in a round; it has no default, since a rate that was not tuned does harm. tau: how adaptive, small
    is more.

    Raises:
        ValueError: eta <= 0, which goes uphill; tau <= 0, a division by zero where no client moves a parameter.
    """
    if not eta > 0:
        raise ValueError(f"eta = {eta!r}: expected a number > 0, the server's rate")
    if not tau > 0:
        raise ValueError(f"tau = {tau!r}: expected a number > 0, such as 1e-3; it is what keeps the division finite")

    def init(x):
        return {"m": torch.zeros_like(x), "v": torch.full_like(x, tau**2)}

    def apply(x, mixed, state):
        delta = mixed - x
        m = state["m"].lerp_(delta, 1 - beta1)
        v = state["v"].copy_(second(state["v"], delta.square()))
        return x + eta * m / (v.sqrt() + tau)

    return Server(init, apply)


class Rule(NamedTuple):
    """A rule against drift: what the clients do, and what the server does (None: it takes the mean).

    optimizer: (knob, inner) -> Optimizer that goes around ``inner``, Adam by default. server: knob -> Server. knobs:
    values of its own parameter that are tried; 0 if it has none. knob: what that parameter is called. around: whether
    it goes around any optimiser; else it is one itself.
    """

    optimizer: Callable[..., Optimizer]
    server: Callable[[float], Server] | None = None
    knobs: tuple[float, ...] = (0.0,)
    knob: str = ""
    around: bool = True


ADAM = adam()

RULES = {
    "FedAvg": Rule(lambda _, inner=ADAM: inner),
    "FedProx": Rule(lambda mu, inner=ADAM: fedprox(mu, inner), None, (0.01, 0.1), "mu"),
    "FedAdam": Rule(lambda _, inner=ADAM: inner, fedadam, (1e-3, 1e-2), "eta"),
    "FedYogi": Rule(lambda _, inner=ADAM: inner, fedyogi, (1e-3, 1e-2), "eta"),
    "SCAFFOLD": Rule(lambda _, inner=ADAM: scaffold(inner)),
    "averaged second moments": Rule(lambda _, inner=ADAM: averaged_moments(inner, "v")),
    "averaged moments": Rule(lambda _, inner=ADAM: averaged_moments(inner)),
    "fresh correction": Rule(lambda _, inner=ADAM: corrected(inner)),
    "fresh correction + averaged moments": Rule(lambda _, inner=ADAM: corrected(averaged_moments(inner))),
    "Mime": Rule(lambda eps, _=ADAM: mime(eps=eps), None, (1e-8, 1e-4), "eps", around=False),
}
"""All of them around Adam, whose moments stay at the clients unless they are averaged."""
