"""The papers' printed numbers, and whether each could be one more run of ours."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml
from scipy.special import ndtri, stdtrit

from ..files import ROOT
from ..numerics.metrics import mean_sd

CONSISTENT, LOWER, HIGHER = "consistent", "lower", "higher"
ONE_SEED, NOT_SEEN, UNDEFINED, PART = "not judged (one seed)", "not seen", "undefined", "see its ratio"

SEEDS, FACTOR = 5, 2  # fewer seeds, or an interval wider than this factor, prove little


@dataclass(frozen=True)
class PaperNumber:
    """One printed number: one run of theirs.

    value, spread: as printed (.inf: an event that never came); samples: how many test cases the spread is over.
    better: "lower", "higher" or "equal". scale: "log" for positive errors, or "linear". kind: "level"; "ratio" of the
    two numbers in ``of``, where the paper's statement is an effect; "part" of such a ratio, which gets no verdict.
    same_as: the number that is the same run or event, or of which this is a mean; it is not counted again.
    differs: a setting of ours that is not the paper's. undefined: what the paper does not say.
    """

    id: str
    value: float
    where: str
    unit: str = ""
    spread: float | None = None
    samples: int | None = None
    better: str = "lower"
    scale: str = "log"
    kind: str = "level"
    of: tuple[str, str] = ()
    same_as: str = ""
    differs: str = ""
    undefined: str = ""

    @property
    def error(self) -> float:
        """The paper's own standard error of the value: spread / sqrt(samples) for a mean over test cases."""
        return 0.0 if self.spread is None else self.spread / (self.samples or 1) ** 0.5


class Measured(NamedTuple):
    """Ours of a printed number. values: one per seed, None where it was not seen. bound: it came here at the latest."""

    values: tuple[float | None, ...]
    why: str = ""
    bound: float | None = None


class Row(NamedTuple):
    """A printed number beside ours. low, high: where one more run of ours lies with 95 %. little: it proves little."""

    number: PaperNumber
    measured: Measured
    verdict: str
    low: float = np.nan
    high: float = np.nan
    little: bool = False


@cache
def paper_numbers(path: Path = ROOT / "data" / "paper_numbers.yaml") -> dict[str, PaperNumber]:
    """Every printed number by id."""
    return {
        key: PaperNumber(key, **fields)
        for key, fields in yaml.safe_load(path.read_text(encoding="utf-8"))["numbers"].items()
    }


def measured(values: Sequence[float], why: str = "", bound: float | None = None) -> Measured:
    """One value per seed; what is not finite was not seen."""
    values = np.atleast_1d(np.asarray(values, float)).tolist()
    return Measured(tuple(v if np.isfinite(v) else None for v in values), why, bound)


def interval(values: Sequence[float], scale: str = "log", error: float = 0.0) -> tuple[float, float]:
    """Where one more run of ours lies with 95 %: m -+ t(0.975, n - 1) s sqrt(1 + 1/n), of the logarithms for "log".

    error: the standard error of the number that is compared, which widens the interval: hypot(..., 1.96 error).
    """
    x = np.log(values) if scale == "log" else np.asarray(values, float)
    (m, s), n = mean_sd(x), len(x)
    if scale == "log":
        error = error / np.exp(m)
    half = np.hypot(stdtrit(n - 1, 0.975) * s * (1 + 1 / n) ** 0.5, ndtri(0.975) * error)
    low, high = m - half, m + half
    return (float(np.exp(low)), float(np.exp(high))) if scale == "log" else (float(low), float(high))


def judge(paper: PaperNumber, ours: Measured) -> Row:
    """The verdict on a number: could the printed value be one more run of ours?"""
    if paper.kind == "part" or paper.undefined:
        return Row(paper, ours, UNDEFINED if paper.undefined else PART)
    if not ours.values or None in ours.values:
        return Row(paper, ours, NOT_SEEN)
    if len(ours.values) == 1:
        return Row(paper, ours, ONE_SEED)
    low, high = interval(ours.values, paper.scale, paper.error)
    if low <= paper.value <= high:
        little = len(ours.values) < SEEDS or low <= 0 or high / low > FACTOR
        return Row(paper, ours, CONSISTENT, low, high, little)
    side = LOWER if high < paper.value else HIGHER
    known = {LOWER, HIGHER} & {paper.better}
    return Row(paper, ours, side + (" (better)" if side in known else " (worse)" if known else ""), low, high)


def ratio(above: Measured, below: Measured) -> Measured:
    """Seed by seed; not seen where one of both is not."""
    pairs = zip(above.values, below.values, strict=True)
    return Measured(tuple(None if None in (a, b) else a / b for a, b in pairs), above.why or below.why)


def compare(found: Mapping[str, Measured], numbers: Mapping[str, PaperNumber]) -> list[Row]:
    """A row for every measured number, and for the ratios of them.

    Raises:
        ValueError: a number is not printed.
    """
    if unknown := sorted(set(found) - set(numbers)):
        raise ValueError(f"no printed number has the id {unknown[0]!r}; add it to data/paper_numbers.yaml")
    found = dict(found)
    for paper in numbers.values():
        if paper.kind == "ratio" and set(paper.of) <= set(found):
            found[paper.id] = ratio(*(found[part] for part in paper.of))
    return [judge(numbers[id], ours) for id, ours in found.items()]


def rows_of(result: Mapping) -> list[Row]:
    """The printed numbers that a result has, judged by today's rules."""
    return printed_of({id: Measured(**kept) for id, kept in result.get("measured", {}).items()})


def printed_of(found: Mapping[str, Measured]) -> list[Row]:
    """Those of the measured numbers that the paper prints, and ratios of them."""
    return compare({id: kept for id, kept in found.items() if id in paper_numbers()}, paper_numbers())


# as text


def table(rows: Sequence[Row], profile: str = "paper", full: Sequence[Row] = ()) -> list[list[str]]:
    """Rows (number, paper, ours, verdict, remark) of text; the first is the header.

    profile: what ours was run with; a verdict is given for the paper profile only. full: rows of the paper profile's
    committed run, shown (with their verdicts) beside those of a smaller one.
    """
    header = ["number", "paper", f"ours, {profile} profile"]
    lines = [[*header, *["ours, paper profile (committed)"] * bool(full), "verdict", "remark"]]
    known = {row.number.id: row for row in full}
    for row in rows:
        n, best = row.number, row if profile == "paper" else known.get(row.number.id)
        line = [f"{n.id} [{n.where}]", "never" if n.value == np.inf else f"{n.value:g} {n.unit}", ours(row)]
        line += [ours(best) if best else "-"] * bool(full)
        lines.append([*line, said(best), remark(n)] if best else [*line, "run `make paper`", remark(n)])
    return lines


def ours(row: Row) -> str:
    """Our side of a row: mean and st.dev. over seeds, and where one more run would lie."""
    (values, why, bound), unit = row.measured, row.number.unit
    if not values or None in values:
        late = "" if bound is None else f"; at {bound:g} {unit} at the latest"
        return f"{NOT_SEEN} {why}{late}".strip()
    mean, sd = mean_sd(np.asarray(values))
    if len(values) == 1:  # one run has no spread, and "+- 0" would look like certainty
        return f"{mean:.3f} {unit} (1 seed) {why}".strip()
    one_more = "" if np.isnan(row.low) else f"; one more: {row.low:.3g} to {row.high:.3g}"
    return f"{mean:.3f} +- {sd:.3f} {unit} ({len(values)} seeds{one_more}) {why}".strip()


def said(row: Row) -> str:
    """The verdict, whether it proves little, and what a bound says."""
    earlier = row.verdict == NOT_SEEN and row.measured.bound is not None and row.measured.bound < row.number.value
    return row.verdict + ", proves little" * row.little + ", but earlier than printed" * earlier


def remark(number: PaperNumber) -> str:
    """What must be known to read a row."""
    same = number.same_as and f"not counted: as {number.same_as}"
    return "; ".join(filter(None, [number.undefined, number.differs, same])) or "-"


def summary(rows: Iterable[Row]) -> str:
    """How many of the printed numbers hold, in words for a newcomer."""
    rows = [row for row in rows if row.verdict != PART]
    counted = [row for row in rows if not row.number.same_as]
    n = Counter(row.verdict.split(" (")[0] for row in counted)
    little = sum(row.little for row in counted)
    return (
        f"Of {len(rows)} numbers that the papers print, {len(rows) - len(counted)} repeat another one. "
        f"Of the other {len(counted)}, {n[CONSISTENT]} could be one more run of ours ({n[CONSISTENT] - little} where "
        f"five seeds or more pin it down to a factor of two; {little} with a scatter too wide to prove much), "
        f"{n[LOWER] + n[HIGHER]} could not, {n['not judged'] + n[NOT_SEEN]} rest on a single run of ours or on events "
        f"that we did not record, and {n[UNDEFINED]} are not defined well enough to compare."
    )
