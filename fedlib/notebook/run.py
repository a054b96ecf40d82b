"""Results: what one run of a notebook measures and draws, and the files that it leaves behind."""

import json
import os
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from types import ModuleType

import numpy as np
import torch

from ..federated.checkpoints import Checkpoint
from ..files import ROOT, check_writable, from_git, replacing, write_atomically
from ..trainings import store
from ..trainings.calls import Task
from ..trainings.environment import environment
from ..trainings.files import abouts
from ..trainings.profiles import (
    FIGURES,
    NOTEBOOKS,
    committed,
    defaults_of,
    folder_of,
    named,
    parameters_of,
    profile_parameters,
)
from . import claims, models, pages
from .lesson import Lesson
from .rules import check
from .verdicts import Measured, PaperNumber, compare, judge, measured, ours, paper_numbers, rows_of, table


def ran_since(started: float) -> dict:
    """Where and how long this process computed."""
    return {"environment": environment(), "wall_s": round(time.time() - started, 1)}


def trained_in(trained: Sequence[Mapping]) -> dict:
    """Where and how long stored trainings were computed, all together: who draws them anew changes nothing in it."""
    wall_s, core_s = (round(sum(about[name] for about in trained), 1) for name in ("seconds", "cpu_seconds"))
    environments = [{name: about.get(name) for name in ("versions", "hardware", "backends")} for about in trained]
    return {"environment": joined(environments), "wall_s": wall_s, "core_s": core_s}


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


def check_finite(metrics, name: str = "metrics") -> None:
    """ValueError that names the first number which is none: a diverged training is no result, and NaN is no JSON."""
    if isinstance(metrics, (dict, list)):
        for key, value in metrics.items() if isinstance(metrics, dict) else enumerate(metrics):
            check_finite(value, f"{name}[{key!r}]")
    elif isinstance(metrics, float) and not isfinite(metrics):
        raise ValueError(f"{name} = {metrics}: expected a finite number; a model diverged; None stands for no value")


class Run:
    """What one notebook run produces: figures, measured numbers, and at its end ``result.json``.

    A run with the parameters of its profile goes to figures/<notebook>/<profile>; any other one is a custom run with a
    folder and a label of its own, so that a trial never replaces the profile's figures.

    Args:
        notebook: e.g. "01_pendulum". profile: "quick", "paper", ... parameters: the notebook's parameters.
    """

    def __init__(self, notebook: str, profile: str, parameters: Mapping):
        self.notebook, self.profile, self.parameters = notebook, profile, dict(parameters)
        self.label, folder = named(notebook, profile, self.parameters)
        # the batch runner collects the output of a run in a folder of its own and moves it when all is done
        self.folder = Path(os.environ.get("FEDLIB_OUTPUT") or FIGURES / folder)
        self.measured: dict[str, Measured] = {}
        self.claims: dict[str, dict] = {}
        self.started = time.time()
        self.trained: list[dict] = []  # what ran the stored trainings that it reads, if it reads any
        self.figures: dict[str, str] = {}  # name -> what one sees in it

    @classmethod
    def begin(cls, study: ModuleType, namespace: Mapping, lesson: Lesson | None = None) -> "Run":
        """A run of a study's notebook with the parameters of its cell, checked; a profile that was chosen there brings
        its values. The lesson's pictures, as far as they were drawn, go to the run's folder.

        study: has ``NOTEBOOK``, ``RULES``, parameter -> what it may be (see ``rules``), and ``check(parameters)``, for
        what no parameter tells alone. namespace: globals(). A value that was changed by hand counts more than the
        profile's.

        Raises:
            ValueError: a parameter that cannot mean anything: what it was, and what was expected; or a study without
                one of these three.
        """
        if lacks := [name for name in ("NOTEBOOK", "RULES", "check") if not hasattr(study, name)]:
            raise ValueError(f"{study.__name__} has no {', '.join(lacks)}; expected NOTEBOOK, RULES, check(parameters)")
        path = NOTEBOOKS / f"{study.NOTEBOOK}.ipynb"
        # IPython compiles each statement by itself, and so Python 3.14 knows in a notebook the last annotation alone
        p = {name: namespace[name] for name in namespace.get("__annotations__") or parameters_of(path)}
        profile, defaults = profile_parameters(path, p["profile"]), defaults_of(path)
        p |= {name: value for name, value in profile.items() if name not in defaults or p[name] == defaults[name]}
        run = cls(study.NOTEBOOK, p["profile"], p)
        run.check(**study.RULES)
        study.check(run.parameters)
        check_writable(run.folder, "work in a copy of the project, or name a folder of your own: FEDLIB_OUTPUT=folder")
        for name, (image, alt) in lesson.pictures.items() if lesson else ():
            run.figures[name] = alt
            write_atomically(run.folder / f"{name}.png", image)
        return run

    @property
    def custom(self) -> bool:
        """Whether a parameter differs from what the profile says."""
        return self.label.startswith("custom")

    def check(self, **rules) -> None:
        """Refuse parameters that cannot mean anything, before any work: name -> a rule of ``rules``."""
        check(self.parameters, **rules)

    def figure(self, fig, name: str, alt: str) -> None:
        """Show a figure, and save it with the run's label below its corner, clear of all labels, as PNG; where
        FEDLIB_SVG is set as SVG, too.

        alt: what one sees in it, in a sentence.
        """
        self.figures[name] = alt
        image = pages.labelled_png(fig, self.label)
        write_atomically(self.folder / f"{name}.png", image)
        if os.environ.get("FEDLIB_SVG"):
            fig.set_layout_engine("none")  # made above, and dear
            with replacing(self.folder / f"{name}.svg") as partial:
                fig.savefig(partial, format="svg", bbox_inches="tight", metadata={"Date": None})
        pages.picture(image, alt)

    def histories(self, calls: Mapping[store.Name, Task], earlier: bool = False, **train_args) -> dict:
        """What ``calls`` train, by name: quick and custom runs train, the paper profile reads what is stored; earlier:
        what is stored of an earlier ``numerics``, too.

        FEDLIB_TRAIN, "never", "missing" or "always", says who trains at the paper profile; see ``store.histories_of``.
        """
        if self.custom or self.profile != "paper":
            return store.made(calls, **train_args)
        folder = store.folder_of(self.notebook)
        histories = store.histories_of(calls, folder, os.environ.get("FEDLIB_TRAIN", "never"), earlier, **train_args)
        paths = dict.fromkeys(store.file_of(folder, name) for name in histories)
        self.trained = [about for path in paths for about in abouts(path)]
        return histories

    def checkpoint(self, name: str) -> Checkpoint | None:
        """Where a long training of a batch run keeps its state, so that a killed run goes on; None outside of one.

        The folder is named by the run's parameters and the notebook's code. So it is a training's key.
        """
        folder = os.environ.get("FEDLIB_CHECKPOINTS")
        return Checkpoint(Path(folder) / f"{name}.pt", f"{Path(folder).name} {name}") if folder else None

    def keep_models(self, kept: Mapping[Hashable, torch.Tensor]) -> None:
        """Keep key -> parameters [K, P] beside the result, see ``models``: those that an explorer shows, no others."""
        models.save(self.folder, kept)

    def measure(self, id: str, values: Sequence[float], why: str = "", bound: float | None = None) -> None:
        """Our value of a printed number, one per seed; NaN or infinity where a seed never gets there.

        why: a word on it. bound: what comes later than that was not waited for. A custom run may measure what the paper
        does not print.
        """
        if not self.custom:
            paper_numbers()[id]  # a misspelt id fails here, in its own cell
        self.measured[id] = measured(values, why, bound)

    def table(self) -> None:
        """Show paper | ours | verdict, beside the committed result of the paper profile."""
        full = [] if self.label == "paper profile" else rows_of(committed(self.notebook))
        header, *rows = table(compare(self.measured, paper_numbers()), "custom" if self.custom else self.profile, full)
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

    def judge(self, judges: Mapping[str, Callable], results: object) -> None:
        """Keep and show the verdicts on claims.

        judges: id -> claim, (results) -> ``Verdict``, or None where the claim says nothing of these results.
        """
        for id, claim in judges.items():
            if (verdict := claim(results)) is not None:
                self.claim(id, *verdict, claim.seeds(results) if isinstance(claim, claims.Seeded) else None)
        self.claims_table()

    def claims_table(self) -> None:
        """Show claim | verdict | numbers, beside the verdicts of the committed result of the paper profile."""
        full = {} if self.label == "paper profile" else committed(self.notebook).get("claims", {})
        header = [f"claim ({self.label})", "verdict", *["paper profile (committed)"] * bool(full), "numbers"]
        pages.table(header, claims.rows(self.claims, full))

    def committed(self) -> dict:
        """The committed result of this notebook's paper profile, for tables that no hand has typed."""
        if not (result := committed(self.notebook)):
            back = from_git(folder_of(self.notebook, "paper"))
            raise ValueError(
                f"{self.notebook} has no committed result; if it was deleted, {back} brings it back; else run it with "
                "the paper profile first"
            )
        return result

    def finish(self, **metrics) -> None:
        """Write result.json; ``metrics`` are the run's numbers, the same for the same seed and machine.

        Raises:
            ValueError: a metric is not finite. What has no value, such as an epoch that never comes, is None.
        """
        metrics = json.loads(json.dumps(metrics, default=_plain))
        check_finite(metrics)
        result = {
            "notebook": self.notebook,
            "profile": self.profile,
            "label": self.label,
            "parameters": self.parameters,
            **(trained_in(self.trained) if self.trained else ran_since(self.started)),
            "metrics": metrics,
            "measured": {id: m._asdict() for id, m in self.measured.items()},
            "claims": self.claims,
            "figures": self.figures,
        }
        path = self.folder / "result.json"
        write_atomically(path, json.dumps(result, indent=1, default=_plain, allow_nan=False) + "\n")
        print("written:", path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name)
