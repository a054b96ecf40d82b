"""An experiment is one object: all about a problem except who talks to whom. A whole figure of it is one stack.

Whoever trains it, watches it, chooses its settings, times it or spreads it over machines takes this object.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from hashlib import sha256
from inspect import signature
from itertools import product
from numbers import Real
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import xarray
from torch import Tensor, nn

from ..models.networks import fan_in_uniform
from .batches import Local
from .checks import check_tensors
from .federation import Federation, centralised, check_shards, join, points_of, same_tensors
from .history import History, shared
from .mixing import fedavg, isolated
from .optimizers import Optimizer, Server
from .partitions import check_partition
from .rounds import prepared
from .rules import ADAM, RULES
from .train import train

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
        "constants": {**experiment.constants},
        "loss": experiment.loss or weighted_mean_square(experiment.residuals),
    }


def under(experiment: Experiment, rule: str, knob: float | None = None, inner: Optimizer | None = None) -> Experiment:
    """The experiment with a rule of ``RULES`` against drift; knob: of its own parameter, by default the first one.

    inner: the optimiser that it goes around; by default the experiment's own, or Adam.

    Raises:
        ValueError: there is no such rule; one that has an optimiser, or a server, of its own would replace another.
    """
    if rule not in RULES:
        raise ValueError(f"rule = {rule!r}; expected one of {', '.join(RULES)}{hint(rule, RULES)}")
    chosen, inner = RULES[rule], inner or experiment.optimizer
    if inner and not chosen.around:
        raise ValueError(
            f"{rule} is an optimiser itself, and goes around no other; experiment._replace(optimizer=None)"
        )
    if experiment.server is not None:
        raise ValueError(
            f"{experiment.name} has a server of its own, which {rule} would replace; experiment._replace(server=None)"
        )
    knob = chosen.knobs[0] if knob is None else knob
    return experiment._replace(
        optimizer=chosen.optimizer(knob, inner or ADAM), server=chosen.server and chosen.server(knob)
    )


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
    """A row of a sweep: a kind of KINDS, a level, a seed."""

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
    settings: Mapping[str, Sequence | Mapping] = NONE,
    rows: Collection[Row] | None = None,
    evaluations: int = 1,
    **changes,
) -> History:
    """Train every level and seed, federated, isolated and centralised, as one stack.

    Its keys have the parts kind, level and seed (see ``Row``), and one for each of ``settings``. A centralised model
    that sees the same points, and is tested on the same ones, at several levels is trained once, and stands under the
    keys of all of them. Where the data have a validation set, its errors stand beside those of the test set,
    "validation error" beside "error".

    Args:
        levels: numbers or texts, each once. seeds: whole numbers >= 0, each once.
        settings: name -> values, or {label: value}, of what the models of a stack need not share (VARIED); all
            combinations are trained.
        rows: those of them that are trained; all by default. A model that others share comes with their rows.
        evaluations: how often errors are measured, at most; the last time at the end.
        changes: other values of the experiment's fields, and arguments of ``train``.

    Raises:
        ValueError: what one stack cannot share, owners that are no partition, or a level that does not fit, by name.
    """
    own, train_args = split(changes)
    experiment = experiment._replace(**own)
    check_arguments(experiment, levels, seeds, kinds, settings, evaluations)
    levels, seeds = ([x.item() if isinstance(x, np.generic) else x for x in labels] for labels in (levels, seeds))
    data = {(level, seed): data_of(experiment, level, seed) for seed in seeds for level in levels}
    check_alike(experiment, data)
    pool, owners = one_pool(data)
    tests = {key: both_sets(one) for key, one in data.items()}
    models = by_model(product(seeds, levels, [kind for kind in KINDS if kind in kinds]), owners, tests)
    choices = [v.items() if isinstance(v, Mapping) else zip(v, v, strict=True) for v in settings.values()]
    cases, keys = {}, {}
    for chosen in product(*choices):
        labels = tuple(label for label, _ in chosen)
        values = {name: value for name, (_, value) in zip(settings, chosen, strict=True)}
        for alike in models:
            if rows is None or {*alike} & {*rows}:
                kind, level, seed = alike[0]
                key, name = (*alike[0], *labels), f"{experiment.name}, {experiment.level} {level}"
                cases[key] = federation(experiment, owners[level, seed], kind, seed, name=name, **values)
                keys[key] = [(*row, *labels) for row in alike]
    history = train(
        **training(experiment), pool=pool, federations=cases, parts=(*Row._fields, *settings), rounds=experiment.rounds,
        init=experiment.init, evaluate=with_validation(experiment.evaluate), test=lambda key: tests[key[1], key[2]],
        evaluate_every=-(-experiment.rounds // evaluations), **train_args,
    )  # fmt: skip
    return shared(history, keys)


def by_model(rows: Iterable[tuple], owners: Mapping[tuple, Sequence[np.ndarray]], tests: Mapping) -> list[list[Row]]:
    """Rows (seed, level, kind) in groups that are one model: centralised ones of a seed that see the same points, and
    are tested on the same ones. owners, tests: of each (level, seed)."""
    tested = dict(zip(tests, same_tensors(tests.values()), strict=True))
    models = defaultdict(list)
    for seed, level, kind in rows:
        sees = level
        if kind == "centralised":
            sees = sha256(np.unique(points_of(owners[level, seed]))).digest(), tested[level, seed]
        models[kind, seed, sees].append(Row(kind, level, seed))
    return [*models.values()]


def grid(experiment: Experiment, settings: Mapping, level, seeds: Sequence[int], **changes) -> History:
    """Federations at one level with all combinations of settings, one stack; see ``sweep``, and ``best``."""
    return sweep(experiment, [level], seeds, **{"kinds": ["federated"]} | changes, settings=settings)


def best(history: History, metric: str | None = None, largest: bool = False) -> dict[str, Hashable]:
    """The settings of a ``grid`` with the smallest mean of a metric after the last round, name -> label.

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
    error = of_each(history, metric).isel(round=-1, drop=True)
    error = error.mean([axis for axis in error.dims if axis not in names], skipna=False)
    if error.isnull().all():
        raise ValueError(f"{metric!r} is NaN for all settings; lower lr")
    least = (-error if largest else error).argmin(names)
    return {name: error[name][least[name]].item() for name in names}


def of_each(history: History, metric: str = "error") -> xarray.DataArray:
    """A metric of a sweep with axes round, kind, level, seed, and its settings; no client.

    It is the mean over the clients where they differ: isolated ones, with personal parameters, mixed in a ring.
    """
    kinds, each = history.labels("kind"), []
    for kind in kinds:
        values = history.of(metric, kind=kind)
        first, same = values.isel(client=0, drop=True), (values == values.isel(client=0)) | values.isnull()
        each.append(first.where(same.all("client"), values.mean("client")).reindex(level=history.labels("level")))
    order = ["round", "kind", "level", "seed", ...]
    return xarray.concat(each, xarray.DataArray(kinds, dims="kind", name="kind")).transpose(*order)


def models_of(history: History, kind: str, level, seed: int) -> Tensor:
    """Parameters of a row of a sweep: [K, P] of isolated clients, and of others that differ; else [1, P] of the model
    that all hold."""
    models = history.models(kind, level, seed)
    return models[:1] if kind != "isolated" and (models == models[:1]).all() else models


TRAIN_ARGS = ({*signature(train).parameters} | {*signature(prepared).parameters}) - {"work_args"}


def split(changes: Mapping) -> tuple[dict, dict]:
    """(fields of an Experiment, arguments of ``train``); ValueError where a name is neither."""
    for name in changes:
        if name not in {*Experiment._fields, *TRAIN_ARGS}:
            near = hint(name, [*Experiment._fields, *TRAIN_ARGS])
            raise ValueError(f"{name!r} is neither a field of Experiment nor an argument of train{near}")
    own = {name: value for name, value in changes.items() if name in Experiment._fields}
    return own, {name: value for name, value in changes.items() if name not in own}


def hint(name: str, names: Collection[str]) -> str:
    """What may have been meant, as the end of a message; "lr" for "learning_rate", too."""
    initials = "".join(word[0] for word in str(name).split("_") if word)
    folded = {other.casefold(): other for other in names}
    near = [initials] if initials in names else get_close_matches(str(name).casefold(), folded, 1)
    return f"; did you mean {folded.get(near[0], near[0])!r}?" if near else ""


def check_arguments(experiment: Experiment, levels, seeds, kinds, settings, evaluations) -> None:
    """ValueError where arguments of a sweep cannot mean anything; what was given, and what was expected."""
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
    for name, value in (("rounds", experiment.rounds), ("evaluations", evaluations)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ValueError(f"{name} = {value!r}; expected a whole number >= 1")
    if not isinstance(experiment.local, Local):
        raise ValueError(f"local = {experiment.local!r}; expected the work of a round, such as Local(5)")
    for name, values in settings.items():
        if name not in VARIED:
            is_field = name in {*Experiment._fields, *TRAIN_ARGS}
            which = f"which all models of a stack share; call sweep once for each {name}" if is_field else "no setting"
            raise ValueError(
                f"settings has {name!r}, {which}; what may vary is {', '.join(VARIED)}{hint(name, VARIED)}"
            )
        if isinstance(values, (str, bytes)) or not hasattr(values, "__len__") or not len(values):
            raise ValueError(f"settings has {name} = {values!r}; expected a list of values, or {{label: value}}")


def data_of(experiment: Experiment, level, seed: int = 0) -> Data:
    """The data of a level and a seed, where every owner's index is one of its own pool.

    Raises:
        ValueError: names level, seed, and what is no tensor, an index that its pool does not have, or a point with too
            many owners or without one.
    """
    where = f"{experiment.name}, {experiment.level} {level}, seed {seed}"
    try:
        data = experiment.data(level, seed)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    if not isinstance(data, Data):
        raise ValueError(f"{where}: data gave a {type(data).__name__}; expected Data(pool, owners, test)")
    check_tensors(f"{where}: ", pool=data.pool, test=data.test, validation=data.validation)
    lengths = {name: len(value) for name, value in data.pool.items()}
    if len({*lengths.values()}) != 1:
        raise ValueError(f"{where}: the pool's tensors have first lengths {lengths}; expected one number of points")
    N = next(iter(lengths.values()))
    check_shards(data.owners, N, where)
    if data.partition:
        check_partition(data.owners, N, where)
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
        errors = evaluate(predict, test)
        if validation:
            errors = errors | {f"validation {k}": v for k, v in evaluate(predict, test | validation).items()}
        return errors

    return both
