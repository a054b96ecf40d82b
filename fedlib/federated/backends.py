"""How the local steps of a block are computed: eagerly, by torch's compiler, or by XLA.

A backend is a function (net, loss, optimizer, ahead) -> run, and run(theta, state, lr, pool, segment) takes all steps
of a segment, in place in theta [n, P] and the optimiser's state, with rates lr [n, 1]. It returns the losses [S, n]
before each step. They differ in rounding and in speed, and in nothing else.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap

from .batches import Segment, each_batch
from .optimizers import Optimizer
from .stack import as_dict


class Ahead(NamedTuple):
    """What a training has before it, as far as anybody knows: rounds, and blocks in each of them.

    varied: others take part in other rounds, and the shapes of the blocks change with them.
    """

    rounds: int = 1000
    blocks: int = 1
    varied: bool = False


def eager(net: nn.Module, loss: Callable, optimizer: Optimizer, ahead: Ahead) -> Callable:
    """Step by step. One ordinary backward pass of the summed losses: rows are independent, so it is every row's own
    gradient, without what ``vmap(grad)`` costs."""
    return one_by_one(stepping(net, summed_gradient(net, loss), optimizer))


def inductor(net: nn.Module, loss: Callable, optimizer: Optimizer, ahead: Ahead) -> Callable:
    """Step by step, each one a program of ``torch.compile``: some ten seconds per shape, and a C++ compiler."""
    torch.compiler.reset()  # or the shapes of the last training would make this one's dynamic: slower
    return one_by_one(torch.compile(stepping(net, client_gradient(net, loss), optimizer)))


def xla(net: nn.Module, loss: Callable, optimizer: Optimizer, ahead: Ahead) -> Callable:
    """All steps as one program of XLA, see ``xla``: a second or two per shape."""
    from .xla import xla as by_xla

    return by_xla(net, loss, optimizer, ahead.varied)


BACKENDS = {"eager": eager, "inductor": inductor, "xla": xla}


def one_by_one(step: Callable) -> Callable:
    """A backend's run from one step of all rows."""

    def run(theta, state, lr, pool, segment: Segment) -> Tensor:
        return torch.stack([step(theta, state, lr, batch) for batch in each_batch(pool, segment)])

    return run


def stepping(net: nn.Module, gradient: Callable, optimizer: Optimizer) -> Callable:
    """(theta, state, lr, batch) -> losses [n] before one optimiser step of all rows, in place."""

    def step(theta, state, lr, batch):
        g, losses = gradient(as_dict(net, theta), batch)
        optimizer.apply(theta, flat(g), state, lr)
        return losses

    return step


def knowing(loss: Callable, constants: Mapping[str, Tensor]) -> Callable:
    """The loss with constants in every batch, as the plain loops need it."""

    @wraps(loss)
    def known(predict, batch):
        return loss(predict, {**batch, **constants})

    return known


def of_one(net: nn.Module, loss: Callable) -> Callable:
    """(parameters, batch) -> loss of one client."""
    return lambda params, batch: loss(lambda *x: functional_call(net, params, x), batch)


def client_gradient(net: nn.Module, loss: Callable) -> Callable:
    """(parameters of n models, batch of n clients) -> (gradients, losses [n])."""
    return vmap(grad_and_value(of_one(net, loss)))


def summed_gradient(net: nn.Module, loss: Callable) -> Callable:
    """As ``client_gradient``, by one backward pass through the sum of all losses."""
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
