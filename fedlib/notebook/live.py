"""A training that is looked at while it goes on: what ``watched_rounds`` needs, and how good the models are."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from ..federated.federation import Federation, slices_of
from ..federated.mixing import fedavg, isolated, ring
from ..federated.optimizers import adam, sgd
from ..federated.rules import fedadam, fedavgm
from ..federated.stack import as_dict
from .player import Moment
from .watching import watched_rounds

MIXING = {"FedAvg": fedavg, "ring": ring, "no one": isolated}
SERVERS = {"mean": None, "momentum": fedavgm(0.8), "FedAdam": fedadam(0.01)}
OPTIMIZERS = {"Adam": adam(), "SGD": sgd()}
"""What a control may offer. Momentum is FedAvgM."""


class Training(NamedTuple):
    """net, loss, pool, federations: as in ``train``; the first federation is looked at, others are compared with it.

    how: of ``play`` (local, optimizer, ...). error: predict -> scalar in %, of ONE model. more: what a picture needs.
    """

    net: nn.Module
    loss: Callable
    pool: Mapping[str, Tensor]
    federations: Mapping[str, Federation]
    how: Mapping
    error: Callable[[Callable], Tensor]
    more: object = None

    def begin(self, halted: Callable[[], bool] = lambda: False) -> Iterator:
        """Rounds with walks from round 0."""
        return watched_rounds(self.net, self.loss, self.pool, self.federations, halted=halted, **self.how)

    def where(self) -> dict[str, slice]:
        """Which clients of the list of all belong to each federation."""
        return dict(zip(self.federations, slices_of(self.federations.values()), strict=True))

    def of(self, rows: Tensor, what: Callable[[Callable], Tensor]) -> Tensor:
        """what(predict) for each of the models [n, P]: [n, ...]."""
        with torch.no_grad():
            return vmap(lambda params: what(lambda *x: functional_call(self.net, params, x)))(as_dict(self.net, rows))

    def now(self, moment: Moment) -> tuple[Tensor, Tensor]:
        """What a picture shows: models [K, P] of the clients as they stood, or stand, before the exchange; and the
        distinct ones [D, P] that they began the round with, or got in the exchange."""
        rows = next(iter(self.where().values()))
        given = moment.done.after[rows] if moment.averaged else moment.walk[rows, 0]
        return moment.walk[rows, moment.step], given[:1] if (given == given[0]).all() else given

    def errors(self, moment: Moment) -> dict[str, Tensor]:
        """Name of a federation -> errors [K] of its clients' models now."""
        values = self.of(moment.models, self.error)
        return {name: values[rows] for name, rows in self.where().items()}
