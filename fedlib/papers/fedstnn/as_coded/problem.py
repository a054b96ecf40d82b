"""Three ways to train FedStNN: as the paper prints it, as its authors coded it, and as it should be.

What each of them changes is a ``Way``. The items of the second are read from the authors' notebooks.
"""

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ....federated.batches import Local
from ....federated.history import History
from ....federated.optimizers import Optimizer, adam, sgd
from ....federated.train import train
from ....models.networks import fan_in_uniform
from ..experiment import evaluate
from ..network import SNN, init_snn
from ..scores import energy_score, local_loss, squared_error
from .coded import MOMENTUM, Coded, coded_error, is_statistic


class Way(NamedTuple):
    """A network, its loss for one client and its training: paths per point, local work, learning rate lr decay^r."""

    net: nn.Module
    loss: Callable
    init: Callable
    optimizer: Optimizer
    paths: int
    local: Local
    lr: float
    decay: float = 1.0

    @property
    def common(self) -> dict[str, float]:
        """What its federations have in common."""
        return dict(lr=self.lr, decay=self.decay)


def printed(d: int, L: int, H: int, steps: int, batch: int, lr: float, decay: float = 1.0) -> Way:
    """SGD, one fresh path for every point and step, a diffusion g(u_n), the squared error (Sections 3 and 4).

    The gradient is the exact one: the printed index of Z trains no differently (notebook 08). The rate is free.
    """
    net = SNN(d, L, H)
    return Way(net, local_loss(squared_error), init_snn, sgd(), 1, Local(steps, "steps", batch), lr, decay)


def coded(
    d: int, L: int, H: int, steps: int, batch: int, gradient: str, frozen=True, lr: float = 1e-4, domain=(-1, 1)
) -> Way:
    """Frozen paths, Adam with weight decay, g a normalised network of the state, costates of wrong blocks.

    gradient, domain: see ``coded``; the authors do not scale their inputs. frozen: False draws fresh paths in every
    step, which the authors do not.
    """
    net = Coded(d, L, H, gradient=gradient, domain=domain)
    local = Local(steps, "steps", batch, replacement=True, frozen=frozen)
    return Way(net, coded_error, fan_in_uniform, decaying(net), 1, local, lr)


def proper(d: int, L: int, H: int, steps: int, batch: int, lr: float, decay: float, paths: int = 2) -> Way:
    """Fresh paths, the exact gradient, the energy score of two paths, Adam with a rate that falls over the rounds."""
    net = SNN(d, L, H)
    return Way(net, local_loss(energy_score), init_snn, adam(), paths, Local(steps, "steps", batch), lr, decay)


def decaying(net: Coded, weight_decay: float = 1e-8) -> Optimizer:
    """torch's Adam with weight decay (in the gradient), and the update of running statistics that torch makes."""
    inner, statistic = adam(), is_statistic(net)

    def apply(theta, g, state, lr):
        on = statistic.to(theta.device)
        inner.apply(theta, torch.where(on, 0.0, g + weight_decay * theta), state, lr)
        theta.sub_(torch.where(on, MOMENTUM * g, 0.0))

    return inner._replace(apply=apply)


def fit(
    way: Way, pool: Mapping[str, Tensor], federations: Mapping, rounds: int, constants: Mapping, **train_args
) -> tuple[History, float]:
    """Train federations (name, seed) -> Federation of one way as one stack.

    constants: of ``experiment.probes``. Returns its history, with ``experiment.evaluate`` at the end, and seconds.
    """
    start = time.perf_counter()
    history = train(
        way.net,
        way.loss,
        pool,
        federations,
        parts=("name", "seed"),
        rounds=rounds,
        local=way.local,
        optimizer=way.optimizer,
        reset_moments=True,
        init=way.init,
        noise=way.net.noise(way.paths),
        constants=constants,
        evaluate=evaluate,
        evaluate_every=rounds,
        progress=True,
        **train_args,
    )
    return history, time.perf_counter() - start
