"""What the papers' settings gave: printed numbers beside ours, claims, a line per paper and per notebook."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..trainings.profiles import FIGURES, read_result
from .claims import all_claims, count, find, titled
from .pages import columns
from .verdicts import CONSISTENT, HIGHER, LOWER, Judged, counted, rows_of, summary, table


def report(figures: Path = FIGURES) -> str:
    """Numbers (paper | ours | verdict) and claims of all results of the paper profile, a summary, a line per paper.

    Claims that only an extra profile runs (diffusion-reaction) count with that one's result.
    """
    results, extra, notes = results_of(figures)
    notes += [note(r) for r in results]
    if not results:
        return "\n".join([f"no results of the paper profile in {figures}; run `make paper`", *notes])
    rows = [row for result in results for row in rows_of(result)]
    claims = all_claims([*results, *extra])
    return "\n".join([columns(table(rows)), listed(claims), summary(rows), *per_paper(rows, claims), "", *notes])


def listed(verdicts: Mapping[str, Mapping]) -> str:
    """Claims as lines (verdict, id, text [place]: numbers), sorted by id; nothing where there are none."""
    claims = [(find(id), verdict) for id, verdict in sorted(verdicts.items())]
    lines = [
        [c.verdict(verdict["holds"]), c.id, titled(c) + (f": {verdict['why']}" if verdict["why"] else "")]
        for c, verdict in claims
    ]
    return "\n" + columns([["verdict", "id", "claim"], *lines]) + "\n" if lines else ""


def per_paper(rows: Sequence[Judged], verdicts: Mapping[str, Mapping]) -> list[str]:
    """A line per paper: how many numbers and effects could be one more run of ours or not, how many claims hold."""
    claims = [(find(id), verdict["holds"]) for id, verdict in verdicts.items()]
    judged = [(row.number.id.split(".")[0], row.sort) for row in counted(rows)]
    lines = []
    for paper in dict.fromkeys([paper for paper, _ in judged] + [c.paper for c, _ in claims]):
        n = Counter(sort for name, sort in judged if name == paper)
        numbers = f"{n[CONSISTENT]} consistent, {n[LOWER]} lower, {n[HIGHER]} higher"
        lines.append(f"  {paper}: {numbers}; {count([(c, h) for c, h in claims if c.paper == paper])}")
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
