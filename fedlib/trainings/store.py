"""A training is a file: what took time is stored once, by name and settings; figures, tables and verdicts read it.

``figures/<notebook>/trainings/<file>.nc``. A study, a module, says what is trained: its ``NOTEBOOK``; ``PAPER``, the
paper's settings; ``trainings(settings)``, name -> ``Call`` or ``Computed``. A name is a text, or (file, label, ...).
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
from ..federated.sweep import Key, both_sets, combinations, sweep, with_validation
from ..files import from_git
from .calls import Call, Reading, Task
from .settings import FIGURES

Name = str | tuple


def folder_of(notebook: str) -> Path:
    """Where a notebook's trainings are."""
    return FIGURES / notebook / "trainings"


def file_of(folder: Path, name: Name) -> Path:
    """Where a training is kept."""
    return folder / f"{name if isinstance(name, str) else name[0]}.nc"


def in_words(name: Name) -> str:
    """A name as one says it."""
    return name if isinstance(name, str) else ", ".join(map(str, name))


SHORT = "in_short"
"""Name of the training that is only there to be begun again, see ``calls_of``."""


def calls_of(study: ModuleType) -> dict[Name, Task]:
    """What a study trains at the paper's settings.

    A study that says ``IN_SHORT`` has rounds of hundreds of steps, of which nobody waits for three while a notebook
    runs: a federation of its training ``AGAIN`` is there in short, too, three rounds of thirty steps.
    """
    calls = study.trainings(study.PAPER)
    return calls | {SHORT: in_short(calls[study.AGAIN])} if getattr(study, "IN_SHORT", False) else calls


def in_short(call: Call) -> Call:
    """One federation, for three rounds of thirty steps."""
    local = call.experiment().local._replace(updates=30)
    changes = {**call.changes, **next(iter(combinations(call.over).values()))}
    changes |= {"rounds": 3, "local": local, "evaluations": 1}
    first = {"levels": call.levels[:1], "seeds": call.seeds[:1], "kinds": ["federated"], "over": {}}
    return call._replace(**first, changes=changes, models={})


def stored(study: ModuleType, name: Name, earlier: bool = False) -> History | xarray.Dataset:
    """A training of a study at the paper's settings, or what it computed, for readers and pages.

    ``stored(study, "poisson")``. earlier: see ``last_reading``.

    Raises:
        ValueError: there is no such training, or its file has none of its rows.
    """
    folder = folder_of(study.NOTEBOOK)
    return result_of(name, last_reading(calls_of(study), name, [folder], earlier)[0], folder)


def result_of(name: Name, reading: Reading, folder: Path) -> History | xarray.Dataset:
    """What was read. ValueError: nothing, and what helps."""
    if reading.result is None:
        path = file_of(folder, name)
        fix = f"python -m fedlib train {folder.parent.name}"
        if not path.exists():  # removed by hand: it took core-hours, and git has it
            fix = f"if it was deleted, {from_git(path)} brings it back; else {fix}"
        raise ValueError(f"{path} has nothing of {in_words(name)}: {reading.why}; {fix}")
    return reading.result


def last_reading(
    calls: Mapping[Name, Task], name: Name, folders: Sequence[Path], earlier: bool = False
) -> tuple[Reading, bool]:  # fmt: skip
    """What files have of a training, and whether some of it is of an earlier ``numerics``; earlier: such rows count,
    too, until today's are there."""
    if name not in calls:
        raise ValueError(f"there is no training {name!r}; expected one of {', '.join(map(repr, calls))}")
    paths = [file_of(folder, name) for folder in folders]
    reading = calls[name].read(*paths)
    before = calls[name].read(*paths, earlier=True) if earlier and reading.absent else reading
    return before, len(before.absent) < len(reading.absent)


def made(calls: Mapping[Name, Task], **train_args) -> dict[Name, History | xarray.Dataset]:
    """Name -> history of each call, or what was computed: nothing is read, and nothing is kept."""
    return {name: call.run(**train_args) for name, call in calls.items()}


def histories_of(
    calls: Mapping[Name, Task], *folders: Path, earlier: bool = False
) -> dict[Name, History | xarray.Dataset]:  # fmt: skip
    """As ``made``, from files, one for all names that begin alike. What is not there is left out, and said."""
    readings = {name: last_reading(calls, name, folders, earlier)[0] for name in calls}
    say_absent(readings)
    return {name: reading.result for name, reading in readings.items() if reading.result is not None}


def say_absent(readings: Mapping[Name, Reading]) -> None:
    """Print what is not trained yet."""
    absent = [
        f"{in_words(name)}: " + f"{len(reading.absent)} of {reading.rows} rows, " * (reading.rows > 1) + reading.why
        for name, reading in readings.items()
        if reading.absent
    ]
    if absent:
        print("Not there yet, and drawn as absent:", "; ".join(absent))


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
