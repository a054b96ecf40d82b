"""Rules against client drift on the tasks of ``drift``: trained as stacks, chosen on validation data, priced."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import xarray
from torch import Tensor

from ..federated.checkpoints import Checkpoint
from ..federated.federation import Federation, centralised, join
from ..federated.history import History
from ..federated.optimizers import Optimizer, adam
from ..federated.rules import averaged_moments, corrected, fedadam, fedprox, fedyogi, mime, scaffold
from ..federated.train import train
from ..models.networks import glorot_uniform
from .drift import Task


class Rule(NamedTuple):
    """A rule against drift: what the clients do, and what the server does (None: it takes the mean).

    optimizer: knob -> Optimizer. server: knob -> Server. knobs: values of its own parameter that are tried; 0 if it
    has none. knob: what that parameter is called.
    """

    optimizer: Callable[[float], Optimizer]
    server: Callable[[float], object] | None = None
    knobs: tuple[float, ...] = (0.0,)
    knob: str = ""


RULES = {
    "FedAvg": Rule(lambda _: adam()),
    "FedProx": Rule(lambda mu: fedprox(mu, adam()), None, (0.01, 0.1), "mu"),
    "FedAdam": Rule(lambda _: adam(), fedadam, (1e-3, 1e-2), "eta"),
    "FedYogi": Rule(lambda _: adam(), fedyogi, (1e-3, 1e-2), "eta"),
    "SCAFFOLD": Rule(lambda _: scaffold(adam())),
    "averaged second moments": Rule(lambda _: averaged_moments(adam(), "v")),
    "averaged moments": Rule(lambda _: averaged_moments(adam())),
    "fresh correction": Rule(lambda _: corrected(adam())),
    "fresh correction + averaged moments": Rule(lambda _: corrected(averaged_moments(adam()))),
    "Mime": Rule(lambda eps: mime(eps=eps), None, (1e-8, 1e-4), "eps"),
}
"""All of them around Adam, whose moments stay at the clients unless they are averaged."""

REPAIR = "fresh correction + averaged moments"
CENTRAL = "centralised"


class Setting(NamedTuple):
    """What one model of a stack was trained with."""

    lr: float
    knob: float
    seed: int


@dataclass(frozen=True)
class Trained:
    """A rule on a task: its history by ``Setting``, E, and what a client sends up in a round (numbers)."""

    history: History
    E: int
    sent: int
    clients: int

    def last(self, metric: str = "test") -> dict[tuple[float, float], np.ndarray]:
        """(rate, knob) -> errors (%) after the last round [S], of the model that the clients agree on."""
        found = self.history.last(metric, client=0)
        settings = dict.fromkeys((key.lr, key.knob) for key in self.history.rows)
        return {at: np.atleast_1d(found.sel(lr=at[0], knob=at[1]).values) for at in settings}

    def chosen(self) -> tuple[float, float]:
        """The rate and the knob with the smallest mean error on the validation data."""
        found = self.last("validation")
        return min(found, key=lambda at: found[at].mean())

    def error(self, metric: str = "test") -> np.ndarray:
        """Errors (%) in the end with what was chosen [S]."""
        return self.last(metric)[self.chosen()]

    def path(self, at: tuple | None = None) -> xarray.DataArray:
        """Test errors (%) on the way [seed, round], by default with what was chosen."""
        lr, knob = at or self.chosen()
        return self.history.of("test", lr=lr, knob=knob, client=0).transpose("seed", "round")

    def bytes(self, rounds) -> np.ndarray:
        """What all clients together have sent up after so many rounds (bytes, float32)."""
        return 4.0 * self.sent * self.clients * np.asarray(rounds)


def best(found: Sequence[Trained]) -> Trained:
    """Of several stacks, the one whose chosen setting has the smallest mean validation error."""
    return min(found, key=lambda trained: trained.error("validation").mean())


def both_sets(task: Task) -> tuple[Callable, dict[str, Tensor]]:
    """``evaluate`` and ``test`` of ``train``: errors "test" and "validation" (%)."""
    sets = {"test": task.test, "validation": task.validation}

    def evaluate(predict, test):
        own = {s: {k.removeprefix(f"{s} "): v for k, v in test.items() if k.startswith(f"{s} ")} for s in sets}
        return {s: task.evaluate(predict, own[s])["e"] for s in sets}

    return evaluate, {f"{s} {k}": v for s, tensors in sets.items() for k, v in tensors.items()}


def run(
    tasks: Mapping[int, Task], name: str, lrs: Sequence[float], *, knobs: Sequence[float] | None = None, E: int = 5,
    share: float = 1.0, fraction: float = 1.0, evaluations: int = 1,
    kept: Callable[[str], Checkpoint | None] = lambda stack: None, **how,
) -> list[Trained]:  # fmt: skip
    """Train a rule of RULES, or a CENTRAL model, at some rates and knobs (all of its own); a task for each seed.

    share: of the task's steps. Knobs of a server share a stack, those of clients have one each. kept: what was trained
    -> where its state is kept, so that a search that is killed goes on. how: of ``train``.
    """
    first, rule = next(iter(tasks.values())), RULES["FedAvg" if name == CENTRAL else name]
    knobs = rule.knobs if knobs is None else knobs
    pool, at = join({seed: task.pool for seed, task in tasks.items()})
    tests, rounds = {seed: both_sets(task)[1] for seed, task in tasks.items()}, max(1, round(share * first.steps / E))

    def federation(lr, knob, seed):
        shards = at(seed, tasks[seed].shards)
        if name == CENTRAL:
            return centralised(shards, lr=lr, seed=seed)
        return Federation(shards, lr=lr, seed=seed, fraction=fraction, server=servers.get(knob))

    found, servers = [], {knob: rule.server(knob) for knob in knobs} if rule.server else {}
    for own in [knobs] if rule.server else [[knob] for knob in knobs]:
        settings = [Setting(lr, knob, seed) for lr in lrs for knob in own for seed in tasks]
        optimizer, words = rule.optimizer(own[0]), [[E, share, fraction, evaluations], lrs, own, tasks]
        stack = ", ".join([name, *(" ".join(map(str, part)) for part in words)])
        history = train(
            first.net, first.loss, pool, {key: federation(*key) for key in settings}, rounds=rounds,
            local=first.local(E), init=glorot_uniform, optimizer=optimizer, constants=first.constants,
            evaluate=both_sets(first)[0], test=lambda key: tests[key.seed],
            evaluate_every=max(1, rounds // evaluations), checkpoint=kept(stack), **how,
        )  # fmt: skip
        found.append(Trained(history, E, optimizer.sent * history.theta.shape[1], len(first.shards)))
    return found
