"""What takes time, in words that can be written down: a ``Call`` trains, a ``Computed`` computes; files keep both.

A file holds stacks, a group each: rows (kind, level, seed, *labels) of an experiment, their settings, and what ran.
Rows of the settings and the ``numerics`` that are asked for are read, the others trained, together, and added.
"""

import inspect
import json
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray

from ..federated.checkpoints import Checkpoint, OutOfTime, going_on, spent
from ..federated.experiment import KINDS, NONE, Experiment
from ..federated.history import History, gathered
from ..federated.optimizers import adam
from ..federated.sweep import Key, check_labels, combinations, names_of, plain_label, split, stacks, sweep
from ..files import clear_partials
from . import files
from .as_json import completed, difference, plain, renamed
from .environment import commit, environment
from .files import Stored, alone, loaded, reading, write_groups

RESOLVED = (
    "rounds", "local", "lr", "decay", "fraction", "reset_moments", "noise", "personal", "optimizer", "mixing", "server",
    "init", "common_init",
)  # fmt: skip


class Reading(NamedTuple):
    """What a file has of a task. result: a history, or a dataset; None: nothing. absent: the rows that are not there,
    of how many; why: the first setting in which the stored ones are others."""

    result: Any
    absent: Sequence[Key] = ()
    rows: int = 1
    why: str = ""


NEAR = 1e-4
"""How nearly each loss comes out the same, relatively, in float32."""


class Call(NamedTuple):
    """What is trained: a sweep of the experiment that a function makes.

    make: a function of a module -> Experiment; arguments: its own. levels, seeds, kinds, over, changes: of ``sweep``.
    apart: every row is a stack of its own, for one takes more than twenty minutes.
    models: kind -> seeds whose models are kept, for figures and sliders ask for no others; all by default.
    near: how nearly losses come out the same on another CPU, relatively; as its conditioning allows, see ``Tolerance``.
    """

    make: Callable[..., Experiment]
    arguments: Mapping
    levels: Sequence
    seeds: Sequence[int]
    kinds: Sequence[str] = tuple(KINDS)
    over: Mapping = NONE
    changes: Mapping = NONE
    apart: bool = False
    models: Mapping[str, Sequence[int]] | None = None
    near: float = NEAR

    def experiment(self) -> Experiment:
        """With its changes; ValueError where one has a name that ``sweep`` does not know."""
        fields, _ = split({name: value for name, value in self.changes.items() if name != "evaluations"})
        return self.make(**self.arguments)._replace(**fields)

    def keys(self) -> list[Key]:
        """All rows that are wanted; a centralised model stands at each level, even where levels share it.

        Raises:
            ValueError: a level, a seed or a kind that cannot mean anything, or stands twice.
        """
        check_labels(self.levels, self.seeds, self.kinds)
        rows = product(combinations(self.over), map(plain_label, self.seeds), map(plain_label, self.levels), self.kinds)
        return [(kind, level, seed, *labels) for labels, seed, level, kind in rows]

    def settings(self) -> dict[tuple, dict]:
        """Labels of ``over`` -> what their rows depend on but for kind, level and seed, as JSON.

        The experiment's own values stand in it, too, so that a default which changes in the code is seen; of other
        labels there is nothing in it, so that a longer axis leaves old rows valid.
        """
        experiment, arguments = self.experiment(), arguments_of(self.make, self.arguments)
        parameters = {name: [*values.shape] for name, values in experiment.net.named_parameters()}
        settings = {}
        for labels, changes in combinations(self.over).items():
            fields = {name: value for name, value in changes.items() if name in Experiment._fields}
            resolved = experiment._replace(**fields)
            resolved = resolved._replace(optimizer=resolved.optimizer or adam())
            settings[labels] = {
                "experiment": plain(self.make),
                "arguments": arguments,
                "changes": plain({**self.changes, **changes}),
                "resolved": {name: plain(getattr(resolved, name)) for name in RESOLVED} | {"parameters": parameters},
                "numerics": experiment.numerics,
            }
            if self.over:
                settings[labels]["over"] = plain(dict(zip(names_of(self.over), labels, strict=True)))
        return settings

    def run(self, **train_args) -> History:
        """Train all of it; nothing is read, and nothing is kept."""
        args = dict(over=self.over, may_all_diverge=bool(self.over), **self.changes)
        return sweep(self.make(**self.arguments), self.levels, self.seeds, self.kinds, **args, **train_args)

    def read(self, *paths: Path, earlier: bool = False) -> Reading:
        """What files have of it, as one history; earlier: rows of another ``numerics`` count where today's are absent.
        Unreadable: a file is damaged, or in use."""
        keys, settings, stored = self.keys(), self.settings(), [stack for path in paths for stack in read(path)]
        if earlier:  # rows that were added later come later, and count more
            now = next(iter(settings.values()))["numerics"]
            stored = [stack._replace(settings=stack.settings | {"numerics": now}) for stack in stored]
        trained = matching(stored, settings)
        wanted = [key for key in keys if key in trained]
        if not wanted:
            return Reading(None, keys, len(keys), why_not(stored, settings))
        used = {id(trained[key]) for key in wanted}
        history = gathered([stack.history for stack in stored if id(stack.history) in used], wanted)
        absent = [key for key in keys if key not in trained]
        return Reading(history, absent, len(keys), why_not(stored, settings) if absent else "")

    def fill(
        self, path: Path, until: float = float("inf"), anew: bool = False, rows: Container[Key] | None = None,
        **train_args,
    ) -> None:  # fmt: skip
        """Train the rows that a file has not (or all of them), in as few stacks as can be; each is added when it ends.

        until: a time (``time.monotonic``) after which no further round is begun. rows: these only.

        Raises:
            OutOfTime: it came; a checkpoint beside the file keeps what was done.
            ValueError: what could not be stored, a file that cannot be read, a folder that cannot be written.
        """
        settings, keys = self.settings(), [key for key in self.keys() if rows is None or key in rows]
        if not anew and {*keys} <= {*matching(read(path), settings)}:
            return
        with alone(path):
            trained = {} if anew else matching(read(path), settings)
            for stack in self.stacks([key for key in keys if key not in trained]):
                if stack[0] in trained:
                    continue  # a model that all levels share came with another row
                new, checkpoint = self.trained(stack, settings, path, until, **train_args)
                made, old = matching(new, settings), read(path)
                trained |= made
                if anew:
                    old = [kept for kept in old if not {*kept.history.rows} <= {*made} or not alike(kept, settings)]
                files.write(path, [*old, *new])
                checkpoint.path.unlink(missing_ok=True)

    def stacks(self, keys: Sequence[Key]) -> list[list[Key]]:
        """Rows in groups that are trained together."""
        if self.apart:
            return [[key] for key in keys]
        groups = [[key for key in keys if key[3:] in stack.varied] for stack in stacks(combinations(self.over))]
        return [group for group in groups if group]

    def trained(
        self, keys: Sequence[Key], settings: Mapping[tuple, dict], path: Path, until: float, **train_args
    ) -> tuple[list[Stored], Checkpoint]:  # fmt: skip
        """Some rows, trained as one stack, a ``Stored`` for each setting; and the checkpoint that has all of it, until
        they are written. settings: of all labels."""
        settings = {labels: settings[labels] for labels in dict.fromkeys(key[3:] for key in keys)}
        digest = sha256(json.dumps([*settings.values(), keys]).encode()).hexdigest()[:16]
        checkpoint = going_on(Checkpoint(path.with_name(f".{path.stem}-{digest}.pt"), digest, until))
        clear_partials(checkpoint.path)
        try:
            history = sweep(
                self.make(**self.arguments), self.levels, self.seeds, self.kinds, over=self.over, rows=keys,
                checkpoint=checkpoint, may_all_diverge=bool(self.over), **self.changes, **train_args,
            )  # fmt: skip
        except OutOfTime as error:
            raise OutOfTime(f"{path.stem}: {error}") from None
        took, stored = spent(checkpoint), []
        about = environment() | {"backend": history.backend, "commit": commit()}
        history = history if self.models is None else keeping(history, self.models)
        for labels, one in settings.items():
            rows = [key for key in history.rows if key[3:] == labels]
            seconds, cpu_seconds = (took * len(rows) / len(history.rows)).tolist()
            part = history if len(settings) == 1 else gathered([history], rows)
            stored.append(Stored(part, one, about | {"seconds": seconds, "cpu_seconds": cpu_seconds}))
        return stored, checkpoint

    def core_seconds(self, path: Path, rows: Iterable[Key] | None = None) -> float | None:
        """What rows, by default those that a file has not, would take: of these settings, from those that ran; else of
        other settings of the same experiment, per local step; None where nothing of it ever ran."""
        stored, settings, total = read(path), self.settings(), 0.0
        trained = matching(stored, settings)
        absent = Counter(
            key[3:] for key in (self.keys() if rows is None else rows) if rows is not None or key not in trained
        )
        for labels, wanted in settings.items():
            rates: dict[bool, list] = {True: [], False: []}
            for stack in [stack for stack in stored if renamed(stack.settings["experiment"]) == wanted["experiment"]]:
                per_step = stack.about["cpu_seconds"] / len(stack.history.rows) / steps(stack.settings)
                rates[not differs(stack, wanted)].append(per_step)
            if not (rate := rates[True] or rates[False]):
                return None
            total += absent[labels] * steps(wanted) * sum(rate) / len(rate)
        return total


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
    """What is no training but took time: a barycenter, paths, a matrix of kernels.

    make: a function of a module, (**arguments) -> labelled arrays. numerics: raised by hand when the same settings give
    other numbers; 0: an earlier run left the file, and nothing replaces it. tolerances: of those variables that are not
    the same to 1e-4 on another CPU. One fills a file of its own.
    """

    make: Callable[..., xarray.Dataset]
    arguments: Mapping
    numerics: int = 1
    tolerances: Mapping[str, Tolerance] = {}

    def settings(self) -> dict:
        """What it depends on, as JSON."""
        arguments = arguments_of(self.make, self.arguments)
        return {"function": plain(self.make), "arguments": arguments, "numerics": self.numerics}

    def run(self, **train_args) -> xarray.Dataset:
        """Compute it; nothing is read, and nothing is kept. ValueError: the function gives no labelled arrays."""
        dataset = self.make(**self.arguments)
        if not isinstance(dataset, xarray.Dataset):
            name, kind = f"{self.make.__module__}.{self.make.__qualname__}", type(dataset).__name__
            raise ValueError(f"{name} gave {kind}; expected labelled arrays, such as xarray.Dataset({{'error': ...}})")
        return dataset

    def read(self, *paths: Path, earlier: bool = False) -> Reading:
        """What one of the files has of it; earlier: of another ``numerics``, too. Unreadable: a file is damaged, or in
        use."""
        why = "never computed"
        for path in [path for path in paths if path.exists()]:
            with reading(path) as file:
                settings = renamed(json.loads(file.attrs["settings"]))
                if earlier:
                    settings |= {"numerics": self.numerics}
                if not (other := difference(self.settings(), settings)):
                    return Reading(loaded(file))
            why = f"the stored one has {other}"
        return Reading(None, [()], why=why)

    def fill(self, path: Path, until: float = float("inf"), anew: bool = False, **train_args) -> None:
        """Compute it where a file has it not (or anew), and keep it."""
        if not self.numerics and path.exists():
            return
        if not anew and not self.read(path).absent:
            return
        settings = self.settings()
        with alone(path):
            if not anew and not self.read(path).absent:
                return
            began, cpu = time.monotonic(), time.process_time()
            dataset = self.run()
            took = {"seconds": time.monotonic() - began, "cpu_seconds": time.process_time() - cpu}
            about = environment() | took | {"commit": commit()}
            attrs = {"settings": json.dumps(settings), "about": json.dumps(about)}
            write_groups(path, {"/": dataset.assign_attrs(attrs)})

    def core_seconds(self, path: Path) -> float | None:
        """What it took when it was computed; None: never."""
        return sum(about["cpu_seconds"] for about in files.abouts(path)) if path.exists() else None


Task = Call | Computed
"""What a study names: both have settings, run, read, fill and core_seconds."""


def arguments_of(make: Callable, arguments: Mapping) -> dict:
    """All arguments of a function, defaults too, as JSON."""
    bound = inspect.signature(make).bind(**arguments)
    bound.apply_defaults()
    return {name: plain(value) for name, value in bound.arguments.items()}


def steps(settings: Mapping) -> int:
    """Local steps of a client in all."""
    return settings["resolved"]["rounds"] * settings["resolved"]["local"][0]


def keeping(history: History, models: Mapping[str, Sequence[int]]) -> History:
    """The history with NaN for all models but those of some seeds, kind -> seeds: they take no room in a file."""
    if unknown := sorted({*models} - {*KINDS}):
        raise ValueError(f"models has {unknown[0]!r}; expected seeds of some of {', '.join(KINDS)}")
    source, D = history.source.clone(), len(history.distinct)
    for key, rows in history.rows.items():
        if key[2] not in models.get(key[0], ()):
            source[rows] = D
    nothing = torch.full_like(history.distinct[:1], torch.nan)
    used, source = torch.unique(source, return_inverse=True)
    return replace(history, distinct=torch.cat([history.distinct, nothing])[used], source=source)


# what a file has


def read(path: Path) -> list[Stored]:
    """The stacks of a file; none where there is no file.

    Raises:
        Unreadable: the file is damaged, none of ours, or in use.
    """
    return list(stacks_of(path, path.stat().st_mtime_ns)) if path.exists() else []


@lru_cache(16)
def stacks_of(path: Path, changed: int) -> tuple[Stored, ...]:
    """The stacks of a file that was last changed then: a notebook asks for each name in it, and later again."""
    return tuple(files.read(path))


def differs(stack: Stored, settings: Mapping) -> str:
    """The first setting in which a stored stack is another one, with both values; empty where it is the same."""
    return difference(settings, completed(stack.settings))


def alike(stack: Stored, settings: Mapping[tuple, Mapping]) -> bool:
    """Whether its rows have one of these settings; labels -> settings. Its own are data: they are compared as JSON, and
    no name in them is looked up."""
    labels = [*stack.settings.get("over", {}).items()]
    return any(not differs(stack, one) for one in settings.values() if [*one.get("over", {}).items()] == labels)


def matching(stored: Iterable[Stored], settings: Mapping[tuple, Mapping]) -> dict[Key, History]:
    """Row -> the training that has it, of those with exactly these settings."""
    return {key: stack.history for stack in stored if alike(stack, settings) for key in stack.history.rows}


def why_not(stored: Sequence[Stored], settings: Mapping[tuple, Mapping]) -> str:
    """Why rows of a file do not count: the first setting of the nearest stack that differs."""
    whole = [completed(stack.settings) for stack in stored]
    differences = [difference(wanted, one) for one in whole for wanted in settings.values()]
    if all(differences) and differences:
        return f"the stored ones have {min(differences, key=len)}"
    return "never trained"
