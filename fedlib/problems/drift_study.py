"""Rules against client drift on the problems of ``drift``: trained as stacks, chosen on validation data, priced."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import xarray

from ..federated.checkpoints import Checkpoint
from ..federated.experiment import Experiment
from ..federated.history import History
from ..federated.rules import RULES
from ..federated.sweep import best as best_settings
from ..federated.sweep import errors, sweep
from .drift import steps

REPAIR = "fresh correction + averaged moments"
CENTRAL = "centralised"


@dataclass(frozen=True)
class Trained:
    """A rule on a problem: its history, with the parts lr and server (the knob), E, and the numbers that a client sends
    up in a round."""

    history: History
    E: int
    sent: int
    clients: int

    def last(self, metric: str = "error") -> dict[tuple[float, float], np.ndarray]:
        """(rate, knob) -> errors (%) after the last round [S], of the model that the clients agree on."""
        errors = self.errors(metric).isel(round=-1)
        settings = dict.fromkeys(key[3:] for key in self.history.rows)
        return {(lr, knob): errors.sel(lr=lr, server=knob).values for lr, knob in settings}

    def chosen(self) -> tuple[float, float]:
        """The rate and the knob with the smallest mean error on the validation data."""
        at = best_settings(self.history)
        return at["lr"], at["server"]

    def error(self, metric: str = "error") -> np.ndarray:
        """Errors (%) in the end with what was chosen [S]."""
        return self.last(metric)[self.chosen()]

    def path(self, at: tuple | None = None) -> xarray.DataArray:
        """Test errors (%) on the way [seed, round], by default with what was chosen."""
        lr, knob = at or self.chosen()
        return self.errors("error").sel(lr=lr, server=knob, drop=True)

    def errors(self, metric: str) -> xarray.DataArray:
        """Errors (%) [seed, round, lr, server]."""
        return errors(self.history, metric).squeeze(("kind", "level"), drop=True).transpose("seed", "round", ...)

    def bytes(self, rounds) -> np.ndarray:
        """What all clients together have sent up after so many rounds (bytes, float32)."""
        return 4.0 * self.sent * self.clients * np.asarray(rounds)


def best(trained: Sequence[Trained]) -> Trained:
    """Of several stacks, the one whose chosen setting has the smallest mean validation error."""
    return min(trained, key=lambda stack: stack.error("validation error").mean())


def run(
    experiment: Experiment, level, seeds: Sequence[int], name: str, lrs: Sequence[float], *,
    knobs: Sequence[float] | None = None, E: int = 5, share: float = 1.0, fraction: float = 1.0, evaluations: int = 1,
    kept: Callable[[str], Checkpoint | None] = lambda stack: None, **train_args,
) -> list[Trained]:  # fmt: skip
    """Train a rule of RULES, or a CENTRAL model, at some rates and knobs (all of the rule's).

    share: of the experiment's steps. Knobs of a server share a stack, those of clients have one each. kept: what was
    trained -> where its state is kept, so that a search that is killed goes on.
    """
    rule, stacks = RULES["FedAvg" if name == CENTRAL else name], []
    knobs = rule.knobs if knobs is None else knobs
    for of_stack in [knobs] if rule.server else [[knob] for knob in knobs]:
        optimizer, words = rule.optimizer(of_stack[0]), [[E, share, fraction, evaluations], lrs, of_stack, seeds]
        history = sweep(
            experiment, [level], seeds, ["centralised" if name == CENTRAL else "federated"],
            over={"lr": lrs, "server": {knob: rule.server and rule.server(knob) for knob in of_stack}},
            rounds=max(1, round(share * steps(experiment) / E)), local=experiment.local._replace(updates=E),
            fraction=fraction, optimizer=optimizer, evaluations=evaluations,
            checkpoint=kept(", ".join([name, *(" ".join(map(str, part)) for part in words)])), **train_args,
        )  # fmt: skip
        clients = len(experiment.data(level, seeds[0]).owners)
        stacks.append(Trained(history, E, optimizer.sent * history.theta.shape[1], clients))
    return stacks
