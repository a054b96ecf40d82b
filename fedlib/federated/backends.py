"""How local steps are computed: eagerly, from a record of what is eagerly done, or as a compiled program of XLA.

A backend is a pair. ``steps``(theta, state, lr, pool, segment) takes all steps of a segment, in place in theta [n, P]
and the optimiser's state, with rates lr [n, 1], and returns the losses [S, n] before each step. ``rounds`` plays
several whole rounds as one program, see ``xla.rounds_by``; None where there is no such thing. Backends differ in
rounding and in speed, and in nothing else.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial, wraps
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from .batches import Segment, each_batch
from .optimizers import Optimizer
from .stack import as_dict
from .xla.recording import direct, recorded


class Backend(NamedTuple):
    """A name, and what computes: see the module. anew: () -> the same without what it has written down,
    None where it writes down nothing."""

    name: str
    steps: Callable
    anew: Callable[[], "Backend"] | None = None
    rounds: Callable | None = None


def eager(net: nn.Module, loss: Callable, optimizer: Optimizer) -> Backend:
    """Step by step. One ordinary backward pass of the summed losses: rows are independent, so it is every row's own
    gradient, without what ``vmap(grad)`` costs."""
    step = stepping(net, client_gradient(net, loss), optimizer)

    def steps(theta, state, lr, pool, segment: Segment) -> Tensor:
        return torch.stack([step(theta, state, lr, batch) for batch in each_batch(pool, segment)])

    return Backend("eager", steps)


SEEN = 20  # steps; writing down how one is done costs as much as this saves in as many


def replayed(net: nn.Module, loss: Callable, optimizer: Optimizer) -> Backend:
    """``eager`` to the last bit, in half the time where models are small: the operations of a step are written down
    once per shape and then done again, without what finds them out (``vmap``, autograd). Loss and optimiser may do
    nothing but compute; where one looks at a number in a tensor, all steps are eager."""
    step = stepping(net, client_gradient(net, loss), optimizer)
    seen, graphs = Counter(), {}

    def one(theta, state, lr, batch):
        changed, read = (theta, *state.values()), (lr, *batch.values())
        shapes = tuple((x.shape, x.stride()) for x in (*changed, *read))
        seen[shapes] += 1
        if seen[shapes] == SEEN:

            def flat_step(theta, *others):
                of_state, lr, of_batch = others[: len(state)], others[len(state)], others[len(state) + 1 :]
                named = dict(zip(state, of_state, strict=True)), lr, dict(zip(batch, of_batch, strict=True))
                return [step(theta, *named)]

            with suppress(NotImplementedError):
                example = [x.clone() for x in changed] + [x.detach() for x in read]
                graphs[shapes] = direct(recorded(flat_step, example))
        return graphs[shapes](*changed, *read)[0] if shapes in graphs else step(theta, state, lr, batch)

    def steps(theta, state, lr, pool, segment: Segment) -> Tensor:
        return torch.stack([one(theta, state, lr, batch) for batch in each_batch(pool, segment)])

    return Backend("eager", steps, partial(replayed, net, loss, optimizer))


def stepping(net: nn.Module, gradient: Callable, optimizer: Optimizer) -> Callable:
    """(theta, state, lr, batch) -> losses [n] before one optimiser step of all rows, in place."""

    def step(theta, state, lr, batch):
        g, losses = gradient(as_dict(net, theta), batch)
        optimizer.apply(theta, flat(g), state, lr)
        return losses

    return step


def with_constants(loss: Callable, constants: Mapping[str, Tensor]) -> Callable:
    """The loss with constants in every batch, as the plain loops need it."""

    @wraps(loss)
    def loss_of_batch(predict, batch):
        return loss(predict, {**batch, **constants})

    if hasattr(loss, "residuals"):
        loss_of_batch.residuals = with_constants(loss.residuals, constants)
    return loss_of_batch


def of_one(net: nn.Module, loss: Callable) -> Callable:
    """(parameters, batch) -> loss of one client."""
    return lambda params, batch: loss(lambda *x: functional_call(net, params, x), batch)


def client_gradient(net: nn.Module, loss: Callable) -> Callable:
    """(parameters of n models, batch of n clients) -> (gradients, losses [n]), by one backward pass through the sum of
    all losses."""
    losses_of = vmap(of_one(net, loss))

    def gradient(params, batch):
        params = {name: value.detach().requires_grad_() for name, value in params.items()}
        with torch.enable_grad():
            losses = losses_of(params, batch)
        g = torch.autograd.grad(losses.sum(), params.values(), materialize_grads=True)
        return dict(zip(params, g, strict=True)), losses.detach()

    return gradient


def flat(gradient: Mapping[str, Tensor]) -> Tensor:
    """Named tensors [n, ...] as rows [n, P]."""
    return torch.cat([g.reshape(len(g), -1) for g in gradient.values()], dim=1)
