"""An experiment is one object: all about a problem except who talks to whom. A whole figure of it is one stack.

Whoever trains it, watches it, chooses its settings, times it or spreads it over machines takes this object.
"""

import difflib
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import cache
from inspect import signature
from itertools import product
from typing import NamedTuple

import numpy as np
import xarray
from torch import Tensor, nn

from ..models.networks import fan_in_uniform
from .batches import Local
from .federation import Federation, centralised, join, points_of
from .history import History
from .mixing import fedavg, isolated
from .optimizers import Optimizer, Server
from .rounds import prepared
from .rules import RULES
from .train import train


class Data(NamedTuple):
    """What a level of heterogeneity and a seed have of their own.

    pool: all points, tensors [N, ...] by name. owners: K index arrays into them.
    test: tensors for ``evaluate``; validation: those of other cases, never taken from the test's.
    partition: every point has one owner, or all own it; False where clients share some points, or leave some out.
    """

    pool: Mapping[str, Tensor]
    owners: Sequence[np.ndarray]
    test: Mapping[str, Tensor] = {}
    validation: Mapping[str, Tensor] | None = None
    partition: bool = True


class Experiment(NamedTuple):
    """What a federation learns: what all its levels and seeds share, but not who talks to whom.

    Args:
        name: in titles and messages. net: the network; only its structure is used.
        residuals: (predict, batch) -> [B, c] of ONE client, where its loss is sum_i w_i |r_i|^2, the weighted mean
            square; else loss: (predict, batch) -> scalar, as in ``train``.
        data: (level, seed) -> ``Data``. evaluate: (predict, test) -> errors by name, of ONE model.
        rounds, local, lr, decay, fraction, server, common_init: as in ``train`` and ``Federation``.
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
    server: Server | None = None
    init: Callable = fan_in_uniform
    constants: Mapping[str, Tensor] = {}
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

    def of_points(predict, batch):
        r, B = residuals(predict, batch), len(batch["w"])
        if not (isinstance(r, Tensor) and r.dim() == 2 and len(r) == B):
            shape = f"shape {list(r.shape)}" if isinstance(r, Tensor) else type(r).__name__
            raise ValueError(
                f"residuals gave {shape}; expected [B, c], here [{B}, c], a row for each point of the batch, before "
                "any mean. A single component r [B] is r[:, None]"
            )
        return r

    def loss(predict, batch):
        return (batch["w"][:, None] * of_points(predict, batch) ** 2).sum()

    loss.residuals = of_points  # where they are pointwise, XLA may take them slice by slice
    return loss


def training(experiment: Experiment) -> dict:
    """Those arguments of ``train`` and ``play`` that do not depend on who talks to whom."""
    if (experiment.residuals is None) == (experiment.loss is None):
        given = "neither" if experiment.loss is None else "both"
        raise ValueError(f"{experiment.name} has {given} of residuals and loss; expected one of them")
    names = "net", "local", "constants", "optimizer", "reset_moments", "noise", "personal"
    return {name: getattr(experiment, name) for name in names} | {
        "loss": experiment.loss or weighted_mean_square(experiment.residuals)
    }


def under(experiment: Experiment, rule: str, knob: float | None = None) -> Experiment:
    """The experiment with a rule of ``RULES`` against drift; knob: of its own parameter, by default the first one."""
    of = RULES[rule]
    knob = of.knobs[0] if knob is None else knob
    return experiment._replace(optimizer=of.optimizer(knob), server=of.server and of.server(knob))


def halved(experiment: Experiment) -> Experiment:
    """Every second test point for the errors, the ones between them for choices: an experiment of its own."""

    @cache
    def data(level, seed: int) -> Data:
        of = experiment.data(level, seed)
        test, validation = ({name: value[i::2] for name, value in of.test.items()} for i in (0, 1))
        return of._replace(test=test, validation=validation)

    return experiment._replace(data=data)


KINDS = {"federated": fedavg, "isolated": isolated, "centralised": None}
"""Who talks to whom: a mixing rule, or None for one model that sees the points of all."""


def federation(
    experiment: Experiment, owners: Sequence[np.ndarray], kind: str = "federated", seed: int = 0, **settings
) -> Federation:
    """The clients that own these points, of a kind of KINDS. settings: of ``Federation``, instead of the experiment's.

    Who is alone has no server, and nobody to wait for: server and fraction are those of federations only.
    """
    own = {name: getattr(experiment, name) for name in ("lr", "decay", "common_init", "name")}
    settings = own | {"seed": seed} | settings
    if KINDS[kind] is None:
        return centralised(owners, **{k: v for k, v in settings.items() if k not in ("server", "fraction", "mixing")})
    if kind == "federated":
        settings = {"server": experiment.server, "fraction": experiment.fraction} | settings
    return Federation(owners, **{"mixing": KINDS[kind]} | settings)


class Row(NamedTuple):
    """A row of a sweep: a kind of KINDS, a level (None: the centralised model that all levels share), a seed."""

    kind: str
    level: Hashable
    seed: int


VARIED = ("lr", "decay", "fraction", "mixing", "server", "common_init")  # what models of one stack need not share


def sweep(
    experiment: Experiment,
    levels: Sequence,
    seeds: Sequence[int],
    kinds: Sequence[str] = tuple(KINDS),
    *,
    settings: Mapping[str, Sequence | Mapping] = {},
    rows: Collection[Row] | None = None,
    evaluations: int = 1,
    **changes,
) -> History:
    """Train every level and seed, federated, isolated and centralised, as one stack.

    Its keys have the parts kind, level and seed (see ``Row``), and one for each of ``settings``. A centralised model
    that sees the same points at all levels is trained once. Where the data have a validation set, its errors stand
    beside those of the test set, "validation error" beside "error".

    Args:
        settings: name -> values, or {label: value}, of what the models of a stack need not share (VARIED); all
            combinations are trained.
        rows: those of them that are trained; all by default.
        evaluations: how often errors are measured, the last time at the end.
        changes: other values of the experiment's fields, and arguments of ``train``.

    Raises:
        ValueError: what one stack cannot share, owners that are no partition, or a level that does not fit, by name.
    """
    own, train_args = split(changes)
    experiment = experiment._replace(**own)
    if bad := [name for name in settings if name not in VARIED]:
        raise ValueError(
            f"settings has {bad[0]!r}, which all models of a stack share; what may vary is {', '.join(VARIED)}. "
            f"Call sweep once for each {bad[0]}"
        )
    if bad := [kind for kind in kinds if kind not in KINDS]:
        raise ValueError(f"kinds has {bad[0]!r}; expected some of {', '.join(KINDS)}")
    data = {(level, seed): data_of(experiment, level, seed) for seed in seeds for level in levels}
    check_alike(experiment, data)
    pool, owners = one_pool(data)
    choices = [of.items() if isinstance(of, Mapping) else zip(of, of, strict=True) for of in settings.values()]
    cases, tests = {}, {}
    for chosen in product(*choices):
        values = {name: value for name, (_, value) in zip(settings, chosen, strict=True)}
        for seed, level in product(seeds, levels):
            for kind in [kind for kind in KINDS if kind in kinds]:
                common = kind == "centralised" and len(levels) > 1 and sees_the_same(owners, levels, seed)
                standing = [Row(kind, at, seed) for at in ((*levels, None) if common else (level,))]
                if (common and level != levels[0]) or not (rows is None or {*standing} & {*rows}):
                    continue
                key = (kind, None if common else level, seed, *(label for label, _ in chosen))
                name = f"{experiment.name}, {experiment.level} {level}"
                cases[key] = federation(experiment, owners[level, seed], kind, seed, name=name, **values)
                tests[key] = both_sets(data[level, seed])
    return train(
        **training(experiment), pool=pool, federations=cases, parts=(*Row._fields, *settings), rounds=experiment.rounds,
        init=experiment.init, evaluate=with_validation(experiment.evaluate), test=tests.__getitem__,
        evaluate_every=max(1, experiment.rounds // evaluations), **train_args,
    )  # fmt: skip


def grid(experiment: Experiment, settings: Mapping, level, seeds: Sequence[int], **changes) -> History:
    """Federations at one level with all combinations of settings, one stack; see ``sweep``, and ``best``."""
    return sweep(experiment, [level], seeds, **{"kinds": ["federated"]} | changes, settings=settings)


def best(history: History, metric: str = "validation error") -> dict[str, Hashable]:
    """The settings of a ``grid`` with the smallest mean of a metric after the last round, name -> label."""
    names = [part for part in history.parts if part not in Row._fields]
    if metric.startswith("validation ") and metric not in history.metrics:
        raise ValueError(f"no {metric!r} was measured: choosing needs Data(..., validation=...), which is no test set")
    error = of_each(history, metric).isel(round=-1, drop=True)
    error = error.mean([axis for axis in error.dims if axis not in names])
    return {name: error[name][at].item() for name, at in error.argmin(names).items()} if names else {}


def of_each(history: History, metric: str = "error") -> xarray.DataArray:
    """A metric of a sweep with axes round, kind, level, seed, and its settings; no client.

    Of a federation, whose clients hold the same model, the first one counts; of isolated clients the mean. A
    centralised model that all levels share stands at each of them.
    """
    levels, each = [level for level in history.labels("level") if level is not None], []
    for kind in history.labels("kind"):
        values = history.of(metric, kind=kind)
        values = values.mean("client") if kind == "isolated" else values.isel(client=0, drop=True)
        each.append(at_each(values, levels))
    order = ["round", "kind", "level", "seed", ...]
    return xarray.concat(each, xarray.DataArray(history.labels("kind"), dims="kind", name="kind")).transpose(*order)


def at_each(values: xarray.DataArray, levels: Sequence) -> xarray.DataArray:
    """The array with all these levels; one without a value of its own has that of the model that all levels share."""
    if "level" not in values.dims:
        return values.expand_dims(level=levels)
    there = values.level.values.tolist()
    apart = [i for i, level in enumerate(there) if level is not None]
    spread = values.isel(level=apart).assign_coords(level=[there[i] for i in apart]).reindex(level=levels)
    return spread if None not in there else spread.fillna(values.isel(level=there.index(None), drop=True))


def models_of(history: History, kind: str, level, seed: int) -> Tensor:
    """Parameters of a row of a sweep: [K, P] of isolated clients, else [1, P] of the model that all hold."""
    models = history.models(kind, level if (kind, level, seed) in history.rows else None, seed)
    return models if kind == "isolated" else models[:1]


TRAIN_ARGS = ({*signature(train).parameters} | {*signature(prepared).parameters}) - {"work_args"}


def split(changes: Mapping) -> tuple[dict, dict]:
    """(fields of an Experiment, arguments of ``train``); ValueError where a name is neither."""
    for name in changes:
        if name not in {*Experiment._fields, *TRAIN_ARGS}:
            near = difflib.get_close_matches(name, [*Experiment._fields, *TRAIN_ARGS], 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{name!r} is neither a field of Experiment nor an argument of train{hint}")
    own = {name: value for name, value in changes.items() if name in Experiment._fields}
    return own, {name: value for name, value in changes.items() if name not in own}


def data_of(experiment: Experiment, level, seed: int = 0) -> Data:
    """The data of a level and a seed; ValueError that names a point with too many owners, or without one."""
    where = f"{experiment.name}, {experiment.level} {level}"
    try:
        data = experiment.data(level, seed)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    count = np.bincount(points_of(data.owners), minlength=len(next(iter(data.pool.values()))))
    wrong = np.flatnonzero((count != 1) & (count != len(data.owners))) if data.partition else []
    if len(wrong):
        clients = [k for k, shard in enumerate(data.owners) if wrong[0] in shard]
        said = f"belongs to clients {clients}" if clients else "belongs to nobody"
        raise ValueError(
            f"{where}: point {wrong[0]} {said}; expected one owner, or all {len(data.owners)} of them. Mend the "
            "owners; if this is meant, say Data(..., partition=False)"
        )
    return data


def check_alike(experiment: Experiment, data: Mapping[tuple, Data]) -> None:
    """ValueError that names the first tensor which differs from level to level in more than its number of points."""
    (first, one), *others = data.items()
    for (level, seed), other in others:
        for what, a, b in (
            ("pool", shapes(one.pool, 1), shapes(other.pool, 1)),
            ("test", shapes(one.test), shapes(other.test)),
            ("validation", shapes(one.validation or {}), shapes(other.validation or {})),
        ):
            if a != b:
                name = next(name for name in {**a, **b} if a.get(name) != b.get(name))
                raise ValueError(
                    f"{experiment.name}: {what}[{name!r}] has shape {a.get(name)} at level {first[0]}, seed {first[1]}"
                    f", but {b.get(name)} at level {level}, seed {seed}; one stack shares its shapes (None: it is not "
                    "there): make them equal, or sweep these apart"
                )


def shapes(tensors: Mapping[str, Tensor], first: int = 0) -> dict[str, tuple]:
    """Shapes by name, from an axis on."""
    return {name: tuple(value.shape[first:]) for name, value in tensors.items()}


def one_pool(data: Mapping[tuple, Data]) -> tuple[dict[str, Tensor], dict[tuple, Sequence[np.ndarray]]]:
    """The pools as one, and the owners in it. Levels and seeds with the same tensors share them: they are held once."""
    identity = {key: tuple(map(id, of.pool.values())) for key, of in data.items()}
    pool, at = join({identity[key]: of.pool for key, of in data.items()})
    return pool, {key: at(identity[key], of.owners) for key, of in data.items()}


def sees_the_same(owners: Mapping[tuple, Sequence[np.ndarray]], levels: Sequence, seed: int) -> bool:
    """Whether the clients of all levels own the same points together."""
    first, *others = (np.unique(points_of(owners[level, seed])) for level in levels)
    return all(np.array_equal(first, other) for other in others)


def both_sets(data: Data) -> dict[str, Tensor]:
    """Test and validation tensors under names of their own."""
    return {**data.test, **{f"validation {name}": value for name, value in (data.validation or {}).items()}}


def with_validation(evaluate: Callable | None) -> Callable | None:
    """The same errors of both sets, where there are two: "error" and "validation error"."""
    if evaluate is None:
        return None

    def both(predict, tensors):
        validation = {k.removeprefix("validation "): v for k, v in tensors.items() if k.startswith("validation ")}
        test = {k: v for k, v in tensors.items() if not k.startswith("validation ")}
        errors = evaluate(predict, test)
        if validation:
            errors = errors | {f"validation {k}": v for k, v in evaluate(predict, test | validation).items()}
        return errors

    return both
