"""What the papers' settings gave: printed numbers beside ours, claims, a line per paper and per notebook."""

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby, zip_longest
from pathlib import Path
from typing import NamedTuple

from ..files import from_git
from ..trainings.settings import FIGURES, read_result
from .claims import TARGET_WORDS, TRIVIAL, WORDS, Claim, all_claims, find, titled
from .claims import summary as summary_of_claims
from .pages import columns
from .verdicts import (
    CONSISTENT,
    FEW,
    HIGHER,
    LOWER,
    PAPERS,
    PART,
    UNDEFINED,
    Judged,
    counted,
    ours,
    rows_of,
    summary,
    verdict_in_words,
)

WIDTH = 120  # characters of a line

NUMBERS = {
    "Printed numbers and effects that could not be one more run of ours": (LOWER, HIGHER),
    "That could": (CONSISTENT,),
    "Beside fewer than five seeds": (FEW,),
    "Beside a single run, or runs that ended before": ("not judged",),
    "Not defined well enough to compare": (UNDEFINED,),
    "Judged by the effect that they are a part of": (PART,),
}
"""Title -> what is counted as; what differs is the first."""

CLAIMS = {
    WORDS[False]: "Claims of the papers that do not hold",
    TARGET_WORDS[False]: "Targets of ours that are missed",
    WORDS[True]: "Claims of the papers that hold",
    TARGET_WORDS[True]: "Targets of ours that are met",
    FEW: "Claims judged by fewer than five seeds",
    WORDS[None]: "Claims that were not run",
    TRIVIAL: "Claims that cannot fail",
}
"""Verdict -> title; what differs comes first."""


class Facts(NamedTuple):
    """What all results say. rows: (notebook, number beside ours). claims: each with its verdict. notes: a line per
    result."""

    rows: list[tuple[str, Judged]]
    claims: list[tuple[Claim, Mapping]]
    notes: list[str]


def facts(figures: Path = FIGURES) -> Facts:
    """For the report in a terminal, and for the one on the site."""
    results, complaints = results_of(figures)
    rows = [(result["notebook"], row) for result in results for row in rows_of(result)]
    claims = [(find(id), verdict) for id, verdict in sorted(all_claims(results).items())]
    return Facts(rows, claims, [*complaints, *map(note, results)])


def report(figures: Path = FIGURES) -> str:
    """A page for a terminal: a summary, a line per paper, what differs from the papers, all else, what it took."""
    rows, claims, notes = facts(figures)
    if not rows:
        fix = f"if they were deleted, {from_git(figures)} brings them back; else run `make figures`"
        return "\n".join([f"no results in {figures}; {fix}", *notes])
    rows = [row for _, row in rows]
    counts = summary_of_claims(claims)
    head = ["\n".join(textwrap.wrap(text, WIDTH)) for text in [*summary(rows).split("\n\n"), counts]]
    differ, *alike = [numbers(title, [row for row in rows if row.sort in sorts]) for title, sorts in NUMBERS.items()]
    fail, missed, *hold = [in_words(title, word, claims) for word, title in CLAIMS.items()]
    parts = [*head, per_paper(rows, claims), differ, fail, missed, *alike, *hold]
    return "\n\n".join([*parts, "\n".join(["What it took", *notes])])


def numbers(title: str, rows: Sequence[Judged]) -> str:
    """Printed numbers beside ours; below each group what must be known to read it."""
    lines = [f"{title}: {len(rows)}"]
    for note, group in groupby(rows, key=lambda row: row.number.undefined or row.number.differs):
        for row in group:
            number, same = row.number, f"; not counted: as {row.number.same_as}" * bool(row.number.same_as)
            verdict = f"{ours(row)}: {verdict_in_words(row)}{same}"
            lines += aligned([f"{number.words} ({number.id})", number.printed, verdict], [49, 13, 52])
        lines += textwrap.wrap(note, WIDTH, initial_indent="    Of these: ", subsequent_indent="    ")
    return "\n".join(lines)


def in_words(title: str, word: str, claims: Sequence[tuple[Claim, Mapping]]) -> str:
    """Claims, or targets of ours, of one verdict, each with the numbers that say so."""
    chosen = [(claim, judged) for claim, judged in claims if claim.sort(judged) == word]
    lines = []
    for claim, judged in chosen:
        why = f"{claim.in_words(judged)}: " * (word == FEW) + judged["why"]
        lines += aligned([f"{titled(claim)} ({claim.id})", why], [76, 40])
    return "\n".join([f"{title}: {len(chosen)}", *lines])


def aligned(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Lines of a row whose cells take as many of them as they need."""
    wrapped = [textwrap.wrap(cell, width, break_on_hyphens=False) for cell, width in zip(cells, widths, strict=True)]
    lines = zip_longest(*wrapped, fillvalue="")
    return ["  " + "  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]


def per_paper(rows: Sequence[Judged], claims: Sequence[tuple[Claim, Mapping]]) -> str:
    """A line per paper: how many numbers and effects are what, how many claims hold, how many targets are met."""
    words = [CONSISTENT, LOWER, HIGHER, *CLAIMS]
    lines = [["", *words]]
    for paper, title in PAPERS.items():
        n = Counter(row.sort for row in counted(rows) if row.number.paper == paper and row.sort in words[:3])
        n += Counter(claim.sort(verdict) for claim, verdict in claims if claim.paper == paper)
        lines.append([title, *(str(n[word]) for word in words)])
    return columns(lines)


def note(result: Mapping) -> str:
    """One line on a result: how long it took on what; where it reads stored trainings, what those took."""
    hardware = result["environment"]["hardware"]
    device = hardware["accelerator"] or f"{hardware['threads']} threads of {hardware['cpu']}"
    took = f"{result['wall_s']:.0f} s"
    if "core_s" in result:
        took = f"stored trainings, {result['core_s'] / 3600:.1f} core-hours"
    return f"  {result['notebook']}: {took} on {device}"


def results_of(figures: Path = FIGURES) -> tuple[list[dict], list[str]]:
    """Results of the paper's settings, and complaints about damaged files."""
    results, complaints = [], []
    for path in sorted(figures.glob("[0-9]*/result.json")):
        try:
            results.append(read_result(path))
        except ValueError as error:
            complaints.append(f"  ! {error}")
    return results, complaints
