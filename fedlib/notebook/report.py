"""What the papers' settings gave: printed numbers beside ours, claims, a line per paper and per notebook."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..trainings.profiles import FIGURES, read_result
from .claims import Claim, all_claims, count, find, titled
from .pages import columns
from .verdicts import CONSISTENT, HIGHER, LOWER, Judged, counted, rows_of, summary, table


class Facts(NamedTuple):
    """What all results of the paper profile say. rows: (notebook, number beside ours). claims: each with its verdict,
    those that only an extra profile runs (diffusion-reaction) with that one's. notes: a line per result."""

    rows: list[tuple[str, Judged]]
    claims: list[tuple[Claim, Mapping]]
    notes: list[str]


def facts(figures: Path = FIGURES) -> Facts:
    """For the report in a terminal, and for the one on the site."""
    results, extra, complaints = results_of(figures)
    rows = [(result["notebook"], row) for result in results for row in rows_of(result)]
    claims = [(find(id), verdict) for id, verdict in sorted(all_claims([*results, *extra]).items())]
    return Facts(rows, claims, [*complaints, *map(note, results)])


def report(figures: Path = FIGURES) -> str:
    """Numbers (paper | ours | verdict) and claims of all results of the paper profile, a summary, a line per paper."""
    rows, claims, notes = facts(figures)
    if not rows:
        return "\n".join([f"no results of the paper profile in {figures}; run `make paper`", *notes])
    rows = [row for _, row in rows]
    lines = [
        [claim.verdict(verdict["holds"]), claim.id, titled(claim) + f": {verdict['why']}" * bool(verdict["why"])]
        for claim, verdict in claims
    ]
    listed = columns([["verdict", "id", "claim"], *lines])
    return "\n".join([columns(table(rows)), "", listed, "", summary(rows), *per_paper(rows, claims), "", *notes])


def per_paper(rows: Sequence[Judged], claims: Sequence[tuple[Claim, Mapping]]) -> list[str]:
    """A line per paper: how many numbers and effects could be one more run of ours or not, how many claims hold."""
    judged = [(row.number.id.split(".")[0], row.sort) for row in counted(rows)]
    lines = []
    for paper in dict.fromkeys([paper for paper, _ in judged] + [claim.paper for claim, _ in claims]):
        n = Counter(sort for name, sort in judged if name == paper)
        numbers = f"{n[CONSISTENT]} consistent, {n[LOWER]} lower, {n[HIGHER]} higher"
        mine = [(claim, verdict["holds"]) for claim, verdict in claims if claim.paper == paper]
        lines.append(f"  {paper}: {numbers}; {count(mine)}")
    return lines


def note(result: Mapping) -> str:
    """One line on a result: how long it took on what; where it reads stored trainings, what those took."""
    hardware = result["environment"]["hardware"]
    device = hardware["accelerator"] or f"{hardware['threads']} threads of {hardware['cpu']}"
    took = f"{result['wall_s']:.0f} s"
    if "core_s" in result:
        took = f"drawn from stored trainings, {result['core_s'] / 3600:.1f} core-hours"
    return f"  {result['notebook']}: {took} on {device}"


def results_of(figures: Path = FIGURES) -> tuple[list[dict], list[dict], list[str]]:
    """Results of the paper profile, those of profiles that run what it leaves out, complaints about damaged files."""
    results, extra, complaints = [], [], []
    for path in sorted(figures.glob("[!.]*/[!.]*/result.json"), key=lambda path: (path.parent.name, path)):
        profile = path.parent.name.split("-")[0]
        if profile in ("quick", "custom"):
            continue
        try:
            (results if profile == "paper" else extra).append(read_result(path))
        except ValueError as error:
            complaints.append(f"  ! {error}")
    return results, extra, complaints
