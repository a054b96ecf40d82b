"""The papers' printed numbers and effects, and whether each could be one more run of ours."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import sub, truediv
from typing import NamedTuple

import numpy as np
import yaml

from ..files import ROOT
from ..numerics.metrics import interval, mean_sd

CONSISTENT, LOWER, HIGHER = "consistent", "lower", "higher"
ONE_SEED, NOT_SEEN, UNDEFINED, PART = "not judged (one seed)", "not seen", "undefined", "see its effect"

PAPERS = {"fed-deeponet": "Fed-DeepONet", "fedsciml": "FedSciML", "fedstnn": "FedStNN", "feddro": "FedDRO"}
EFFECTS = {"ratio": truediv, "difference": sub}
ENOUGH, FEW = 5, "few seeds"  # with fewer seeds a verdict stands in its row, but does not count
WIDE = 100  # an interval whose ends differ by more than so many times excludes next to nothing


@dataclass(frozen=True)
class PaperNumber:
    """One printed number, one run of theirs; or an effect, the ratio or the difference of two of them.

    value: as printed (.inf: an event that never came). better: "lower", "higher" or "equal". scale: "log" for positive
    errors, or "linear". kind: "level"; "ratio" or "difference" of the two numbers in ``parts``, an effect; "part" of an
    effect, where the paper's statement is the effect and the number alone gets no verdict. at_least: the paper says
    "below" of what an effect is divided by. same_as: the number that is the same run or event, or of which this is a
    mean; it is not counted again. what: of which row or column it is, where ``where`` leaves that open. differs: a
    setting of ours that is not the paper's. undefined: what the paper does not say.
    """

    id: str
    value: float
    where: str
    unit: str = ""
    better: str = "lower"
    scale: str = "log"
    kind: str = "level"
    parts: tuple[str, str] = ()
    at_least: bool = False
    same_as: str = ""
    what: str = ""
    differs: str = ""
    undefined: str = ""

    @property
    def printed(self) -> str:
        """The value with its unit, as text."""
        value = f"{self.value:.3g}" if self.kind in EFFECTS else f"{self.value:g}"
        return "never" if self.value == np.inf else f"{'at least ' * self.at_least}{value} {self.unit}".strip()

    @property
    def paper(self) -> str:
        return self.id.split(".")[0]

    @property
    def words(self) -> str:
        """What it is: "Fed-DeepONet, Table 1, 10 clients"."""
        return ", ".join(filter(None, [PAPERS[self.paper], self.where, self.what]))


class Measured(NamedTuple):
    """Ours of a printed number. values: one per seed, None where it was not seen. bound: what comes later was not
    waited for; None: who has not come never does. why: a word on it.
    """

    values: tuple[float | None, ...]
    why: str = ""
    bound: float | None = None


class Judged(NamedTuple):
    """A printed number beside ours. low, high: where one more run of ours lies with 95 %."""

    number: PaperNumber
    measured: Measured
    verdict: str
    low: float = np.nan
    high: float = np.nan

    @property
    def sort(self) -> str:
        """What it counts as: consistent, lower, higher, few seeds, not judged or undefined."""
        word = self.verdict.split(" (")[0]
        if word in (CONSISTENT, LOWER, HIGHER):
            return word if len(self.measured.values) >= ENOUGH else FEW
        return "not judged" if word == NOT_SEEN else word

    @property
    def wide(self) -> bool:
        """Consistent, as nearly anything would be."""
        return self.verdict == CONSISTENT and self.number.scale == "log" and self.high > WIDE * self.low


@cache
def paper_numbers() -> dict[str, PaperNumber]:
    """Every printed number and every effect by id; an effect stands below its two numbers."""
    numbers: dict[str, PaperNumber] = {}
    for id, fields in yaml.safe_load((ROOT / "data/paper_numbers.yaml").read_text(encoding="utf-8"))["numbers"].items():
        if "parts" in fields:
            fields = effect(fields["kind"], *(numbers[part] for part in fields["parts"])) | fields
        numbers[id] = PaperNumber(id, **fields)
    return numbers


def effect(kind: str, a: PaperNumber, b: PaperNumber) -> dict:
    """Fields of an effect that follow from its two numbers: a / b or a - b; what they lack, it lacks."""
    unit, scale = ("", "log") if kind == "ratio" else ("points" if a.unit == "%" else a.unit, "linear")
    return {
        "value": EFFECTS[kind](a.value, b.value), "unit": unit, "scale": scale, "better": "equal",
        "differs": a.differs, "undefined": a.undefined,
    }  # fmt: skip


def measured(values: Sequence[float], why: str = "", bound: float | None = None) -> Measured:
    """One value per seed; what is not finite was not seen."""
    values = np.atleast_1d(np.asarray(values, float)).tolist()
    return Measured(tuple(v if np.isfinite(v) else None for v in values), why, bound)


def judge(paper: PaperNumber, ours: Measured) -> Judged:
    """The verdict on a number: could the printed value be one more run of ours?"""
    unseen, one = None in ours.values, len(ours.values) == 1
    low, high = (np.nan, np.nan) if unseen or one else interval(ours.values, paper.scale)
    if paper.kind == "part" or paper.undefined:
        verdict = PART if paper.kind == "part" else UNDEFINED
    elif one:
        verdict = ONE_SEED
    elif unseen:
        verdict = CONSISTENT if paper.value == np.inf and ours.bound is None else NOT_SEEN
    elif low <= paper.value <= high or (paper.at_least and paper.value <= low):
        verdict = CONSISTENT
    else:
        verdict = LOWER if high < paper.value else HIGHER
        if paper.better != "equal":
            verdict += " (better)" if verdict == paper.better else " (worse)"
    return Judged(paper, ours, verdict, low, high)


def paired(kind: str, a: Measured, b: Measured) -> Measured:
    """An effect seed by seed; not seen where one of both is not."""
    pairs = zip(a.values, b.values, strict=True)
    return Measured(tuple(None if None in pair else EFFECTS[kind](*pair) for pair in pairs), a.why or b.why)


def compare(ours: Mapping[str, Measured], numbers: Mapping[str, PaperNumber]) -> list[Judged]:
    """A row for every measured number that is printed, and for the effects between them."""
    ours = {id: values for id, values in ours.items() if id in numbers}
    effects = {
        paper.id: paired(paper.kind, *(ours[part] for part in paper.parts))
        for paper in numbers.values()
        if paper.parts and set(paper.parts) <= set(ours)
    }
    return [judge(numbers[id], values) for id, values in (ours | effects).items()]


def rows_of(result: Mapping) -> list[Judged]:
    """The printed numbers that a result has, judged by today's rules."""
    return compare({id: Measured(**kept) for id, kept in result.get("measured", {}).items()}, paper_numbers())


def counted(rows: Iterable[Judged]) -> list[Judged]:
    """The rows that a headline counts: each run or event once."""
    return [row for row in rows if row.verdict != PART and not row.number.same_as]


# as text


def table(rows: Sequence[Judged], changed: bool = False, full: Sequence[Judged] = ()) -> list[list[str]]:
    """Rows (number, paper, ours, verdict, remark) of text; the first is the header.

    changed: ours has other parameters than the paper's; then full are the rows of the committed result, whose verdicts
    count.
    """
    header = ["number", "paper", "ours"] + ["ours, the paper's settings"] * bool(full) + ["verdict", "remark"]
    stored, lines = {row.number.id: row for row in full}, []
    for row in rows:
        n, best = row.number, stored.get(row.number.id) if changed else row
        line = [f"{n.id} [{n.where}]", n.printed, ours(row)] + [ours(best) if best else "-"] * bool(full)
        lines.append([*line, verdict_in_words(best) if best else "-", remark(n)])
    return [header, *lines]


def ours(row: Judged) -> str:
    """Our side of a row: mean and st.dev. over seeds, and where one more run would lie; or how many came at all."""
    (values, why, bound), unit = row.measured, row.number.unit
    if None in values and bound is None:
        return f"{NOT_SEEN} {why}".strip()
    if None in values:
        return f"{len(values) - values.count(None)} of {len(values)} seeds came in {bound:g} {unit} {why}".strip()
    mean, sd = mean_sd(np.asarray(values))
    if len(values) == 1:  # one run has no spread, and "+- 0" would look like certainty
        return f"{mean:.3f} {unit} (1 seed) {why}".strip()
    one_more = "" if np.isnan(row.low) else f"; one more: {row.low:.3g} to {row.high:.3g}"
    return f"{mean:.3f} +- {sd:.3f} {unit} ({len(values)} seeds{one_more}) {why}".strip()


def verdict_in_words(row: Judged) -> str:
    """The verdict; with few seeds; and what a single run says of an event."""
    paper, (values, _, bound) = row.number.value, row.measured
    words = row.verdict + f", {FEW}" * (row.sort == FEW)
    if row.wide:
        words += f", can hardly fail: an interval of a factor {row.high / row.low:.0f}"
    if row.sort != "not judged":
        return words
    if paper == np.inf and (None not in values or bound is None):
        return words + (", but never, as printed" if None in values else ", but ours came")
    return words + ", but later than printed" * ({*values} == {None} and bound is not None and bound > paper)


def remark(number: PaperNumber) -> str:
    """What must be known to read a row."""
    same = number.same_as and f"not counted: as {paper_numbers()[number.same_as].words}"
    return "; ".join(filter(None, [number.undefined, number.differs, same])) or "-"


def summary(rows: Iterable[Judged]) -> str:
    """How many of the printed numbers and of the effects between them hold, in words for a newcomer."""
    rows = [row for row in rows if row.verdict != PART]
    levels = [row for row in rows if row.number.kind == "level"]
    numbers, effects = counted(levels), [row for row in counted(rows) if row.number.kind in EFFECTS]
    blank = sum(row.number.value == np.inf for row in levels)
    n, of_effects = (Counter(row.sort for row in some) for some in (numbers, effects))
    outside, single = (
        ", ".join(sorted({place(row.number) for row in numbers if row.sort in sorts}))
        for sorts in ((LOWER, HIGHER), ("not judged",))
    )
    apart = [
        f"{place(row.number)}: printed {row.number.printed}, ours {np.mean(row.measured.values):.2g}"
        for row in effects
        if row.sort in (LOWER, HIGHER)
    ]
    return (
        f"Of {len(levels) - blank} numbers that the papers print and {blank} cells that they leave blank, "
        f"{len(levels) - len(numbers)} repeat another one. Of the other {len(numbers)}, {n[CONSISTENT]} could be one "
        f"more run of ours{hardly(numbers)} and {n[LOWER] + n[HIGHER]} could not ({outside}); of {n[FEW]} we "
        f"have fewer than five seeds, which do not count; {n['not judged']} are not judged, for ours is a single run "
        f"or ended before (all of them: {single}); {n[UNDEFINED]} are not defined well enough to compare.\n\n"
        f"Of {len(effects)} effects (a growth, a fall, a gain, taken seed by seed), {of_effects[CONSISTENT]} could be "
        f"one more run of ours{hardly(effects)}, {len(apart)} could not, and "
        f"{len(effects) - of_effects[CONSISTENT] - len(apart)} are undefined, not judged or of few seeds."
        + (f" Those that could not: {'; '.join(apart)}." if apart else "")
    )


def hardly(rows: Sequence[Judged]) -> str:
    """How many of the consistent ones say next to nothing."""
    n = sum(row.wide for row in rows if row.sort == CONSISTENT)
    return f" ({n} of them by an interval of more than a factor {WIDE}, which can hardly fail)" * (n > 0)


def place(number: PaperNumber) -> str:
    """Table, figure or section, and paper; of an effect what it is, too."""
    where, _, what = number.where.partition(", ")
    return f"{where} of {PAPERS[number.paper]}" + f", {what}" * (number.kind in EFFECTS)
