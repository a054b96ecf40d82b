"""An experiment is one object: all about a problem except who talks to whom. A whole figure of it is one stack.

Whoever trains it, watches it, chooses its settings, times it or spreads it over machines takes this object.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from inspect import signature
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from torch import Tensor, nn

from ..models.networks import fan_in_uniform
from ..refusals import hint
from .batches import Local
from .checks import check_tensors, pool_size
from .federation import Federation, centralised, check_shards
from .mixing import fedavg, isolated
from .optimizers import Optimizer, Server
from .partitions import check_partition
from .rules import ADAM, RULES

NONE = MappingProxyType({})
"""The default of what is a dictionary: read-only, for all experiments have the same one."""


class Data(NamedTuple):
    """What a level of heterogeneity and a seed have of their own.

    pool: all points, tensors [N, ...] by name. owners: K index arrays into them.
    test: tensors for ``evaluate``; validation: those of other cases, never taken from the test's.
    partition: every point has one owner, or all own it; False where clients share some points, or leave some out.
    """

    pool: Mapping[str, Tensor]
    owners: Sequence[np.ndarray]
    test: Mapping[str, Tensor] = NONE
    validation: Mapping[str, Tensor] | None = None
    partition: bool = True


class Experiment(NamedTuple):
    """What a federation learns: what all its levels and seeds share, but not who talks to whom.

    Args:
        name: in titles and messages. net: the network; only its structure is used.
        residuals: (predict, batch) -> [B, c] of ONE client, where its loss is sum_i w_i |r_i|^2, the weighted mean
            square; else loss: (predict, batch) -> scalar, as in ``train``.
        data: (level, seed) -> ``Data``. evaluate: (predict, test) -> errors by name, of ONE model.
        rounds, local, lr, decay, fraction, mixing, server, common_init: as in ``train`` and ``Federation``.
        init, constants, optimizer, reset_moments, noise, personal: as in ``play``.
        answer: (predict, test) -> what the network says [n] or [n, fields] at test["x"] [n, d], beside the truth
            test["u"]; for pictures. coordinates: a letter for each of the d. level: what a level is called.
        distance: owners' heterogeneity, a number of ``Data``.
        numerics: raised by hand when the same settings give other numbers, so that stored trainings are not taken for
            new ones.
    """

    name: str
    net: nn.Module
    residuals: Callable | None = None
    loss: Callable | None = None
    data: Callable[[Hashable, int], Data] | None = None
    evaluate: Callable | None = None
    rounds: int = 100
    local: Local = Local(5)
    lr: float = 1e-3
    decay: float | Callable[[int], float] = 1.0
    fraction: float | tuple[float, float] = 1.0
    mixing: Callable[..., np.ndarray] = fedavg
    server: Server | None = None
    init: Callable = fan_in_uniform
    constants: Mapping[str, Tensor] = NONE
    optimizer: Optimizer | None = None
    reset_moments: bool = False
    common_init: bool = True
    noise: tuple[int, ...] | None = None
    personal: Sequence[str] = ()
    answer: Callable | None = None
    coordinates: str = "x"
    level: str = "level"
    distance: Callable[[Data], float] | None = None
    numerics: int = 1


def weighted_mean_square(residuals: Callable) -> Callable:
    """The loss sum_i w_i |r_i|^2 of residuals (predict, batch) -> [B, c]; ValueError where they have another shape."""

    def checked(predict, batch):
        r, B = residuals(predict, batch), len(batch["w"])
        if not (isinstance(r, Tensor) and r.dim() == 2 and len(r) == B):
            shape = f"shape {list(r.shape)}" if isinstance(r, Tensor) else type(r).__name__
            raise ValueError(
                f"residuals gave {shape}; expected [B, c], here [{B}, c], a row for each point of the batch, before "
                "any mean. A single component r [B] is r[:, None]"
            )
        return r

    def loss(predict, batch):
        return (batch["w"][:, None] * checked(predict, batch) ** 2).sum()

    loss.residuals = checked  # where they are pointwise, XLA may take them slice by slice
    return loss


def check_experiment(experiment) -> None:
    """ValueError where something else stands in its place: the function that makes one, say."""
    if not isinstance(experiment, Experiment):
        made = f"; {experiment.__name__}() may make one" if hasattr(experiment, "__name__") else ""
        raise ValueError(f"experiment = {experiment!r}: expected an Experiment{made}")


def train_arguments(experiment: Experiment) -> dict:
    """Those arguments of ``train`` and ``play`` that do not depend on who talks to whom."""
    if (experiment.residuals is None) == (experiment.loss is None):
        which = "neither" if experiment.loss is None else "both"
        raise ValueError(f"{experiment.name} has {which} of residuals and loss; expected one of them")
    names = "net", "local", "constants", "optimizer", "reset_moments", "noise", "personal"
    return {name: getattr(experiment, name) for name in names} | {
        "constants": {**experiment.constants},
        "loss": experiment.loss or weighted_mean_square(experiment.residuals),
    }


def rule_changes(rule: str, knob: float | None = None, inner: Optimizer | None = None) -> dict:
    """What a rule of ``RULES`` against drift changes of an experiment: its optimiser and its server.

    knob: of the rule's own parameter, by default the first one. inner: the optimiser that it goes around, by default
    Adam.

    Raises:
        ValueError: there is no such rule; one that has an optimiser of its own would replace another.
    """
    if rule not in RULES:
        raise ValueError(f"rule = {rule!r}; expected one of {', '.join(RULES)}{hint(rule, RULES)}")
    if inner and not RULES[rule].around:
        raise ValueError(
            f"{rule} is an optimiser itself, and goes around no other; experiment._replace(optimizer=None)"
        )
    knob, server = RULES[rule].knobs[0] if knob is None else knob, RULES[rule].server
    return {"optimizer": RULES[rule].optimizer(knob, inner or ADAM), "server": server and server(knob)}


def rule_axis(rules: Sequence[str]) -> dict[tuple[str, float], dict]:
    """(rule, knob) -> what it changes, of all knobs of these rules: an axis ("rule", "knob") of ``sweep``."""
    return {(rule, knob): rule_changes(rule, knob) for rule in rules for knob in RULES[rule].knobs}


def under(experiment: Experiment, rule: str, knob: float | None = None, inner: Optimizer | None = None) -> Experiment:
    """The experiment with a rule against drift, around its own optimiser; see ``rule_changes``.

    Raises:
        ValueError: as of ``rule_changes``; a server of the experiment's own would be replaced.
    """
    check_experiment(experiment)
    changes = rule_changes(rule, knob, inner or experiment.optimizer)
    if experiment.server is not None:
        raise ValueError(
            f"{experiment.name} has a server of its own, which {rule} would replace; experiment._replace(server=None)"
        )
    return experiment._replace(**changes)


def halved(experiment: Experiment, along: Sequence[str] | None = None) -> Experiment:
    """Every second test point for the errors, the ones between them for choices: an experiment of its own.

    along: names of the test tensors that have a row for each point; the others stay whole. By default all of them.

    Raises:
        ValueError: (of the new ``data``) tensors of several lengths, or validation cases that would be lost.
    """

    @cache
    def data(level, seed: int) -> Data:
        whole = experiment.data(level, seed)
        names = [*whole.test] if along is None else along
        if unknown := [name for name in names if name not in whole.test]:
            raise ValueError(f"along has {unknown[0]!r}, which the test has not{hint(unknown[0], whole.test)}")
        lengths = {name: len(whole.test[name]) for name in names}
        if whole.validation is not None:
            raise ValueError(f"{experiment.name} has validation cases of its own; choose by them, without halved")
        if len({*lengths.values()}) != 1:
            raise ValueError(
                f"{experiment.name}: the test's tensors have first lengths {lengths}; expected one number of points. "
                "Name those that have a row for each point, halved(experiment, along=(...))"
            )
        test, validation = ({name: whole.test[name][i::2] for name in lengths} for i in (0, 1))
        return whole._replace(test={**whole.test, **test}, validation={**whole.test, **validation})

    return experiment._replace(data=data)


KINDS = {"federated": fedavg, "isolated": isolated, "centralised": None}
"""Who talks to whom: a mixing rule, or None for one model that sees the points of all."""

TOGETHER = ("mixing", "server", "fraction")
"""Settings of an experiment that only its federations have."""


def federation(
    experiment: Experiment, owners: Sequence[np.ndarray], kind: str = "federated", seed: int = 0, **settings
) -> Federation:
    """The clients that own these points, of a kind of KINDS. settings: of ``Federation``, instead of the experiment's.

    Who is alone has no server, talks to nobody, and has nobody to wait for: TOGETHER is of federations only.
    """
    shared = {name: getattr(experiment, name) for name in ("lr", "decay", "common_init", "name")}
    settings = shared | {"seed": seed} | settings
    if kind == "federated":
        together = {name: getattr(experiment, name) for name in TOGETHER}
        return Federation(owners, **together | settings)
    settings = {name: value for name, value in settings.items() if name not in TOGETHER}
    return (
        centralised(owners, **settings) if KINDS[kind] is None else Federation(owners, mixing=KINDS[kind], **settings)
    )


def data_of(experiment: Experiment, level, seed: int = 0) -> Data:
    """The data of a level and a seed, where every owner's index is one of its own pool.

    Raises:
        ValueError: names level, seed, and what is no tensor, an index that its pool does not have, or a point with too
            many owners or without one.
    """
    where = f"{experiment.name}, {experiment.level} {level}, seed {seed}"
    try:
        signature(experiment.data).bind(level, seed)
    except TypeError as error:
        raise ValueError(
            f"{where}: data = {experiment.data!r}: expected a function of level and seed ({error})"
        ) from None
    try:
        data = experiment.data(level, seed)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    if not isinstance(data, Data):
        raise ValueError(f"{where}: data gave a {type(data).__name__}; expected Data(pool, owners, test)")
    check_tensors(f"{where}: ", pool=data.pool, test=data.test, validation=data.validation)
    N = pool_size(data.pool, f"{where}: ")
    check_shards(data.owners, N, where)
    if data.partition:
        check_partition(data.owners, N, where)
    return data
