"""The papers' printed numbers, and what our measurements say about them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml

from ..files import ROOT
from ..numerics.metrics import mean_sd

REPRODUCED, BETTER, ORDERING = "reproduced", "better than printed", "same ordering, different level"
NOT, NOT_REACHED, PART = "not reproduced", "not reached", "see its ratio"


@dataclass(frozen=True)
class PaperNumber:
    """One printed number.

    value, spread: as printed; samples: how many test cases the spread is over (None: spread of the value itself).
    better: "lower", "higher" or "equal". group: numbers whose ordering belongs together. kind: "level"; "ratio" of the
    two numbers in ``of``, where the paper's statement is an effect; "part" of such a ratio, which gets no verdict.
    """

    id: str
    value: float
    where: str
    unit: str = ""
    spread: float | None = None
    samples: int | None = None
    better: str = "lower"
    group: str | None = None
    kind: str = "level"
    of: tuple[str, str] = ()

    @property
    def tolerance(self) -> float:
        """The paper's own standard error of the value: spread / sqrt(samples) for a mean over test cases."""
        return 0.0 if self.spread is None else self.spread / (self.samples or 1) ** 0.5


class Measured(NamedTuple):
    """Our mean and st.dev. (ddof 1) over seeds of a printed number; the mean is NaN where it was not reached."""

    id: str
    mean: float
    sd: float
    seeds: int
    why: str = ""

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return self.sd / max(self.seeds, 1) ** 0.5


@dataclass(frozen=True)
class Comparison:
    """Our mean and st.dev. over seeds beside a printed number; ours is None where it was not reached."""

    id: str
    paper: float
    ours: float | None
    sd: float
    seeds: int
    unit: str
    where: str
    verdict: str
    why: str = ""


@cache
def paper_numbers(path: Path = ROOT / "data" / "paper_numbers.yaml") -> dict[str, PaperNumber]:
    """Every printed number by id."""
    return {key: PaperNumber(key, **fields) for key, fields in yaml.safe_load(path.read_text())["numbers"].items()}


def measured(id: str, values: Sequence[float], why: str = "") -> Measured:
    """Mean and st.dev. of one value per seed; a threshold that a seed never meets is a value that is not finite."""
    values = np.atleast_1d(np.asarray(values, float))
    if not (found := np.isfinite(values)).all() or not len(values):
        return Measured(id, np.nan, 0.0, len(values), why or f"({found.sum()} of {len(values)} seeds get there)")
    return Measured(id, *map(float, mean_sd(values)), len(values), why)


def ratio(paper: PaperNumber, above: Measured, below: Measured) -> Measured:
    """a / b of two means, sd^2 = (a/b)^2 ((sd_a/a)^2 + (sd_b/b)^2), to first order in independent spreads."""
    value = above.mean / below.mean
    sd = abs(value) * float(np.hypot(above.sd / above.mean, below.sd / below.mean))
    return Measured(paper.id, value, 0.0 if np.isnan(sd) else sd, min(above.seeds, below.seeds), above.why or below.why)


def compare(found: Mapping[str, Sequence[float]] | Iterable[Measured], numbers: Mapping[str, PaperNumber]) -> list:
    """A Comparison for every measured number (id -> one value per seed, or ``Measured``), and for ratios of them."""
    if isinstance(found, Mapping):
        found = [measured(*item) for item in found.items()]
    rows = {m.id: m for m in found}
    if unknown := sorted(set(rows) - set(numbers)):
        raise ValueError(f"no printed number has the id {unknown[0]!r}; add it to data/paper_numbers.yaml")
    for paper in numbers.values():
        if paper.kind == "ratio" and set(paper.of) <= set(rows):
            rows[paper.id] = ratio(paper, *(rows[part] for part in paper.of))
    return [_comparison(numbers[id], m, rows, numbers) for id, m in rows.items()]


def _comparison(paper: PaperNumber, m: Measured, rows: Mapping[str, Measured], numbers) -> Comparison:
    group = [k for k in rows if paper.group and numbers[k].group == paper.group]
    verdict = judge(paper, m, len(group) > 1 and ordered([(numbers[k].value, rows[k].mean) for k in group]))
    ours = m.mean if np.isfinite(m.mean) else None
    return Comparison(paper.id, paper.value, ours, m.sd, m.seeds, paper.unit, paper.where, verdict, m.why)


def judge(paper: PaperNumber, m: Measured, in_order: bool = False) -> str:
    """The verdict: the same within both standard errors, better, in the order of its group, or none of these."""
    if paper.kind == "part":
        return PART
    if not np.isfinite(m.mean):
        return NOT_REACHED
    gap = m.mean - paper.value
    if abs(gap) <= float(np.hypot(paper.tolerance, m.error)):
        return REPRODUCED
    if (gap < 0 and paper.better == "lower") or (gap > 0 and paper.better == "higher"):
        return BETTER
    return ORDERING if in_order else NOT


def ordered(pairs: Iterable[tuple[float, float]]) -> bool:
    """Whether no two of (printed, ours) are the other way round; what is not reached comes last."""
    known = [(p, o if np.isfinite(o) else np.inf) for p, o in pairs]
    return not any(a[0] < b[0] and a[1] > b[1] for a, b in permutations(known, 2))


def judged(rows: Sequence[Mapping], numbers: Mapping[str, PaperNumber], whole: bool = False) -> list[dict]:
    """The comparisons of a result file with the verdicts of today, ratios included.

    whole: the run covers every table that it touches, so what it lacks of one was not reached (files of older runs
    leave it out). A table is the first two words of an id.
    """
    found = [
        Measured(c["id"], np.nan if c["ours"] is None else c["ours"], c["sd"], c["seeds"], c.get("why", ""))
        for c in rows
        if c["id"] in numbers and numbers[c["id"]].kind != "ratio"
    ]
    known, tables = {m.id for m in found}, {table_of(m.id) for m in found}
    if whole:
        gone = [n.id for n in numbers.values() if n.id not in known and n.kind != "ratio" and table_of(n.id) in tables]
        found += [Measured(id, np.nan, 0.0, 0) for id in gone]
    return [asdict(c) for c in compare(found, numbers)]


def table_of(id: str) -> str:
    """The table of a printed number: the first two words of its id."""
    return ".".join(id.split(".")[:2])


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
        row = [f"{c['id']} [{c['where']}]", f"{c['paper']:g} {c['unit']}", ours(c)]
        row += [ours(best) if best else "-"] * bool(full) + [best["verdict"] if best else "run `make paper`"]
        rows.append(row)
    return rows


def ours(c: Mapping) -> str:
    """Our side of a comparison as text."""
    if c["ours"] is None:
        return f"{NOT_REACHED} {c.get('why', '')}".rstrip()
    if c["seeds"] == 1:  # one run has no spread, and "+- 0" would look like certainty
        return f"{c['ours']:.3f} {c['unit']} (1 seed)"
    return f"{c['ours']:.3f} +- {c['sd']:.3f} {c['unit']} ({c['seeds']} seeds)"


def summary(comparisons: Sequence[Mapping]) -> str:
    """How many of the printed numbers hold, in a sentence; the parts of a ratio are counted once, as the ratio."""
    n = Counter(c["verdict"] for c in comparisons if c["verdict"] != PART)
    return (
        f"{n[REPRODUCED]} of {n.total()} printed numbers reproduced, {n[BETTER]} better than printed, {n[ORDERING]} in "
        f"the same order at a different level, {n[NOT]} not reproduced, {n[NOT_REACHED]} not reached."
    )
