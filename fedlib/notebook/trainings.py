"""A training is a file: what took time is stored once, by name and settings; figures, tables and verdicts read it.

``figures/<notebook>/paper/trainings/<name>.nc`` holds stacks, a group each: rows (kind, level, seed) of an experiment,
their settings, and what ran. Rows of the settings and the ``numerics`` that are asked for are read, the others trained.
"""

import inspect
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import torch
import xarray
from filelock import FileLock

from ..federated.batches import Local
from ..federated.checkpoints import Checkpoint
from ..federated.experiment import KINDS, NONE, Experiment, Row, both_sets, data_of, sweep
from ..federated.federation import same_tensors
from ..federated.history import History, gathered, shared
from ..files import ROOT, replacing
from . import profiles
from .run import Run, environment

LOSSES = 200  # rounds whose losses are kept, and the first three, which ``replay`` makes again
PACKED = {"zlib": True, "complevel": 4, "shuffle": True}
RESOLVED = ("rounds", "local", "lr", "decay", "fraction", "reset_moments", "noise", "personal")


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
        """With its changes."""
        own = {name: value for name, value in self.changes.items() if name in Experiment._fields}
        return self.make(**self.settings)._replace(**own)

    def rows(self) -> list[Row]:
        """All that are wanted; a centralised model stands at each level, even where levels share it."""
        return [Row(kind, level, seed) for seed, level, kind in product(self.seeds, self.levels, self.kinds)]


class Computed(NamedTuple):
    """What is no training but took time, in words that can be written down: a barycenter, paths, a matrix of kernels.

    make: a function of a module, (**settings) -> labelled arrays. numerics: raised by hand when the same settings give
    other numbers. One fills a file of its own.
    """

    make: Callable[..., xarray.Dataset]
    settings: Mapping
    numerics: int = 1


class Stored(NamedTuple):
    """A stack that was trained. settings: see ``settings_of``. about: seconds, backend, hardware, versions, ..."""

    history: History
    settings: dict
    about: dict


def settings_of(call: Call | Computed) -> dict:
    """What a row depends on but for kind, level and seed, as JSON: the experiment's own values stand in it, too, so
    that a default which changes in the code is seen."""
    bound = inspect.signature(call.make).bind(**call.settings)
    bound.apply_defaults()
    arguments = {name: plain(value) for name, value in bound.arguments.items()}
    if isinstance(call, Computed):
        return {"function": plain(call.make), "arguments": arguments, "numerics": call.numerics}
    experiment = call.experiment()
    return {
        "experiment": plain(call.make),
        "arguments": arguments,
        "changes": {name: plain(value) for name, value in call.changes.items()},
        "resolved": {name: plain(getattr(experiment, name)) for name in RESOLVED},
        "numerics": experiment.numerics,
    }


def plain(value):
    """A setting as JSON: numbers, texts, lists, dicts, or the name of a function or class that a module has."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(part) for part in value]
    name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
    if "<" in name or name.startswith(".") or name.endswith("."):
        raise ValueError(f"{value!r} cannot be written down; expected a number, a text, or what a module has by name")
    return name


def call_of(settings: Mapping, levels: Sequence = (), seeds: Sequence[int] = ()) -> Call:
    """The call that ``settings_of`` wrote down."""

    def named(value):
        module, _, name = value.rpartition(".")
        return getattr(import_module(module), name)

    arguments = {
        name: named(value) if isinstance(value, str) and "." in value else value
        for name, value in settings["arguments"].items()
    }
    changes = dict(settings["changes"])
    if "local" in changes:
        changes["local"] = Local(*changes["local"])
    return Call(named(settings["experiment"]), arguments, levels, seeds, changes=changes)


def difference(one: Mapping, other: Mapping, where: str = "") -> str:
    """The first setting that differs, with both values; empty where none does."""
    for name in {**one, **other}:
        a, b = one.get(name), other.get(name)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            if inner := difference(a, b, f"{where}{name}."):
                return inner
        elif a != b:
            return f"{where}{name} = {b!r}, not {a!r}"
    return ""


# files


def read(path: Path) -> list[Stored]:
    """The stacks of a file; none where there is no file.

    Raises:
        ValueError: the file is damaged, or none of ours.
    """
    return list(stacks_of(path, path.stat().st_mtime_ns)) if path.exists() else []


@lru_cache(16)
def stacks_of(path: Path, changed: int) -> tuple[Stored, ...]:
    """The stacks of a file that was last changed then: a notebook asks for each name in it, and later again."""
    try:
        with xarray.open_datatree(path, engine="h5netcdf") as tree:
            groups = [node.to_dataset().load() for _, node in sorted(tree.children.items(), key=lambda of: int(of[0]))]
        stacks = [
            Stored(History.from_dataset(of), json.loads(of.attrs["settings"]), json.loads(of.attrs["about"]))
            for of in groups
        ]
    except Exception as error:  # h5py raises half a dozen types for a damaged file
        raise ValueError(unreadable(path, error)) from None
    return tuple(stack._replace(history=at_levels(stack)) for stack in stacks)


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


def unreadable(path: Path, error: Exception) -> str:
    """What is wrong with a file, and how to mend it."""
    return (
        f"{path} cannot be read as stored trainings ({type(error).__name__}: {error}); take it from git again "
        f"(git checkout {path.name}), or remove it and train anew"
    )


def read_computed(call: Computed, path: Path) -> tuple[xarray.Dataset | None, str]:
    """(what a file has of it, or None; why not). ValueError: the file is damaged, or none of ours."""
    if not path.exists():
        return None, "never computed"
    try:
        with xarray.open_dataset(path, engine="h5netcdf") as dataset:
            stored, settings = dataset.load(), json.loads(dataset.attrs["settings"])
    except Exception as error:  # as below
        raise ValueError(unreadable(path, error)) from None
    differs = difference(settings_of(call), settings)
    return (None, f"the stored one has {differs}") if differs else (stored, "")


def compute_missing(call: Computed, path: Path) -> None:
    """Compute what a file has not, and keep it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock")):
        if read_computed(call, path)[0] is not None:
            return
        began, cpu = time.monotonic(), time.process_time()
        dataset = call.make(**call.settings)
        spent = {"seconds": time.monotonic() - began, "cpu_seconds": time.process_time() - cpu}
        about = environment() | spent | {"commit": commit()}
        attrs = {"settings": json.dumps(settings_of(call)), "about": json.dumps(about)}
        with replacing(path) as partial:
            encoding = {name: PACKED for name, values in dataset.data_vars.items() if values.size > 64}
            dataset.assign_attrs(attrs).to_netcdf(partial, engine="h5netcdf", encoding=encoding)


def write(path: Path, stacks: Iterable[Stored]) -> None:
    """All stacks into a file, whole or not at all; losses of at most LOSSES rounds, in float32."""
    groups = {}
    for i, (history, settings, about) in enumerate(stacks):
        dataset = history.to_dataset()
        R = history.shape[0]
        kept = np.unique(np.concatenate([np.arange(min(3, R)), np.linspace(0, R - 1, min(LOSSES, R)).astype(int)]))
        dataset = dataset.isel(loss_round=kept)
        dataset = dataset.assign(losses=dataset.losses.astype("float32"))
        dataset.attrs |= {"settings": json.dumps(settings), "about": json.dumps(about)}
        groups[f"/{i}"] = dataset
    tree = xarray.DataTree.from_dict(groups)
    encoding = {group: {name: PACKED for name in of.data_vars if of[name].size > 64} for group, of in groups.items()}
    with replacing(path) as partial:
        tree.to_netcdf(partial, engine="h5netcdf", encoding=encoding)


def matching(stacks: Iterable[Stored], settings: Mapping) -> dict[Row, History]:
    """Row -> the training that has it, of those with exactly these settings."""
    return {
        Row(*key): stack.history
        for stack in stacks
        if not difference(stack.settings, settings)
        for key in stack.history.rows
    }


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


class OutOfTime(Exception):
    """The hours that a training may take are over; it goes on from its checkpoint."""


def train_missing(call: Call, path: Path, until: float = float("inf"), **train_args) -> None:
    """Train the rows of a call that a file has not, as one stack (or each apart), and add them.

    until: a time (``time.monotonic``) after which no further round is begun.

    Raises:
        OutOfTime: it came; a checkpoint beside the file keeps what was done.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock")):
        _, rows = read_call(call, path)
        for stack in [[row] for row in rows] if call.apart else [rows] if rows else []:
            if stack[0] in matching(read(path), settings_of(call)):
                continue  # a model that all levels share came with another row
            write(path, [*read(path), trained(call, stack, path, until, **train_args)])


def trained(call: Call, rows: Sequence[Row], path: Path, until: float, **train_args) -> Stored:
    """Some rows of a call, trained as one stack."""
    settings, began, cpu = settings_of(call), time.monotonic(), time.process_time()
    key = sha256(json.dumps([settings, rows]).encode()).hexdigest()[:16]
    checkpoint = Checkpoint(path.with_name(f".{path.stem}-{key}.pt"), key)

    def look(done: int) -> None:
        if time.monotonic() > until:
            raise OutOfTime(f"{path.stem}: {done} rounds are done; the same command goes on from there")

    past = json.loads(clock.read_text()) if (clock := checkpoint.path.with_suffix(".json")).exists() else [0, 0]
    try:
        history = sweep(
            call.make(**call.settings), call.levels, call.seeds, call.kinds, rows=rows, checkpoint=checkpoint,
            progress=look, **call.changes, **train_args,
        )  # fmt: skip
    finally:
        spent = [past[0] + time.monotonic() - began, past[1] + time.process_time() - cpu]
        clock.write_text(json.dumps(spent))
    about = environment() | {"seconds": spent[0], "cpu_seconds": spent[1], "backend": history.backend}
    about |= {"commit": commit(), "levels": [*call.levels], "seeds": [*call.seeds]}
    for path in (checkpoint.path, clock):
        path.unlink(missing_ok=True)
    return Stored(history if call.models is None else keeping(history, call.models), settings, about)


def keeping(history: History, models: Mapping[str, Sequence[int]]) -> History:
    """The history with NaN for all models but those of some seeds, kind -> seeds: they take no room in a file."""
    source, D = history.source.clone(), len(history.distinct)
    for key, rows in history.rows.items():
        if key[2] not in models.get(key[0], ()):
            source[rows] = D
    nothing = torch.full_like(history.distinct[:1], torch.nan)
    used, source = torch.unique(source, return_inverse=True)
    return replace(history, distinct=torch.cat([history.distinct, nothing])[used], source=source)


def commit() -> str:
    """The commit of the code that ran; empty where there is no git."""
    asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return asked.stdout.strip()


def histories_of(
    calls: Mapping[str, Call | Computed], folder: Path, who: str, **train_args
) -> dict[str, History | xarray.Dataset]:
    """Name -> history of each call, or what was computed; "gap/FedAvg" and "gap/Mime" are in one file, gap.nc.

    who trains: "always" (nothing is read or kept), "missing", or "never". What is not there is left out, and said.
    """
    histories, absent = {}, []
    for name, call in calls.items():
        if isinstance(call, Computed):
            if who == "always":
                histories[name] = call.make(**call.settings)
                continue
            if who == "missing":
                compute_missing(call, file_of(folder, name))
            dataset, why = read_computed(call, file_of(folder, name))
            if dataset is None:
                absent.append(f"{name}: {why}")
            else:
                histories[name] = dataset
            continue
        if who == "always":
            experiment = call.make(**call.settings)
            histories[name] = sweep(experiment, call.levels, call.seeds, call.kinds, **call.changes, **train_args)
            continue
        path = file_of(folder, name)
        if who == "missing":
            train_missing(call, path, **train_args)
        history, rows = read_call(call, path)
        if history:
            histories[name] = history
        if rows:
            absent.append(f"{name}: {len(rows)} of {len(call.rows())} rows, {why_not(call, path)}")
    if absent:
        print("Not there yet, and drawn as absent:", "; ".join(absent))
    return histories


def file_of(folder: Path, name: str) -> Path:
    """Where a training is kept."""
    return folder / f"{name.split('/')[0]}.nc"


def why_not(call: Call, path: Path) -> str:
    """Why rows of a file do not count: the first setting of the nearest stack that differs."""
    differences = [difference(settings_of(call), stack.settings) for stack in read(path)]
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


def cpu_seconds(path: Path) -> list[float]:
    """What each stack of a file took, or what was computed."""
    with xarray.open_datatree(path, engine="h5netcdf") as tree:
        stacks = [*tree.children.values()] or [tree]
        return [json.loads(of.attrs["about"])["cpu_seconds"] for of in stacks]


def of(run: Run, calls: Mapping[str, Call | Computed], **train_args) -> dict[str, History | xarray.Dataset]:
    """What a notebook's run trains, or reads: quick and custom runs train, the paper profile reads.

    ``python -m fedlib train`` and a batch with FEDLIB_TRAIN=missing train what is not there.
    """
    who = "always" if run.custom or run.profile != "paper" else os.environ.get("FEDLIB_TRAIN", "never")
    histories = histories_of(calls, folder_of(run.notebook), who, **train_args)
    if who != "always":
        files = {file_of(folder_of(run.notebook), name) for name in histories}
        run.core_s = sum(seconds for path in files for seconds in cpu_seconds(path))
    return histories


def folder_of(notebook: str) -> Path:
    """Where a notebook's trainings are."""
    return profiles.folder_of(notebook, "paper") / "trainings"
