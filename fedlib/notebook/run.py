"""Results: what a notebook reads of stored trainings, trains where its parameters were changed, measures and draws."""

import json
import os
from base64 import b64decode
from collections.abc import Callable, Container, Mapping, Sequence
from io import BytesIO
from math import isclose, isfinite
from pathlib import Path
from types import ModuleType

import numpy as np
import torch
import xarray
from matplotlib.figure import Figure
from PIL import Image
from scipy.ndimage import maximum_filter, minimum_filter

from ..federated.history import History
from ..files import ROOT, check_writable, write_atomically
from ..trainings import again, changes, store
from ..trainings.calls import Reading
from ..trainings.environment import environment
from ..trainings.files import abouts
from ..trainings.settings import changed as changed_of
from ..trainings.settings import check_type, committed, folder_of, hint_of, in_words, read_result
from . import claims, maps, pages, relations, report
from .rules import check, number, one_of
from .verdicts import Measured, PaperNumber, compare, judge, measured, ours, paper_numbers, rows_of, table

LABEL = "stored"  # in the corner of what shows stored trainings

OPTIONS = {"minutes": 3.0, "only": "", "device": "auto", "backend": "auto"}
"""What a notebook may say of a run, and no study: minutes, how long is trained where parameters were changed; only, of
trainings whose names begin so; where and by what."""

SHADES = 32  # of 255: 28 is the most that was seen beyond the neighbours between two processors


def trained_in(trained: Sequence[Mapping]) -> dict:
    """Where and how long stored trainings were computed, all together: who draws them anew changes nothing in it."""
    wall_s, core_s = (round(sum(about[name] for about in trained), 1) for name in ("seconds", "cpu_seconds"))
    environments = [{name: about.get(name) for name in ("versions", "hardware", "backends")} for about in trained]
    return {"environment": joined(environments) or environment(), "wall_s": wall_s, "core_s": core_s}


def joined(values: Sequence):
    """One value for several: dicts part by part, and what is not the same everywhere as a text, "1 and 4"."""
    values = [value for value in values if value is not None]
    if values and isinstance(values[0], Mapping):
        names = dict.fromkeys(name for value in values for name in value)
        return {name: joined([value.get(name) for value in values]) for name in names}
    if values and isinstance(values[0], list):
        return sorted({part for value in values for part in value})
    return values[0] if len({*values}) == 1 else " and ".join(sorted({str(value) for value in values})) or None


def _plain(value):
    """JSON for numpy and torch values."""
    if isinstance(value, (np.ndarray, np.generic, torch.Tensor)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot stand in a result file; give numbers, text, lists or dicts of them")


def six_digits(value, name: str = "metrics"):
    """Numbers as they are written down: another CPU has another tenth digit.

    ValueError that names the first number which is none: a diverged training is no result, and NaN is no JSON.
    """
    if isinstance(value, dict):
        return {key: six_digits(part, f"{name}[{key!r}]") for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [six_digits(part, f"{name}[{key!r}]") for key, part in enumerate(value)]
    if not isinstance(value, float):
        return value
    if not isfinite(value):
        raise ValueError(f"{name} = {value}: expected a finite number; a model diverged; None stands for no value")
    return float(f"{value:.6g}")


def write_result(path: Path, result: Mapping) -> None:
    """A result file, whole or not at all; see ``six_digits``."""
    result = six_digits(json.loads(json.dumps(result, default=_plain)), path.stem)
    write_atomically(path, json.dumps(result, indent=1, allow_nan=False) + "\n")


def kept(old: Path, new: bytes) -> bytes:
    """A picture, or the old one where that shows the same: another processor rounds otherwise in the eighth digit of a
    curve, and so in some of its pixels, and git would keep both."""
    try:
        stored = old.read_bytes()
        before, after = (np.asarray(Image.open(BytesIO(data)).convert("RGBA"), int) for data in (stored, new))
    except OSError:  # there is none, or it is damaged
        return new
    if before.shape != after.shape:
        return new
    same = np.array_equal(before, after) or max(beyond(before, after), beyond(after, before)) <= SHADES
    return stored if same else new


def beyond(picture: np.ndarray, other: np.ndarray) -> int:
    """The most by which a pixel of the other picture is beyond all neighbours of its place in this one: what moves by
    at most a pixel is not."""
    near = (3, 3, 1)
    return max(np.max(other - maximum_filter(picture, near)), np.max(minimum_filter(picture, near) - other))


def alike(old, new) -> bool:
    """Whether a stored piece shows the same as a new one: floats to 1e-5, whole numbers of a step to one."""
    if isinstance(new, dict):
        return isinstance(old, dict) and [*old] == [*new] and all(alike(old[name], new[name]) for name in new)
    if isinstance(new, (list, tuple)):
        if len(new) == 2 and new[0] in ("<i2", "<f4"):  # an array, see ``live.modules.array``
            before, after = (np.frombuffer(b64decode(text), new[0]).astype(float) for text in (old[1], new[1]))
            return before.shape == after.shape and np.allclose(
                before, after, 1e-5, 1 if new[0] == "<i2" else 1e-6, equal_nan=True
            )
        return isinstance(old, list) and len(old) == len(new) and all(map(alike, old, new))
    return isclose(old, new, rel_tol=1e-5) if isinstance(new, float) and isinstance(old, float) else old == new


class Run:
    """A notebook's run: stored trainings, pictures, measured numbers, and at its end ``result.json``.

    ``run = Run(study)`` reads and draws what is stored at the paper's settings; ``run.begin(globals())`` takes what the
    parameters cell has changed. Pictures and result of the paper's settings are in figures/<notebook>, those of other
    ones in figures/<notebook>/changed/<hash>, so that a trial never replaces them.

    study: has ``NOTEBOOK``; ``PAPER``, the paper's settings; ``RULES``, setting -> what it may be (see ``rules``);
    ``check(settings)``, for what none tells alone; ``trainings(settings)`` and ``results(settings, histories)``.

    Raises:
        ValueError: a study without one of these.
    """

    def __init__(self, study: ModuleType):
        parts = "NOTEBOOK", "PAPER", "RULES", "check", "trainings", "results"
        if lacks := [name for name in parts if not hasattr(study, name)]:
            raise ValueError(f"{study.__name__} has no {', '.join(lacks)}; expected {', '.join(parts)}")
        self.study, self.notebook = study, study.NOTEBOOK
        self.figures: dict[str, str] = {}  # name -> what one sees in it
        self.measured: dict[str, Measured] = {}
        self.claims: dict[str, dict] = {}
        self.options = dict(OPTIONS)
        self.partial = False  # whether something that was asked for is not trained
        self._take({})
        pages.excuse(lambda: "not all is trained that this cell takes" * self.partial)

    def _take(self, changed: Mapping) -> None:
        """Other settings: nothing is read of them yet."""
        self.changed = dict(changed)
        self.parameters = {**self.study.PAPER, **changed}
        self.calls = self.study.trainings(self.parameters)
        self.readings: dict[store.Name, tuple[Reading, bool]] = {}
        self.whole: object = None  # the results of all

    def begin(self, namespace: Mapping) -> None:
        """Take the parameters of a notebook, globals(), wherever they were set: each that has the name of a setting.

        Raises:
            ValueError: a parameter of another type, or that cannot mean anything: what it was, what was expected.
        """
        self.partial = False
        settings = OPTIONS | self.study.PAPER
        values = {name: namespace[name] for name in settings if name in namespace}
        for name, value in values.items():
            check_type(self.notebook, name, value, hint_of(settings[name]))
        everything = settings | values
        rules = self.study.RULES | {"minutes": number(0.01), "backend": one_of("auto", "eager", "xla")}
        check(everything, **rules)
        self.study.check(everything)
        self.options = {name: everything[name] for name in OPTIONS}
        if (changed := changed_of(values, self.study.PAPER)) != self.changed:
            self._take(changed)
            for (
                name
            ) in self.figures:  # of the paper's settings: in a folder of other ones they would be taken for theirs
                (self.folder / f"{name}.png").unlink(missing_ok=True)
            self.figures = {}
        self.measured, self.claims = {}, {}
        check_writable(self.folder, "work in a copy of the project, or name a folder of your own: FEDLIB_OUTPUT=folder")
        if self.changed:
            print(f"Changed: {in_words(self.changed, self.study.PAPER)}. What that asks for is trained, at most "
                  f"{self.options['minutes']:g} minutes of it; all else is stored.")  # fmt: skip

    # what is stored

    @property
    def folders(self) -> list[Path]:
        """Where its trainings are: the committed ones, and those of changed parameters."""
        other = [changes.folder_of_changes(self.notebook)] if self.changed else []
        return [store.folder_of(self.notebook), *other]

    def read(self, name: store.Name) -> Reading:
        """What is stored of a training; after its ``numerics`` was raised what there was before, too."""
        if name not in self.readings:
            self.readings[name] = store.last_reading(self.calls, name, self.folders, earlier=True)
        return self.readings[name][0]

    def stored(self, name: store.Name) -> History | xarray.Dataset:
        """A training of the study, or what it computed. ValueError: nothing of it is there."""
        return store.result_of(name, self.read(name), self.folders[0])

    def histories(self, among: Container[store.Name] | None = None) -> dict[store.Name, History | xarray.Dataset]:
        """Name -> what is stored, of all trainings or of what has one of these names; what is not there is left out."""
        names = [name for name in self.calls if among is None or name in among]
        return {name: self.read(name).result for name in names if self.read(name).result is not None}

    def results(self, among: Container[store.Name] | None = None) -> object:
        """The study's ``results`` of these; where parameters were changed, what that asks for is trained before, and
        kept.

        Raises:
            ValueError: not one row of it would be trained in the minutes that there are.
        """
        if among is not None:
            return self.study.results(self.parameters, self.histories(among))
        if self.changed:
            self.train()
        if self.whole is None:
            self.whole = self.study.results(self.parameters, self.histories())
            store.say_absent({name: self.read(name) for name in self.calls})
        return self.whole

    def train(self) -> None:
        """What changed parameters ask for, for some minutes."""
        minutes, only, device, backend = (self.options[name] for name in OPTIONS)
        args = {"device": device, "backend": backend, "progress": True}
        if words := changes.train(self.study, self.calls, minutes, only, **args):
            print(words)
            self.readings, self.whole = {}, None
        self.partial = any(self.read(name).absent for name in self.calls)

    def begun_again(self) -> bool:
        """Whether a stored training begins as it did: its first rounds, trained anew on this machine, see ``again``."""
        return again.begin(self.study) < 1

    # what it makes

    @property
    def label(self) -> str:
        """In the corner of every picture."""
        if self.changed:
            return in_words(self.changed, self.study.PAPER)
        return LABEL + ", by an earlier version" * any(outdated for _, outdated in self.readings.values())

    @property
    def folder(self) -> Path:
        """Of its pictures and its result. The batch runner collects them elsewhere and moves them when all is done."""
        return Path(os.environ.get("FEDLIB_OUTPUT") or folder_of(self.notebook, self.changed))

    def figure(self, fig: Figure, name: str, alt: str) -> None:
        """Show a figure, and save it as PNG with the run's label below its corner, clear of all labels.

        alt: what one sees in it, in a sentence.
        """
        pages.picture(self._save(fig, name, alt), alt)

    def keep(self, fig: Figure, name: str, alt: str) -> None:
        """Save a figure that is shown elsewhere, such as that of the first page; with changed parameters it is another
        one, and shown."""
        (self.figure if self.changed else self._save)(fig, name, alt)

    def _save(self, fig: Figure, name: str, alt: str) -> bytes:
        image = kept(folder_of(self.notebook, self.changed) / f"{name}.png", pages.labelled_png(fig, self.label))
        self.figures[name], path = alt, self.folder / f"{name}.png"
        if not path.exists() or path.read_bytes() != image:
            write_atomically(path, image)
        return image

    def explorer(self, piece) -> None:
        """Store a piece of ``live.modules``, which the first section shows; with changed parameters, nothing."""
        if self.changed:
            return
        new, stored = {"kind": piece.kind, "data": piece.data}, folder_of(self.notebook, {}) / "explorer.json"
        text = stored.read_text(encoding="utf-8") if stored.exists() else ""
        if not text or not alike(json.loads(text), json.loads(json.dumps(new))):
            text = json.dumps(new, ensure_ascii=False, allow_nan=False) + "\n"
        write_atomically(self.folder / "explorer.json", text)

    def measure(self, id: str, values: Sequence[float], why: str = "", bound: float | None = None) -> None:
        """Our value of a printed number, one per seed; NaN or infinity where a seed never gets there.

        why: a word on it. bound: what comes later than that was not waited for. With changed parameters there may be
        numbers that the paper does not print.
        """
        if not self.changed:
            paper_numbers()[id]  # a misspelt id fails here, in its own cell
        self.measured[id] = measured(values, why, bound)

    def table(self) -> None:
        """Show paper | ours | verdict; where parameters were changed, beside the committed result."""
        full = rows_of(committed(self.notebook)) if self.changed else []
        header, *rows = table(compare(self.measured, paper_numbers()), bool(self.changed), full)
        for id, m in self.measured.items():
            if id not in paper_numbers():
                alone = judge(PaperNumber(id, np.nan, ""), m)
                rows.append([id, "not printed", ours(alone), *["-"] * bool(full), "-", "-"])
        pages.table(header, rows)

    def claim(self, id: str, holds: bool | None, why: object = "", seeds: int | None = None) -> None:
        """Whether a claim of data/claims.yaml holds in this run (None: not run), the numbers that say so, and of how
        many seeds they are (None: of no random number)."""
        claims.find(id)  # a misspelt id fails here, in its own cell
        self.claims[id] = {"holds": None if holds is None else bool(holds), "why": str(why)}
        if seeds is not None:
            self.claims[id]["seeds"] = seeds

    def judge(self, judges: Mapping[str, tuple | Callable], results: object) -> None:
        """Keep the verdicts on claims, id -> claim, see ``relations.judged``."""
        for id, claim in judges.items():
            if (verdict := relations.judged(claim, results)) is not None:
                self.claim(id, *verdict, relations.seeds(claim, results))

    def report(self, room: ModuleType, results: object) -> None:
        """Show what a checker asks for: panel of the paper | our figure | setting | what our runs say; printed numbers
        beside ours, if there are any; claim | verdict | numbers.

        room: a module with CLAIMS, and, where there is a paper, PANELS, and ``measured(results)``, id -> arguments of
        ``measure``, where it prints numbers.
        """
        self.judge(room.CLAIMS, results)
        for id, numbers in room.measured(results).items() if hasattr(room, "measured") else ():
            self.measure(id, **numbers)
        if hasattr(room, "PANELS"):
            self.map(room.PANELS)
        if self.measured:
            self.table()
        self.claims_table()

    def map(self, panels: Sequence[maps.Panel]) -> None:
        """Show panel of the paper | our figure | setting | what the judged claims say."""
        pages.table(maps.HEADER, maps.rows(panels, self.claims))

    def claims_table(self) -> None:
        """Show claim | verdict | numbers; where parameters were changed, beside the committed verdicts."""
        full = committed(self.notebook).get("claims", {}) if self.changed else {}
        header = ["claim", "verdict", *["the paper's settings"] * bool(full), "numbers"]
        pages.table(header, claims.rows(self.claims, full))

    def finish(self, **metrics) -> None:
        """Write result.json; ``metrics`` are the run's numbers, with six digits.

        Raises:
            ValueError: a metric is not finite. What has no value, such as an epoch that never comes, is None.
        """
        metrics = six_digits(json.loads(json.dumps(metrics, default=_plain)))
        read = [name for name, (reading, _) in self.readings.items() if reading.result is not None]
        files = dict.fromkeys(store.file_of(folder, name) for name in read for folder in self.folders)
        result = {
            "notebook": self.notebook,
            "label": self.label,
            "changed": self.changed,
            "parameters": self.parameters,
            **trained_in([about for path in files if path.exists() for about in abouts(path)]),
            "metrics": metrics,
            "measured": {id: m._asdict() for id, m in self.measured.items()},
            "claims": self.claims,
            "figures": {name: alt for name, alt in self.figures.items() if (self.folder / f"{name}.png").exists()},
        }
        path = self.folder / "result.json"
        write_result(path, result)
        write_atomically(self.folder / "README.md", report.page(read_result(path)))
        print("written:", path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name)
