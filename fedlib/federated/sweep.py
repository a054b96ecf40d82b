"""A sweep: every level, seed and setting of an experiment, federated, isolated and centralised; and who reads it.

A key is open: a kind, a level, a seed, and a label for each axis of ``over``.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from inspect import signature
from itertools import product
from numbers import Real
from typing import NamedTuple

import numpy as np
import xarray
from torch import Tensor, nn

from ..numerics.heterogeneity import weight_divergence
from ..refusals import check_counts, hint
from .experiment import KINDS, NONE, Data, Experiment, check_experiment, data_of, federation, train_arguments
from .federation import join, same_tensors
from .history import History, as_index, gathered
from .rounds import prepared
from .stack import as_dict
from .train import train


class Row(NamedTuple):
    """What every key of a sweep begins with: a kind of KINDS, a level, a seed."""

    kind: str
    level: Hashable
    seed: int


Key = tuple[Hashable, ...]
"""(kind, level, seed, *labels), a label for each axis of ``over``."""

VARIED = ("lr", "decay", "fraction", "mixing", "server", "common_init")
"""What the models of one stack need not share."""

SHARED = ("rounds", "local", "optimizer", "reset_moments", "noise", "personal", "init")
"""What they do share: other values are other stacks."""

RESERVED = ("client", "round", "distance", "matrix", "i", "j", "k")
"""Axes and coordinates that arrays have beside a row's own: no axis of ``over`` is called so."""


def sweep(
    experiment: Experiment,
    levels: Sequence,
    seeds: Sequence[int],
    kinds: Sequence[str] = tuple(KINDS),
    *,
    over: Mapping[str | tuple[str, ...], Sequence | Mapping] = NONE,
    rows: Collection[Key] | None = None,
    evaluations: int = 1,
    may_all_diverge: bool = False,
    **changes,
) -> History:
    """Train every level, seed and setting, federated, isolated and centralised; one stack where settings allow it.

    Its keys have the parts kind, level and seed, and one for each axis of ``over``. A centralised model that sees the
    same points at several levels is trained once, and stands under the keys of all of them, tested on each level's own
    test set. Where the data have a validation set, its errors stand beside those of the test set, "validation error"
    beside "error". A row that diverges is NaN and named in ``History.diverged``; the others go on.

    Args:
        levels: numbers or texts, each once. seeds: whole numbers >= 0, each once.
        over: axes of settings, of which all combinations are trained; see ``combinations``.
        rows: those keys that are trained; all by default. A model that others share comes with their rows.
        evaluations: how often errors are measured, at most; the last time at the end.
        may_all_diverge: no error where not one row stays finite.
        changes: other values of the experiment's fields, and arguments of ``train``.

    Raises:
        ValueError: what cannot mean anything, what one stack cannot share, owners that are no partition, by name.
        FloatingPointError: all rows diverged.
    """
    fields, train_args = split(changes)
    check_experiment(experiment)
    experiment = experiment._replace(**fields)
    check_labels(levels, seeds, kinds)
    check_counts(rounds=experiment.rounds, evaluations=evaluations)
    settings = combinations(over)
    levels, seeds = ([*map(plain_label, labels)] for labels in (levels, seeds))
    data = {(level, seed): data_of(experiment, level, seed) for seed in seeds for level in levels}
    check_alike(experiment, data)
    pool, owners = one_pool(data)
    tests = {key: both_sets(one) for key, one in data.items()}
    models = by_model(product(seeds, levels, [kind for kind in KINDS if kind in kinds]), owners)
    order = [(*row, *labels) for labels, model in product(settings, models) for row in model]
    wanted = {*order} if rows is None else {*rows}
    if not wanted or (unknown := wanted - {*order}):
        raise ValueError(f"rows has {next(iter(unknown)) if wanted else 'nothing'}; expected some of {order[:3]}, ...")
    planned = []
    for stack in stacks(settings):
        shared, federations, twins = experiment._replace(**stack.shared), {}, {}
        for labels, model in product(stack.varied, models):
            keys = [(*row, *labels) for row in model]
            if {*keys} & wanted:
                kind, level, seed = model[0]
                name = f"{experiment.name}, {experiment.level} {level}"
                federations[keys[0]] = federation(
                    shared, owners[level, seed], kind, seed, name=name, **stack.varied[labels]
                )
                twins |= dict.fromkeys(keys[1:], keys[0])
        if federations:
            planned.append((shared, federations, twins))
    if len(planned) > 1 and train_args.get("checkpoint") is not None:
        raise ValueError(
            f"over makes {len(planned)} stacks, and a checkpoint is of one; store them, see trainings.Call"
        )
    histories = [
        train(
            **train_arguments(shared), pool=pool, federations=federations, twins=twins,
            parts=(*Row._fields, *names_of(over)), rounds=shared.rounds, init=shared.init,
            evaluate=with_validation(shared.evaluate), test=lambda key: tests[key[1], key[2]],
            evaluate_every=-(-shared.rounds // evaluations), may_all_diverge=may_all_diverge or len(planned) > 1,
            **train_args,
        )
        for shared, federations, twins in planned
    ]  # fmt: skip
    trained = {key for history in histories for key in history.rows}
    history = gathered(histories, [key for key in order if key in trained])
    if len(history.diverged) == len(history.rows) and not may_all_diverge:
        raise FloatingPointError(next(iter(history.diverged.values())))
    return described(history, experiment, {level: data[level, seeds[0]] for level in levels})


def described(history: History, experiment: Experiment, data: Mapping[Hashable, Data]) -> History:
    """The history with what pictures need: the experiment's title, what a level is called, and the clients' distance at
    each level; data: of each level, for one seed."""
    distance = {level: float(experiment.distance(one)) for level, one in data.items()} if experiment.distance else {}
    return replace(history, title=experiment.name, level=experiment.level, distance=distance)


# settings


def combinations(over: Mapping[str | tuple[str, ...], Sequence | Mapping]) -> dict[tuple, dict]:
    """The labels of all combinations of axes -> what they change.

    An axis is named as what it changes (VARIED, SHARED), with values, or {label: value}:
    ``{"lr": [1e-3, 1e-2], "server": {"mean": None, "FedAdam": fedadam(0.01)}}``. What belongs together is one axis of
    any name, {label: changes}: ``{"E": {1: {"local": Local(1), "rounds": 500}, 5: {...}}}``; or of several names, where
    not all combinations are wanted: ``{("rule", "knob"): {("FedAvg", 0.0): {}, ("FedProx", 0.1): {...}}}``.

    Raises:
        ValueError: an axis or a label that cannot mean anything, or one setting on two axes.
    """
    names, settings = names_of(over), {}
    if twice := [name for i, name in enumerate(names) if name in names[:i]]:
        raise ValueError(f"over has an axis {twice[0]!r} twice; expected each once")
    for points in product(*(axis_of(name, values) for name, values in over.items())):
        changes: dict = {}
        for _, some in points:
            if twice := sorted(changes.keys() & some.keys()):
                raise ValueError(f"over changes {twice[0]!r} on two axes; expected it on one")
            changes |= some
        settings[tuple(label for labels, _ in points for label in labels)] = changes
    return settings


def axis_of(name: str | tuple[str, ...], values: Sequence | Mapping) -> list[tuple[tuple, dict]]:
    """(labels, changes) of every point of an axis."""
    names = name if isinstance(name, tuple) else (name,)
    if taken := sorted({*names} & {*Row._fields, *RESERVED}):
        raise ValueError(f"over has an axis {taken[0]!r}, which every sweep has already; rename yours")
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__") or not len(values):
        raise ValueError(f"over has {name} = {values!r}; expected a list of values, or {{label: value}}")
    is_setting = name in (*VARIED, *SHARED)
    if not is_setting and not isinstance(values, Mapping):
        near = hint(name, [*VARIED, *SHARED])
        raise ValueError(
            f"over has {name!r}, which is no setting{near}; what may vary is {', '.join((*VARIED, *SHARED))}, or "
            f"{{label: changes}} under a name of your own"
        )
    items = values.items() if isinstance(values, Mapping) else ((value, value) for value in values)
    points = [
        (
            tuple(map(plain_label, label if isinstance(name, tuple) else (label,))),
            {name: value} if is_setting else value,
        )
        for label, value in items
    ]
    for labels, changes in points:
        if len(labels) != len(names) or not all(isinstance(label, (Real, str)) and label == label for label in labels):
            raise ValueError(f"over has {name} = {labels!r}; expected numbers or texts as labels, {{label: value}}")
        if not isinstance(changes, Mapping) or not {*changes} <= {*VARIED, *SHARED}:
            raise ValueError(
                f"over has {name} = {labels!r}: {changes!r}; expected changes of {', '.join((*VARIED, *SHARED))}"
            )
    if len({labels for labels, _ in points}) < len(points):
        raise ValueError(f"over has {name} = {values!r}; expected each label once")
    return points


def plain_label(label):
    """A label of numpy's as one of Python's, which can be stored."""
    return label.item() if isinstance(label, np.generic) else label


def names_of(over: Mapping) -> list[str]:
    """Names of the axes."""
    return [part for name in over for part in (name if isinstance(name, tuple) else (name,))]


class Stack(NamedTuple):
    """What one stack can train. shared: its settings; varied: labels -> the settings that they have of their own."""

    shared: Mapping
    varied: dict[tuple, Mapping]


def stacks(settings: Mapping[tuple, Mapping]) -> list[Stack]:
    """Settings of ``combinations`` in as few stacks as can be."""
    made: list[Stack] = []
    for labels, changes in settings.items():
        shared = {name: value for name, value in changes.items() if name in SHARED}
        stack = next((stack for stack in made if stack.shared == shared), None)
        if stack is None:
            made.append(stack := Stack(shared, {}))
        stack.varied[labels] = {name: value for name, value in changes.items() if name in VARIED}
    return made


def by_model(rows: Iterable[tuple], owners: Mapping[tuple, Sequence[np.ndarray]]) -> list[list[Row]]:
    """Rows (seed, level, kind) in groups that are one model: centralised ones of a seed that see the same points.
    owners: of each (level, seed)."""
    models = defaultdict(list)
    for seed, level, kind in rows:
        points = level
        if kind == "centralised":
            points = sha256(np.unique(np.concatenate(owners[level, seed]))).digest()
        models[kind, seed, points].append(Row(kind, level, seed))
    return [*models.values()]


# readers


def grid(experiment: Experiment, over: Mapping, level, seeds: Sequence[int], **changes) -> History:
    """Federations at one level with all combinations of settings; see ``sweep``, and ``best``."""
    return sweep(experiment, [level], seeds, **{"kinds": ["federated"]} | changes, over=over)


def best(history: History, metric: str | None = None, largest: bool = False) -> dict[str, Hashable]:
    """The settings with the smallest mean of a metric after the last round, over levels and seeds, name -> label; of
    several kinds for the federated one.

    metric: the only one of the validation set by default. largest: the largest mean, for an accuracy. A setting that
    diverges for one seed is not chosen.

    Raises:
        ValueError: there is no such metric, or no one validation metric; or no setting has a number.
    """
    names = [part for part in history.parts if part not in Row._fields]
    validation = [name for name in history.metrics if name.startswith("validation ")]
    if metric is None and len(validation) > 1:
        raise ValueError(f"several metrics of the validation set: {', '.join(validation)}; best(history, metric)")
    metric = metric or next(iter(validation), "validation error")
    if metric not in history.metrics:
        measured = f"; there are {', '.join(history.metrics)}" if history.metrics else ""
        raise ValueError(
            f"no {metric!r} was measured{hint(metric, history.metrics)}{measured}"
            + ("" if validation else ": choosing needs Data(..., validation=...), which is no test set")
        )
    error = errors(history, metric).isel(round=-1, drop=True)
    if "federated" in error.kind.values:
        error = error.sel(kind="federated", drop=True)
    error = error.mean([axis for axis in error.dims if axis not in names], skipna=False)
    if error.isnull().all():
        raise ValueError(f"{metric!r} is NaN for all settings; lower lr")
    least = (-error if largest else error).argmin(names)
    return {name: error[name][least[name]].item() for name in names}


def errors(history: History, metric: str = "error", alone: str = "mean") -> xarray.DataArray:
    """A metric of a sweep [round, kind, level, seed, *over], what pictures and claims take.

    Beside level stands the clients' "distance", where it is known; its name is the experiment's title, attrs["level"]
    what a level is called. What was not trained, or diverged, is NaN.

    alone: of isolated clients the "mean"; "each", kinds "client 1 alone", "client 2 alone", ...; or the "best", kind
    "best client alone", the one with the smallest mean over seeds after the last round. Of clients that differ in
    another kind, with personal parameters or in a ring, it is the mean.

    Raises:
        ValueError: there is no such metric, or no such way to show who is alone.
    """
    if alone not in ("mean", "each", "best"):
        raise ValueError(f"alone = {alone!r}; expected 'mean', 'each' or 'best'{hint(alone, ('mean', 'each', 'best'))}")
    labels = {part: as_index(history.labels(part)) for part in history.parts if part != "kind"}
    kinds: dict[str, xarray.DataArray] = {}
    for kind in history.labels("kind"):
        values = history.metric(metric, kind=kind).reindex(labels)
        if kind == "isolated" and alone != "mean":
            each = {f"client {k + 1} alone": values.isel(client=k, drop=True) for k in range(values.sizes["client"])}
            kinds = (each if alone == "each" else {"best client alone": best_of(values)}) | kinds
            continue
        one, same = values.isel(client=0, drop=True), (values == values.isel(client=0)) | values.isnull()
        kinds[kind] = one.where(same.all("client"), values.mean("client"))
    whole = xarray.concat(kinds.values(), xarray.DataArray([*kinds], dims="kind", name="kind"))
    words = {"long_name": re.sub("^error_.*", "error", metric), "units": "%"}
    return named(whole.transpose("round", "kind", "level", "seed", ...), history, **words)


def best_of(values: xarray.DataArray) -> xarray.DataArray:
    """The client of values [round, level, seed, client, ...] with the smallest mean over seeds after the last round."""
    mean = values.isel(round=-1, drop=True).mean("seed")
    return values.isel(client=mean.fillna(np.inf).argmin("client")).drop_vars("client")


def divergences(
    history: History, net: nn.Module, levels: Sequence | None = None, labels: Sequence = ()
) -> xarray.DataArray:  # fmt: skip
    """Relative divergence of the federated weights from the centralised ones [seed, level, matrix]; with names and
    distances as of ``errors``.

    levels: all that have all kinds and seeds by default. labels: one for each axis of ``over``.

    Raises:
        ValueError: a label is missing, or the clients of a federation have no one model.
    """
    levels, seeds = whole_levels(history) if levels is None else list(levels), history.labels("seed")
    if axes := history.parts[3 + len(labels) :]:
        raise ValueError(f"the history has axes {', '.join(axes)}; expected a label for each, labels=(...)")

    def model(kind: str, level, seed: int) -> dict[str, Tensor]:
        theta = models_of(history, kind, level, seed, *labels)
        if len(theta) > 1:
            raise ValueError(f"{kind}, level {level}: the clients have models of their own; expected one that all hold")
        return as_dict(net, theta[0])

    def by_matrix(level, seed) -> list[float]:
        divergence = weight_divergence(*(model(kind, level, seed) for kind in ("federated", "centralised")))
        return [float(value) for value in divergence.values()]

    values = np.array([[by_matrix(level, seed) for level in levels] for seed in seeds])
    coords = {"seed": seeds, "level": levels, "matrix": 1 + np.arange(values.shape[-1])}
    return named(
        xarray.DataArray(values, coords, ("seed", "level", "matrix")), history, long_name="relative divergence"
    )


def named(values: xarray.DataArray, history: History, **attrs: str) -> xarray.DataArray:
    """Values along level with the clients' distance there, the experiment's title, and what a level is called."""
    if history.distance:
        distances = [history.distance.get(level, np.nan) for level in values.level.values.tolist()]
        values = values.assign_coords(distance=("level", distances))
    values["level"].attrs["long_name"] = history.level
    return values.rename(history.title).assign_attrs(level=history.level, **attrs)


def whole_levels(history: History) -> list:
    """The levels that have all kinds and seeds, and all labels of ``over``, in order."""
    others = {(key[0], *key[2:]) for key in history.rows}
    return [
        level
        for level in sorted(history.labels("level"), key=lambda level: (isinstance(level, str), level))
        if all((kind, level, *rest) in history.rows for kind, *rest in others)
    ]


def models_of(history: History, kind: str, level, seed: int, *labels) -> Tensor:
    """Parameters of a row of a sweep: [K, P] of isolated clients, and of others that differ; else [1, P] of the model
    that all hold."""
    models = history.models(kind, level, seed, *labels)
    return models[:1] if kind != "isolated" and (models == models[:1]).all() else models


TRAIN_ARGS = ({*signature(train).parameters} | {*signature(prepared).parameters}) - {"work_args"}


def split(changes: Mapping) -> tuple[dict, dict]:
    """(fields of an Experiment, arguments of ``train``); ValueError where a name is neither."""
    for name in changes:
        if name not in {*Experiment._fields, *TRAIN_ARGS}:
            near = hint(name, [*Experiment._fields, *TRAIN_ARGS])
            raise ValueError(f"{name!r} is neither a field of Experiment nor an argument of train{near}")
    fields = {name: value for name, value in changes.items() if name in Experiment._fields}
    return fields, {name: value for name, value in changes.items() if name not in fields}


def check_labels(levels, seeds, kinds) -> None:
    """ValueError where these of a sweep cannot mean anything; what was given, and what was expected."""
    for name, values, example in (
        ("levels", levels, "[2, 4]"),
        ("seeds", seeds, "range(3)"),
        ("kinds", kinds, "[...]"),
    ):
        if isinstance(values, str) or not hasattr(values, "__len__") or not len(values):
            raise ValueError(f"{name} = {values!r}; expected a list with at least one of them, such as {example}")
        if repeated := [value for i, value in enumerate(values) if value in [*values][:i]]:
            raise ValueError(f"{name} has {repeated[0]!r} twice; each is trained once")
    if bad := [level for level in levels if not (isinstance(level, (Real, str)) and level == level)]:
        raise ValueError(f"levels has {bad[0]!r}; expected numbers or texts, which can be stored, such as '2 x 3'")
    if bad := [seed for seed in seeds if not (isinstance(seed, (int, np.integer)) and seed >= 0)]:
        raise ValueError(f"seeds has {bad[0]!r}; expected whole numbers >= 0")
    if bad := [kind for kind in kinds if kind not in KINDS]:
        raise ValueError(f"kinds has {bad[0]!r}; expected some of {', '.join(KINDS)}{hint(bad[0], KINDS)}")


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
    """The pools as one, and the owners in it. Levels and seeds with the same points share them: they are held once."""
    label = dict(zip(data, same_tensors([one.pool for one in data.values()]), strict=True))
    pool, joined = join({label[key]: one.pool for key, one in data.items()})
    return pool, {key: joined(label[key], one.owners) for key, one in data.items()}


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
        measured = evaluate(predict, test)
        if validation:
            measured = measured | {f"validation {k}": v for k, v in evaluate(predict, test | validation).items()}
        return measured

    return both
