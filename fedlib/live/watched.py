"""A training that is looked at while it goes on: where each client was after each of its local steps, and how good."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from ..federated.experiment import Data, Experiment, data_of, federation, train_arguments, under
from ..federated.federation import Federation, slices_of
from ..federated.mixing import fedavg
from ..federated.stack import as_dict, parameter_count
from ..federated.states import Round
from ..federated.watching import watched_rounds


class Moment(NamedTuple):
    """What there is to see: a round that was played, after ``step`` of its S local steps, or after the average.

    walk: [M, S + 1, P] of all clients, see ``watched_rounds``.
    """

    done: Round
    walk: Tensor
    step: int
    averaged: bool

    @property
    def models(self) -> Tensor:
        """Of all clients, now [M, P]."""
        return self.done.after if self.averaged else self.walk[:, self.step]


class Watched(NamedTuple):
    """net, loss, pool, federations: as in ``train``; the first federation is looked at, others are compared with it.

    train_args: of ``play`` (local, optimizer, ...). error: predict -> scalar in %, of ONE model. more: what a picture
    needs.
    """

    net: nn.Module
    loss: Callable
    pool: Mapping[str, Tensor]
    federations: Mapping[str, Federation]
    train_args: Mapping
    error: Callable[[Callable], Tensor]
    more: object = None

    def begin(self, halted: Callable[[], bool] = lambda: False) -> Iterator:
        """Rounds with walks from round 0."""
        return watched_rounds(self.net, self.loss, self.pool, self.federations, halted=halted, **self.train_args)

    def where(self) -> dict[str, slice]:
        """Which clients of the list of all belong to each federation."""
        return dict(zip(self.federations, slices_of(self.federations.values()), strict=True))

    def values(self, rows: Tensor, what: Callable[[Callable], Tensor]) -> Tensor:
        """what(predict) for each of the models [n, P]: [n, ...]."""
        with torch.no_grad():
            return vmap(lambda params: what(lambda *x: functional_call(self.net, params, x)))(as_dict(self.net, rows))

    def now(self, moment: Moment) -> tuple[Tensor, Tensor]:
        """What a picture shows: models [K, P] of the clients as they stood, or stand, before the exchange; and the
        distinct ones [D, P] that they began the round with, or got in the exchange."""
        rows = next(iter(self.where().values()))
        starts = moment.done.after[rows] if moment.averaged else moment.walk[rows, 0]
        return moment.walk[rows, moment.step], starts[:1] if (starts == starts[0]).all() else starts

    def errors(self, moment: Moment, names: Collection[str] | None = None) -> dict[str, Tensor]:
        """Name of a federation -> errors [K] of its clients' models now; of all federations, or of these."""
        models = {name: moment.models[rows] for name, rows in self.where().items() if names is None or name in names}
        distinct = [m[:1] if (m == m[0]).all() else m for m in models.values()]  # after an average they are all alike
        values = self.values(torch.cat(distinct), self.error).split([len(m) for m in distinct])
        return {name: e.expand(len(m)) for (name, m), e in zip(models.items(), values, strict=True)}


class WatchedExperiment(NamedTuple):
    """What a picture of a watched experiment needs. data: its test tensors are float32, and have the constants, too.

    reach: the largest residual of the network that is 0, times 1.5; None where there is none to be shown.
    """

    experiment: Experiment
    data: Data
    reach: float | None


def watched_experiment(
    experiment: Experiment, level, E: int | None = None, seed: int = 0, rule: str | None = None,
    mixing: Callable = fedavg, **changes,
) -> Watched:  # fmt: skip
    """A federation of an experiment beside the centralised model, in float32; ``more`` is ``WatchedExperiment``.

    E: local steps, those of the experiment if None. rule: a name of ``RULES``. changes: other fields of the experiment.
    """
    if experiment.evaluate is None:
        raise ValueError(f"{experiment.name} has no evaluate, and a live training shows its errors; give it one")
    experiment = under(experiment, rule) if rule else experiment
    experiment = experiment._replace(local=experiment.local._replace(updates=E or experiment.local.updates), **changes)
    data, args = data_of(experiment, level, seed), train_arguments(experiment)
    test = {**data.test, **experiment.constants}
    data = data._replace(test={name: v.float() if v.is_floating_point() else v for name, v in test.items()})
    federations = {
        "federated": federation(experiment, data.owners, seed=seed, mixing=mixing),
        "centralised": federation(experiment, data.owners, "centralised", seed),
    }

    def error(predict) -> Tensor:
        return next(iter(experiment.evaluate(predict, data.test).values()))

    net, loss, play_args = args.pop("net"), args.pop("loss"), {**args, "init": experiment.init, "dtype": torch.float32}
    watched = Watched(net, loss, data.pool, federations, play_args, error)
    reach = None
    if experiment.residuals and {*data.pool} <= {*data.test}:  # so it can be asked for at the test points
        nothing = torch.zeros(1, parameter_count(net))
        reach = 1.5 * float(
            watched.values(nothing, lambda predict: experiment.residuals(predict, data.test)[:, 0]).abs().max()
        )
    return watched._replace(more=WatchedExperiment(experiment, data, reach))
