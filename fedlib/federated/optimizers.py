"""Optimisers on a stack, at the clients and at the server: FedJAX's shape, an algorithm is ``init`` and ``apply``.

theta, its gradient and the state have a leading row axis; every operation is elementwise or per row, so
each row is an optimiser of its own. State is updated in place.
"""

import math
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Made(NamedTuple):
    """By which function of a module something was made, and its arguments, as (name, value): so it is written down."""

    function: Callable
    arguments: tuple[tuple[str, Any], ...]


def remembered(make: Callable) -> Callable:
    """``make``, whose optimisers or servers remember how they were made; a stored training tells them apart by it."""

    @wraps(make)
    def remembering(*args, **named):
        arguments = signature(make).bind(*args, **named)
        arguments.apply_defaults()
        return make(*args, **named)._replace(made=Made(remembering, tuple(arguments.arguments.items())))

    return remembering


class Optimizer(NamedTuple):
    """init(theta) -> state; apply(theta, gradient, state, lr [M, 1]) changes theta and state in place.

    Two more for algorithms whose clients do something at the ends of a round, too, with an ``exchange.Wire`` at hand:
    start(theta, state, wire): before the first local step. finish(theta, state, wire): after the last one, before theta
    is mixed.

    A client keeps its rows of the state from round to round. Names of what is kept in another way: passing, what no
    round leaves to the next. shared: the same for all clients with the same model, whether they take part or not; kept
    and handed out with it. lasting: what ``reset_moments`` leaves alone.

    sent: vectors of P numbers that a client sends up in a round: theta, and what start and finish mix.
    exchanges: how often it then waits for an answer. made: see ``remembered``.
    """

    init: Callable[[Tensor], dict[str, Tensor]]
    apply: Callable[[Tensor, Tensor, dict[str, Tensor], Tensor], None]
    start: Callable | None = None
    finish: Callable | None = None
    sent: int = 1
    exchanges: int = 1
    passing: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    lasting: tuple[str, ...] = ()
    made: Made | None = None


class Server(NamedTuple):
    """What the server does with the mixed models: init(theta) -> state; apply(before, mixed, state) -> the models that
    go out; state is changed in place.

    ``mixed`` is A theta, what the clients would hold without it; ``before`` what they held when the round began. Both
    are [D, P], a row per distinct model (one for a federation whose clients all receive the same), so a server is
    elementwise per row and serves all federations of a stack that have it at once.
    """

    init: Callable[[Tensor], dict[str, Tensor]]
    apply: Callable[[Tensor, Tensor, dict[str, Tensor]], Tensor]
    made: Made | None = None


@remembered
def sgd(momentum: float = 0.0) -> Optimizer:
    """v <- momentum v + g, theta <- theta - lr v; without momentum v = g and there is no state."""
    if not momentum:
        return Optimizer(lambda theta: {}, lambda theta, g, state, lr: theta.sub_(lr * g))
    return Optimizer(
        lambda theta: {"v": torch.zeros_like(theta)},
        lambda theta, g, state, lr: theta.sub_(lr * state["v"].mul_(momentum).add_(g)),
    )


@remembered
def adam(beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8) -> Optimizer:
    """Adam (Kingma & Ba 2015), with a step counter t [M, 1] per row.

    torch.optim.Adam has one counter for the whole tensor; with partial participation and kept moments the
    rows have taken different numbers of steps. The bias corrections are folded into the step size, which is
    the same algebra: lr m_hat / (sqrt(v_hat) + eps) = lr' m / (sqrt(v) + eps').
    """

    def init(theta):
        return {"m": torch.zeros_like(theta), "v": torch.zeros_like(theta), "t": torch.zeros_like(theta[:, :1])}

    def apply(theta, g, state, lr):
        m, v, t = state["m"], state["v"], state["t"].add_(1)
        # expm1: in float32 1 - 0.999^t would lose four digits at t = 1
        root = (-torch.expm1(t * math.log(beta2))).sqrt()
        m.lerp_(g, 1 - beta1)
        v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        theta.addcdiv_(m, v.sqrt().add_(eps * root).mul_(-torch.expm1(t * math.log(beta1)) / (lr * root)), value=-1)

    return Optimizer(init, apply)


def around(
    inner: Optimizer,
    *,
    per_client: Sequence[str] = (),
    shared: Sequence[str] = (),
    passing: Sequence[str] = (),
    gradient: Callable[[Tensor, Tensor, dict[str, Tensor]], Tensor] | None = None,
    start: Callable | None = None,
    finish: Callable | None = None,
    sent: int = 0,
    exchanges: int = 0,
) -> Optimizer:
    """``inner`` with another gradient: what a rule changes at the clients. Rules go around each other.

    per_client, shared, passing: names of the rule's state [n, P], 0 at first: what each client keeps, what goes with a
    model, what is gone after a round; ``reset_moments`` leaves it alone. gradient(theta, g, state): what inner takes
    for g. start, finish: the rule's own, before those of inner. sent, exchanges: on top.
    """

    def init(theta):
        return inner.init(theta) | {name: torch.zeros_like(theta) for name in (*per_client, *shared, *passing)}

    def apply(theta, g, state, lr):
        inner.apply(theta, gradient(theta, g, state) if gradient else g, state, lr)

    return Optimizer(
        init,
        apply,
        in_turn(start, inner.start),
        in_turn(finish, inner.finish),
        inner.sent + sent,
        inner.exchanges + exchanges,
        (*inner.passing, *passing),
        (*inner.shared, *shared),
        (*inner.lasting, *per_client, *shared),
    )


def in_turn(*functions: Callable | None) -> Callable | None:
    """One function that calls all of these that are not None, in their order; None if all are."""
    present = [f for f in functions if f is not None]
    return (lambda *args: [f(*args) for f in present]) if present else None
