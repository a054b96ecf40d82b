"""A training is a file: what took time is stored once, by name and settings; figures, tables and verdicts read it.

``figures/<notebook>/paper/trainings/<file>.nc``. A study, a module, says what is trained: its ``NOTEBOOK``, and
``trainings(parameters)``, name -> ``Call`` or ``Computed``. A name is a text, or (file, label, ...).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import torch
import xarray

from ..federated.experiment import KINDS, Experiment, data_of
from ..federated.history import History
from ..federated.rounds import on
from ..federated.stack import predict
from ..federated.sweep import Key, both_sets, sweep, with_validation
from ..files import from_git
from . import profiles
from .calls import Call, Reading, Task

Name = str | tuple
TRAINS = ("never", "missing", "always")


def folder_of(notebook: str) -> Path:
    """Where a notebook's trainings are."""
    return profiles.folder_of(notebook, "paper") / "trainings"


def file_of(folder: Path, name: Name) -> Path:
    """Where a training is kept."""
    return folder / f"{name if isinstance(name, str) else name[0]}.nc"


def in_words(name: Name) -> str:
    """A name as one says it."""
    return name if isinstance(name, str) else ", ".join(map(str, name))


def parameters_of(notebook: str) -> dict:
    """Those of a notebook's paper profile."""
    path = profiles.NOTEBOOKS / f"{notebook}.ipynb"
    return profiles.defaults_of(path) | profiles.profile_parameters(path, "paper")


def calls_of(study: ModuleType) -> dict[Name, Task]:
    """What the paper profile of a study's notebook trains."""
    return study.trainings(parameters_of(study.NOTEBOOK))


def stored(study: ModuleType, name: Name, earlier: bool = False) -> History | xarray.Dataset:
    """A training of a study's paper profile, or what it computed, for readers and pages.

    ``stored(study, "poisson")``. earlier: see ``last_stored``.

    Raises:
        ValueError: there is no such training, or its file has none of its rows.
    """
    return last_stored(study.NOTEBOOK, calls_of(study), name, earlier)[0]


def last_stored(
    notebook: str, calls: Mapping[Name, Task], name: Name, earlier: bool = False
) -> tuple[History | xarray.Dataset, bool]:  # fmt: skip
    """As ``stored``, and whether some of it is of an earlier ``numerics``; earlier: such rows count, too, until today's
    are there."""
    reading, outdated = last_reading(notebook, calls, name, earlier)
    if reading.result is None:
        path, fix = file_of(folder_of(notebook), name), f"python -m fedlib train {notebook}"
        if not path.exists():
            fix = f"if it was deleted, {from_git(path)} brings it back; else {fix}"
        raise ValueError(f"{path} has nothing of {in_words(name)}: {reading.why}; {fix}")
    return reading.result, outdated


def last_reading(
    notebook: str, calls: Mapping[Name, Task], name: Name, earlier: bool = False
) -> tuple[Reading, bool]:  # fmt: skip
    """As ``last_stored``, where there may be nothing."""
    if name not in calls:
        raise ValueError(f"{notebook} has no training {name!r}; expected one of {', '.join(map(repr, calls))}")
    path = file_of(folder_of(notebook), name)
    reading = calls[name].read(path)
    before = calls[name].read(path, earlier=True) if earlier and reading.absent else reading
    return before, len(before.absent) < len(reading.absent)


def made(calls: Mapping[Name, Task], **train_args) -> dict[Name, History | xarray.Dataset]:
    """Name -> history of each call, or what was computed: nothing is read, and nothing is kept."""
    return {name: call.run(**train_args) for name, call in calls.items()}


def histories_of(
    calls: Mapping[Name, Task], folder: Path, trains: str, earlier: bool = False, **train_args
) -> dict[Name, History | xarray.Dataset]:
    """As ``made``, from files, one for all names that begin alike. What is not there is left out, and said.

    trains: "never", "missing" what is not there, "always" all of it; what is trained is kept. earlier: rows of an
    earlier ``numerics`` count where today's are absent.
    """
    if trains not in TRAINS:
        raise ValueError(f"FEDLIB_TRAIN = {trains!r}: expected one of {', '.join(TRAINS)}")
    histories, absent = {}, []
    for name, call in calls.items():
        path = file_of(folder, name)
        if trains != "never":
            call.fill(path, anew=trains == "always", **train_args)
        reading = call.read(path, earlier)
        if reading.result is not None:
            histories[name] = reading.result
        if reading.absent:
            rows = f"{len(reading.absent)} of {reading.rows} rows, " * (reading.rows > 1)
            absent.append(f"{in_words(name)}: {rows}{reading.why}")
    if absent:
        print("Not there yet, and drawn as absent:", "; ".join(absent))
    return histories


def stored_sweep(
    path: Path | str, make: Callable[[], Experiment], levels: Sequence, seeds: Sequence[int],
    kinds: Sequence[str] = tuple(KINDS), **changes,
) -> History:  # fmt: skip
    """``sweep`` of an experiment of one's own, kept in a file: the rows that it has are read, the others trained.

    Args:
        path: of the file. make: a function of a module -> Experiment. levels, seeds, kinds: of ``sweep``. changes:
            other values of the experiment's fields, and arguments of ``train``.

    Raises:
        ValueError: path is a folder; or a first round, which is played again, or the errors of the stored models, which
            are measured again, are not as stored: the data, the loss, the test cases or ``evaluate`` are others now.
    """
    if not callable(make):
        raise ValueError(f"make is no function, but of type {type(make).__name__}; expected make, not make()")
    if (path := Path(path)).is_dir():
        raise ValueError(f"{path} is a folder; expected a file in it, such as {path / 'training.nc'}")
    call = Call(make, {}, levels, seeds, kinds, changes=changes)
    call.fill(path)
    history = call.read(path).result
    hint = "Take another file, or remove this one to train anew"
    undrawn = make()._replace(distance=None)  # which may take seconds, and no first round needs it
    again = sweep(undrawn, levels, seeds, kinds, **changes | {"rounds": 1, "evaluations": 1})
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


def errors_again(experiment: Experiment, history: History, key: Key) -> dict[str, np.ndarray]:
    """What ``evaluate`` says now of the first model of a row."""
    if experiment.evaluate is None:
        return {}
    model, (_, level, seed, *_) = history.models(*key)[0], key
    tensors = both_sets(data_of(experiment, level, seed)) | {**experiment.constants}
    with torch.no_grad():
        errors = with_validation(experiment.evaluate)(
            partial(predict, experiment.net, model), on(tensors, "cpu", model.dtype)
        )
    return {name: value.numpy() for name, value in errors.items()}
