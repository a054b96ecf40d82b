"""A training is a file: what took time is stored once, by name and settings; figures, tables and verdicts read it.

``figures/<notebook>/paper/trainings/<name>.nc`` holds stacks, a group each: rows (kind, level, seed) of an experiment,
their settings, and what ran. Rows of the settings and the ``numerics`` that are asked for are read, the others trained.
"""

import inspect
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from hashlib import sha256
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import torch
import xarray

from ..federated.batches import Local
from ..federated.checkpoints import Checkpoint, OutOfTime, going_on, spent
from ..federated.experiment import KINDS, NONE, Experiment, Row, both_sets, data_of, split, sweep, with_validation
from ..federated.federation import same_tensors
from ..federated.history import History, gathered, shared
from ..federated.optimizers import adam
from ..federated.rounds import on
from ..federated.stack import predict
from ..files import clear_partials
from . import files, profiles
from .as_json import completed, difference, plain, renamed, restored
from .environment import commit, environment
from .files import Stored, alone, loaded, reading, write, write_groups

RESOLVED = (
    "rounds", "local", "lr", "decay", "fraction", "reset_moments", "noise", "personal", "optimizer", "server", "init",
    "common_init",
)  # fmt: skip


class Call(NamedTuple):
    """What is trained, in words that can be written down: a sweep of the experiment that a function makes.

    make: a function of a module -> Experiment; settings: its arguments. levels, seeds, kinds, changes: of ``sweep``.
    apart: every row is a stack of its own, for one takes more than twenty minutes.
    models: kind -> seeds whose models are kept, for figures and sliders ask for no others; all by default.
    """

    make: Callable[..., Experiment]
    settings: Mapping
    levels: Sequence
    seeds: Sequence[int]
    kinds: Sequence[str] = tuple(KINDS)
    changes: Mapping = NONE
    apart: bool = False
    models: Mapping[str, Sequence[int]] | None = None

    def experiment(self) -> Experiment:
        """With its changes; ValueError where one has a name that ``sweep`` does not know."""
        fields, _ = split({name: value for name, value in self.changes.items() if name != "evaluations"})
        return self.make(**self.settings)._replace(**fields)

    def rows(self) -> list[Row]:
        """All that are wanted; a centralised model stands at each level, even where levels share it.

        Raises:
            ValueError: a level or a seed could not be read again.
        """
        levels, seeds = map(written, (self.levels, self.seeds))
        return [Row(kind, level, seed) for seed, level, kind in product(seeds, levels, self.kinds)]


class Tolerance(NamedTuple):
    """How nearly a computed variable comes out the same on another CPU, as its conditioning allows.

    |again - stored| <= absolute + relative |stored|. first: axis -> how many of it are compared, from its beginning:
    what is chaotic goes another way later on.
    """

    relative: float = 1e-4
    absolute: float = 0.0
    first: Mapping[str, int] = {}


TIMED = Tolerance(absolute=np.inf)
"""Of what is a time, which no machine repeats."""


class Computed(NamedTuple):
    """What is no training but took time, in words that can be written down: a barycenter, paths, a matrix of kernels.

    make: a function of a module, (**settings) -> labelled arrays. numerics: raised by hand when the same settings give
    other numbers. tolerances: of those variables that are not the same to 1e-4 on another CPU. One fills a file of its
    own.
    """

    make: Callable[..., xarray.Dataset]
    settings: Mapping
    numerics: int = 1
    tolerances: Mapping[str, Tolerance] = {}


def written(labels: Sequence) -> list:
    """Levels or seeds as a file has them: numbers or texts, numpy's as plain ones; ValueError for any other."""
    labels = [label.item() if isinstance(label, np.generic) else label for label in labels]
    if wrong := [label for label in labels if not isinstance(label, (int, float, str)) or label != label]:
        raise ValueError(f"a level or seed {wrong[0]!r} cannot be stored; expected a number or a text, such as '2 x 3'")
    return labels


def settings_of(call: Call | Computed) -> dict:
    """What a row depends on but for kind, level and seed, as JSON: the experiment's own values stand in it, too, so
    that a default which changes in the code is seen."""
    bound = inspect.signature(call.make).bind(**call.settings)
    bound.apply_defaults()
    arguments = {name: plain(value) for name, value in bound.arguments.items()}
    if isinstance(call, Computed):
        return {"function": plain(call.make), "arguments": arguments, "numerics": call.numerics}
    experiment = call.experiment()
    experiment = experiment._replace(optimizer=experiment.optimizer or adam())
    shapes = {name: [*values.shape] for name, values in experiment.net.named_parameters()}
    return {
        "experiment": plain(call.make),
        "arguments": arguments,
        "changes": plain(call.changes),
        "resolved": {name: plain(getattr(experiment, name)) for name in RESOLVED} | {"parameters": shapes},
        "numerics": experiment.numerics,
    }


def call_of(settings: Mapping, levels: Sequence = (), seeds: Sequence[int] = ()) -> Call:
    """The call that ``settings_of`` wrote down."""

    arguments, changes = restored(settings["arguments"]), restored(settings["changes"])
    if "local" in changes:
        changes["local"] = Local(*changes["local"])
    return Call(restored(settings["experiment"]), arguments, levels, seeds, changes=changes)


def differs(stack: Stored, settings: Mapping) -> str:
    """The first setting in which a stored stack is another one, with both values; empty where it is the same."""
    P = 0 if "converted" in stack.about else stack.history.distinct.shape[1]  # what was converted has no models
    return difference(settings, completed(stack.settings, settings, P))


# files


def read(path: Path) -> list[Stored]:
    """The stacks of a file; none where there is no file.

    Raises:
        Unreadable: the file is damaged, none of ours, or in use.
    """
    return list(stacks_of(path, path.stat().st_mtime_ns)) if path.exists() else []


@lru_cache(16)
def stacks_of(path: Path, changed: int) -> tuple[Stored, ...]:
    """The stacks of a file that was last changed then: a notebook asks for each name in it, and later again."""
    return tuple(stack._replace(history=at_levels(stack)) for stack in files.read(path))


def at_levels(stack: Stored) -> History:
    """Its history, where a centralised model that all levels share stands at each of them.

    In files of before November 2026 it has no level, and its errors are on the first level's test set: it stands at
    those levels that have the same.
    """
    if all(level is not None for _, level, _ in stack.history.rows):
        return stack.history
    levels, keys = stack.about["levels"], {}
    for key in stack.history.rows:
        kind, level, seed = key
        keys[key] = [key]
        if level is None:
            try:
                experiment = call_of(stack.settings).experiment()
                first, *others = same_tensors([both_sets(data_of(experiment, n, seed)) for n in levels])
            except (ImportError, AttributeError, TypeError, ValueError):
                continue  # the experiment, or a level, is no longer what it was: nobody asks for its rows
            same = [levels[0], *(n for n, label in zip(levels[1:], others, strict=True) if label == first)]
            keys[key] = [(kind, n, seed) for n in same]
    return shared(stack.history, keys)


def read_computed(call: Computed, path: Path) -> tuple[xarray.Dataset | None, str]:
    """(what a file has of it, or None; why not). Unreadable: as of ``read``."""
    if not path.exists():
        return None, "never computed"
    with reading(path) as tree:
        stored, settings = loaded(tree), renamed(json.loads(tree.attrs["settings"]))
    other = difference(settings_of(call), settings)
    return (None, f"the stored one has {other}") if other else (stored, "")


def compute_missing(call: Computed, path: Path, anew: bool = False) -> None:
    """Compute what a file has not (or all of it), and keep it."""
    if not anew and read_computed(call, path)[0] is not None:
        return
    settings = settings_of(call)
    with alone(path):
        if not anew and read_computed(call, path)[0] is not None:
            return
        began, cpu = time.monotonic(), time.process_time()
        dataset = call.make(**call.settings)
        took = {"seconds": time.monotonic() - began, "cpu_seconds": time.process_time() - cpu}
        about = environment() | took | {"commit": commit()}
        attrs = {"settings": json.dumps(settings), "about": json.dumps(about)}
        write_groups(path, {"/": dataset.assign_attrs(attrs)})


def matching(stacks: Iterable[Stored], settings: Mapping) -> dict[Row, History]:
    """Row -> the training that has it, of those with exactly these settings."""
    return {Row(*key): stack.history for stack in stacks if not differs(stack, settings) for key in stack.history.rows}


def read_call(call: Call, path: Path) -> tuple[History | None, list[Row]]:
    """What a file has of a call, as one history (None: nothing), and the rows that it has not."""
    there = matching(read(path), settings_of(call))
    wanted = [row for row in call.rows() if row in there]
    history = gathered([*{id(h): h for h in (there[row] for row in wanted)}.values()], wanted) if wanted else None
    return history, [row for row in call.rows() if row not in there]


def calls_of(room: ModuleType) -> dict[str, Call | Computed]:
    """What the paper profile of a room's notebook trains."""
    notebook = profiles.NOTEBOOKS / f"{room.NOTEBOOK}.ipynb"
    parameters = profiles.defaults_of(notebook) | profiles.profile_parameters(notebook, "paper")
    return room.trainings(parameters)


def levels_of(history: History) -> list:
    """The levels that have every kind and seed of a history, in order."""
    kinds, seeds = history.labels("kind"), history.labels("seed")
    levels = sorted(history.labels("level"))
    return [n for n in levels if all((kind, n, seed) in history.rows for kind in kinds for seed in seeds)]


# training


def train_missing(call: Call, path: Path, until: float = float("inf"), anew: bool = False, **train_args) -> None:
    """Train the rows of a call that a file has not (or all of them), as one stack (or each apart), and add them.

    until: a time (``time.monotonic``) after which no further round is begun.

    Raises:
        OutOfTime: it came; a checkpoint beside the file keeps what was done.
        ValueError: what could not be stored, a file that cannot be read, a folder that cannot be written.
    """
    settings, rows = settings_of(call), call.rows()
    if not anew and not read_call(call, path)[1]:
        return
    with alone(path):
        rows = rows if anew else read_call(call, path)[1]
        there = {} if anew else matching(read(path), settings)
        for stack in [[row] for row in rows] if call.apart else [rows] if rows else []:
            if stack[0] in there:
                continue  # a model that all levels share came with another row
            new, checkpoint = trained(call, stack, path, until, **train_args)
            there |= matching([new], settings)
            old = read(path)
            if anew:
                old = [kept for kept in old if differs(kept, settings) or not {*kept.history.rows} <= {*there}]
            write(path, [*old, new])
            checkpoint.path.unlink(missing_ok=True)


def trained(call: Call, rows: Sequence[Row], path: Path, until: float, **train_args) -> tuple[Stored, Checkpoint]:
    """Some rows of a call, trained as one stack; and the checkpoint that has all of it, until it is written."""
    settings = settings_of(call)
    key = sha256(json.dumps([settings, rows]).encode()).hexdigest()[:16]
    checkpoint = going_on(Checkpoint(path.with_name(f".{path.stem}-{key}.pt"), key, until))
    clear_partials(checkpoint.path)
    try:
        history = sweep(
            call.make(**call.settings), written(call.levels), written(call.seeds), call.kinds, rows=rows,
            checkpoint=checkpoint, **call.changes, **train_args,
        )  # fmt: skip
    except OutOfTime as error:
        raise OutOfTime(f"{path.stem}: {error}") from None
    seconds, cpu_seconds = spent(checkpoint).tolist()
    about = environment() | {"seconds": seconds, "cpu_seconds": cpu_seconds, "backend": history.backend}
    about |= {"commit": commit(), "levels": written(call.levels), "seeds": written(call.seeds)}
    return Stored(history if call.models is None else keeping(history, call.models), settings, about), checkpoint


def keeping(history: History, models: Mapping[str, Sequence[int]]) -> History:
    """The history with NaN for all models but those of some seeds, kind -> seeds: they take no room in a file."""
    source, D = history.source.clone(), len(history.distinct)
    for key, rows in history.rows.items():
        if key[2] not in models.get(key[0], ()):
            source[rows] = D
    nothing = torch.full_like(history.distinct[:1], torch.nan)
    used, source = torch.unique(source, return_inverse=True)
    return replace(history, distinct=torch.cat([history.distinct, nothing])[used], source=source)


def made(calls: Mapping[str, Call | Computed], **train_args) -> dict[str, History | xarray.Dataset]:
    """Name -> history of each call, or what was computed: nothing is read, and nothing is kept."""
    return {
        name: call.make(**call.settings)
        if isinstance(call, Computed)
        else sweep(call.make(**call.settings), call.levels, call.seeds, call.kinds, **call.changes, **train_args)
        for name, call in calls.items()
    }


def histories_of(
    calls: Mapping[str, Call | Computed], folder: Path, who: str, **train_args
) -> dict[str, History | xarray.Dataset]:
    """As ``made``, from files, one for "gap/FedAvg" and "gap/Mime". What is not there is left out, and said.

    who trains: "never", "missing" what is not there, "always" all of it; what is trained is kept.
    """
    if who not in WHO:
        raise ValueError(f"FEDLIB_TRAIN = {who!r}: expected one of {', '.join(WHO)}")
    histories, absent, anew = {}, [], who == "always"
    for name, call in calls.items():
        path = file_of(folder, name)
        if isinstance(call, Computed):
            if who != "never":
                compute_missing(call, path, anew)
            history, why = read_computed(call, path)
        else:
            if who != "never":
                train_missing(call, path, anew=anew, **train_args)
            history, rows = read_call(call, path)
            why = f"{len(rows)} of {len(call.rows())} rows, {why_not(call, path)}" if rows else ""
        if history is not None:
            histories[name] = history
        if why:
            absent.append(f"{name}: {why}")
    if absent:
        print("Not there yet, and drawn as absent:", "; ".join(absent))
    return histories


def file_of(folder: Path, name: str) -> Path:
    """Where a training is kept."""
    return folder / f"{name.split('/')[0]}.nc"


def why_not(call: Call, path: Path) -> str:
    """Why rows of a file do not count: the first setting of the nearest stack that differs."""
    settings = settings_of(call)
    differences = [differs(stack, settings) for stack in read(path)]
    if all(differences) and differences:
        return f"the stored ones have {min(differences, key=len)}"
    return "never trained"


def replay(stack: Stored, rows: Sequence[Row] | None = None, rounds: int = 3) -> float:
    """Train the first rounds of a stored stack again: the largest relative difference of any loss.

    rows: some of its rows; all by default.
    """
    call = call_of(stack.settings, stack.about["levels"], stack.about["seeds"])
    changes = {name: value for name, value in call.changes.items() if name != "evaluations"} | {"rounds": rounds}
    rows = rows or [Row(*key) for key in stack.history.rows]
    again = sweep(call.make(**call.settings), call.levels, call.seeds, rows=rows, **changes)
    old = np.concatenate([stack.history.losses[:rounds, stack.history.rows[key]] for key in again.rows], 1)
    return float(np.nanmax(np.abs(again.losses - old) / np.abs(old)))


def deviations(
    stored: xarray.Dataset, again: xarray.Dataset, tolerances: Mapping[str, Tolerance] = {}
) -> dict[str, float]:
    """What was stored beside what was computed again: the largest deviation of each variable, in its tolerances.

    Raises:
        ValueError: other coordinates or attributes, such as what was chosen.
    """
    attrs = {name: value for name, value in stored.attrs.items() if name not in ("settings", "about")}
    if not xarray.Dataset(attrs=attrs).identical(xarray.Dataset(attrs=again.attrs)):
        raise ValueError(f"attributes were {attrs} and are {again.attrs}")
    if not stored.coords.equals(again.coords):
        raise ValueError(f"coordinates were {dict(stored.coords)} and are {dict(again.coords)}")
    shares = {}
    for name, values in stored.data_vars.items():
        tolerance = tolerances.get(name, Tolerance())
        before, now = (v.head(tolerance.first).values for v in (values, again[name]))
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.abs(now - before) / (tolerance.absolute + tolerance.relative * np.abs(before))
        same = (now == before) | (np.isnan(now) & np.isnan(before))
        shares[name] = float(np.where(same, 0, np.where(np.isfinite(now), share, np.inf)).max(initial=0))
    return shares


def cpu_seconds(path: Path) -> list[float]:
    """What each stack of a file took, or what was computed."""
    return [about["cpu_seconds"] for about in abouts(path)]


def abouts(path: Path) -> list[dict]:
    """What ran each stack of a file, or computed it."""
    with reading(path) as tree:
        return [json.loads(group.attrs["about"]) for group in [*tree.children.values()] or [tree]]


WHO = ("never", "missing", "always")


def folder_of(notebook: str) -> Path:
    """Where a notebook's trainings are."""
    return profiles.folder_of(notebook, "paper") / "trainings"


def stored_sweep(
    path: Path | str, make: Callable[[], Experiment], levels: Sequence, seeds: Sequence[int],
    kinds: Sequence[str] = tuple(KINDS), **changes,
) -> History:  # fmt: skip
    """``sweep`` of an experiment of one's own, kept in a file: the rows that it has are read, the others trained.

    Args:
        path: of the file. make: a function of a module -> Experiment. levels, seeds, kinds: of ``sweep``. changes:
            other values of the experiment's fields, and arguments of ``train``.

    Raises:
        ValueError: a first round, which is played again, or the errors of the stored models, which are measured again,
            are not as stored: the data, the loss, the test cases or ``evaluate`` are others now.
    """
    path, call = Path(path), Call(make, {}, levels, seeds, kinds, changes)
    train_missing(call, path)
    history, _ = read_call(call, path)
    hint = "Take another file, or remove this one to train anew"
    again = sweep(make(), levels, seeds, kinds, **changes | {"rounds": 1, "evaluations": 1})
    for key in again.rows.keys() & history.rows.keys():  # a model that all levels share may stand under another key
        new, stored = again.losses[0, again.rows[key]], history.losses[0, history.rows[key]]
        if not np.allclose(new, stored, rtol=1e-4, equal_nan=True):
            raise ValueError(
                f"{path}: {key} begins with loss {np.mean(new):.4g}, but {np.mean(stored):.4g} is stored; are the data "
                f"or the loss others? {hint}"
            )
    experiment = call.experiment()
    for key, rows in history.rows.items():
        new = errors_again(experiment, history, key)
        stored = {name: values[-1, rows.start] for name, values in history.metrics.items()}
        if new.keys() != stored.keys() or not all(
            np.allclose(new[n], stored[n], rtol=1e-3, equal_nan=True) for n in new
        ):
            raise ValueError(
                f"{path}: the stored model of {key} has now the errors {new}, but {stored} are stored; are the test "
                f"cases, or evaluate, others? {hint}"
            )
    return history


def errors_again(experiment: Experiment, history: History, key: Row) -> dict[str, np.ndarray]:
    """What ``evaluate`` says now of the first model of a row."""
    if experiment.evaluate is None:
        return {}
    model, (_, level, seed) = history.models(*key)[0], key
    tensors = both_sets(data_of(experiment, level, seed)) | {**experiment.constants}
    with torch.no_grad():
        errors = with_validation(experiment.evaluate)(
            partial(predict, experiment.net, model), on(tensors, "cpu", model.dtype)
        )
    return {name: value.numpy() for name, value in errors.items()}
