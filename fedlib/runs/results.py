"""Results: the papers' numbers, comparisons with them, and the files a run leaves behind."""

import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
import yaml

from ..files import ROOT, replacing, write_atomically
from . import pages
from .profiles import FIGURES, named
from .settings import check

REPRODUCED, ORDERING, NOT = "reproduced", "same ordering, different level", "not reproduced"


REQUIRED = {"notebook", "profile", "parameters", "environment", "wall_s", "metrics", "comparisons"}


@dataclass(frozen=True)
class PaperNumber:
    """One printed number.

    value, spread: as printed; samples: how many test cases the spread is over (None: spread of the value itself).
    better: "lower", "higher" or "equal". group: numbers whose ordering belongs together.
    """

    id: str
    value: float
    where: str
    unit: str = ""
    spread: float | None = None
    samples: int | None = None
    better: str = "lower"
    group: str | None = None

    @property
    def tolerance(self) -> float:
        """The paper's own uncertainty of the value: spread / sqrt(samples) for a mean over test cases."""
        return 0.0 if self.spread is None else self.spread / (self.samples or 1) ** 0.5


@dataclass(frozen=True)
class Comparison:
    """Our mean and st.dev. over seeds beside a printed number."""

    id: str
    paper: float
    ours: float
    sd: float
    seeds: int
    unit: str
    where: str
    verdict: str


@cache
def paper_numbers(path: Path = ROOT / "data" / "paper_numbers.yaml") -> dict[str, PaperNumber]:
    """Every printed number by id."""
    return {key: PaperNumber(key, **fields) for key, fields in yaml.safe_load(path.read_text())["numbers"].items()}


def is_reproduced(paper: PaperNumber, ours: float, standard_error: float = 0.0) -> bool:
    """Better than printed, or as good within the paper's own uncertainty and our mean's."""
    gap = ours - paper.value
    gap = {"lower": gap, "higher": -gap, "equal": abs(gap)}[paper.better]
    return gap <= float(np.hypot(paper.tolerance, standard_error))


def compare(measured: Mapping[str, Sequence[float]], numbers: Mapping[str, PaperNumber]) -> list[Comparison]:
    """measured: id -> one value per seed. A level that is missed keeps the ordering of its group or it does not."""
    if unknown := sorted(set(measured) - set(numbers)):
        raise ValueError(f"no printed number has the id {unknown[0]!r}; add it to data/paper_numbers.yaml")
    mean = {key: float(np.mean(values)) for key, values in measured.items()}
    rows = []
    for key, values in measured.items():
        paper = numbers[key]
        group = [k for k in measured if paper.group and numbers[k].group == paper.group]
        ordered = sorted(group, key=lambda k: numbers[k].value) == sorted(group, key=lambda k: mean[k])
        sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        level = is_reproduced(paper, mean[key], sd / len(values) ** 0.5)
        verdict = REPRODUCED if level else ORDERING if len(group) > 1 and ordered else NOT
        rows.append(Comparison(key, paper.value, mean[key], sd, len(values), paper.unit, paper.where, verdict))
    return rows


def table(comparisons: Sequence[Comparison | Mapping], profile: str = "paper", full: Sequence[Mapping] = ()) -> list:
    """The table paper | ours | verdict: rows of text, the first is the header.

    profile: what ours was run with; a verdict is given for the paper profile only. full: comparisons of the
    paper profile's committed run, shown (with their verdicts) beside those of a smaller one.
    """
    rows = [["number", "paper", f"ours, {profile} profile"]]
    rows[0] += ["ours, paper profile (committed)"] * bool(full) + ["verdict"]
    known = {c["id"]: c for c in full}
    for c in comparisons:
        c = c if isinstance(c, Mapping) else asdict(c)
        best = c if profile == "paper" else known.get(c["id"])
        row = [f"{c['id']} [{c['where']}]", f"{c['paper']:g} {c['unit']}", _ours(c)]
        row += [_ours(best) if best else "-"] * bool(full) + [best["verdict"] if best else "run `make paper`"]
        rows.append(row)
    return rows


def summary(comparisons: Sequence[Mapping]) -> str:
    """How many of the printed numbers hold, in a sentence."""
    of = [sum(c["verdict"] == verdict for c in comparisons) for verdict in (REPRODUCED, ORDERING, NOT)]
    return (
        f"{of[0]} of {len(comparisons)} printed numbers reproduced, {of[1]} in the same order at a different level, "
        f"{of[2]} not reproduced."
    )


def _ours(c: Mapping) -> str:
    if c["seeds"] == 1:  # one run has no spread, and "+- 0" would look like certainty
        return f"{c['ours']:.3f} {c['unit']} (1 seed)"
    return f"{c['ours']:.3f} +- {c['sd']:.3f} {c['unit']} ({c['seeds']} seeds)"


def environment() -> dict:
    """Versions and hardware of this process."""
    names = [line.split(":")[1].strip() for line in _read("/proc/cpuinfo").splitlines() if "model name" in line]
    cpu = names[0] if names else platform.processor()
    packages = ("fedlib", "torch", "numpy", "scipy", "POT", "matplotlib", "papermill")
    return {
        "versions": {"python": platform.python_version()} | {p: version(p) for p in packages},
        "hardware": {
            "cpu": cpu,
            "cores": os.cpu_count(),
            "threads": torch.get_num_threads(),
            "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
            "system": platform.platform(),
        },
    }


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _plain(value):
    """JSON for numpy and torch values."""
    if isinstance(value, (np.ndarray, np.generic, torch.Tensor)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot stand in a result file; give numbers, text, lists or dicts of them")


def read_result(path: Path) -> dict:
    """A result file, or a ValueError that says what is wrong with it."""
    hint = f"remove {path.parent} and run the notebook again"
    try:
        result = json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path} is truncated or damaged ({error}); {hint}") from None
    missing = REQUIRED - set(result) if isinstance(result, dict) else REQUIRED
    if missing:
        raise ValueError(f"{path} is no result file: {', '.join(sorted(missing))} missing; {hint}")
    return result


class Run:
    """What one notebook run produces: figures, measured numbers, and at its end ``result.json``.

    A run with the parameters of its profile goes to figures/<profile>/<notebook>; any other one is a custom run with a
    folder and a stamp of its own, so that a trial never replaces the profile's figures.

    Args:
        notebook: e.g. "01_pendulum". profile: "quick", "paper", ... parameters: the notebook's parameters.
    """

    def __init__(self, notebook: str, profile: str, parameters: Mapping):
        self.notebook, self.profile, self.parameters = notebook, profile, dict(parameters)
        self.label, folder = named(notebook, profile, self.parameters)
        # the batch runner collects the output of a run in a folder of its own and moves it when all is done
        self.folder = Path(os.environ.get("FEDLIB_OUTPUT") or FIGURES / folder)
        self.measured: dict[str, list[float]] = {}
        self.started = time.time()

    @property
    def custom(self) -> bool:
        """Whether a parameter differs from what the profile says."""
        return self.label.startswith("custom")

    def check(self, **rules) -> None:
        """Refuse parameters that cannot mean anything, before any work: name -> a rule of ``settings``."""
        check(self.parameters, **rules)

    def figure(self, fig, name: str, alt: str) -> None:
        """Show a figure, and save it as PNG and SVG with the run's label below its corner, clear of all labels.

        alt: what one sees in it, in a sentence.
        """
        fig.text(1, 0, self.label, ha="right", va="top", fontsize=6, color="0.4")
        image = pages.png(fig)
        fig.set_layout_engine("none")  # made above, and dear
        with replacing(self.folder / f"{name}.png") as partial:
            partial.write_bytes(image)
        with replacing(self.folder / f"{name}.svg") as partial:
            fig.savefig(partial, format="svg", bbox_inches="tight", metadata={"Date": None})
        pages.picture(image, alt)

    def checkpoint(self, name: str) -> Path | None:
        """Where a long training of a batch run keeps its state, so that a killed run goes on; None outside of one."""
        folder = os.environ.get("FEDLIB_CHECKPOINTS")
        return Path(folder) / f"{name}.pt" if folder else None

    def measure(self, id: str, values: Sequence[float]) -> None:
        """Our value of a printed number, one per seed; a custom run may measure what the paper does not print."""
        if not self.custom:
            paper_numbers()[id]  # a misspelt id fails here, in its own cell
        self.measured[id] = [float(v) for v in np.atleast_1d(values)]

    def comparisons(self) -> list[Comparison]:
        """Those of the measured numbers that the paper prints."""
        return compare({k: v for k, v in self.measured.items() if k in paper_numbers()}, paper_numbers())

    def table(self) -> None:
        """Show paper | ours | verdict, beside the committed result of the paper profile."""
        committed = FIGURES / "paper" / self.notebook / "result.json"
        full = read_result(committed)["comparisons"] if self.label != "paper profile" and committed.exists() else []
        header, *rows = table(self.comparisons(), "custom" if self.custom else self.profile, full)
        for id, values in self.measured.items():
            if id not in paper_numbers():
                ours = _ours({"ours": np.mean(values), "sd": np.std(values, ddof=1) if len(values) > 1 else 0,
                              "seeds": len(values), "unit": ""})  # fmt: skip
                rows.append([id, "not printed", ours, *["-"] * bool(full), "-"])
        pages.table(header, rows)

    def finish(self, **metrics) -> None:
        """Write result.json; ``metrics`` are the run's numbers, the same for the same seed and machine."""
        result = {
            "notebook": self.notebook,
            "profile": self.profile,
            "label": self.label,
            "parameters": self.parameters,
            "environment": environment(),
            "wall_s": round(time.time() - self.started, 1),
            "metrics": metrics,
            "comparisons": [asdict(c) for c in self.comparisons()],
        }
        path = self.folder / "result.json"
        write_atomically(path, json.dumps(result, indent=1, default=_plain) + "\n")
        print("written:", path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name)
