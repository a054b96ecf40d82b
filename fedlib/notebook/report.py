"""What the papers' settings gave in two tables, printed numbers beside ours and claims: text, Markdown, HTML."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

import pandas

from ..files import from_git, write_atomically
from ..trainings.settings import FIGURES, NOTEBOOKS, cells_of, foreign, read_result
from .claims import TARGET_WORDS, TRIVIAL, WORDS, Claim, all_claims, find, titled
from .claims import summary as summary_of_claims
from .pages import columns, markdown
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
    remark,
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
    """Of the results of the paper's settings."""
    results, notes = [], []
    for path in sorted(figures.glob("[0-9]*/result.json")):
        try:
            results.append(read_result(path))
        except ValueError as error:
            notes.append(f"  ! {error}")
    rows = [(result["notebook"], row) for result in results for row in rows_of(result)]
    claims = [(find(id), verdict) for id, verdict in sorted(all_claims(results).items())]
    return Facts(rows, claims, [*notes, *map(note, results)])


def note(result: Mapping) -> str:
    """One line on a result: how long it took on what; where it reads stored trainings, what those took."""
    hardware = result["environment"]["hardware"]
    device = hardware["accelerator"] or f"{hardware['threads']} threads of {hardware['cpu']}"
    took = f"{result['wall_s']:.0f} s"
    if "core_s" in result:
        took = f"stored trainings, {result['core_s'] / 3600:.1f} core-hours"
    return f"  {result['notebook']}: {took} on {device}"


def table_of_numbers(rows: Iterable[tuple[str, Judged]]) -> pandas.DataFrame:
    """A row for each printed number, by id; sort: as what it is counted."""
    return pandas.DataFrame.from_dict(
        {
            row.number.id: {
                "number": row.number.words, "paper": row.number.printed, "ours": ours(row),
                "verdict": verdict_in_words(row), "remark": remark(row.number), "notebook": notebook, "sort": row.sort,
            }
            for notebook, row in rows
        }, orient="index", columns=["number", "paper", "ours", "verdict", "remark", "notebook", "sort"],
    )  # fmt: skip


def table_of_claims(claims: Iterable[tuple[Claim, Mapping]]) -> pandas.DataFrame:
    """A row for each claim, by id; sort: as what it is counted."""
    return pandas.DataFrame.from_dict(
        {
            claim.id: {
                "verdict": claim.in_words(verdict), "claim": titled(claim), "whose": PAPERS[claim.paper],
                "numbers": verdict["why"], "sort": claim.sort(verdict),
            }
            for claim, verdict in claims
        }, orient="index", columns=["verdict", "claim", "whose", "numbers", "sort"],
    )  # fmt: skip


# in a terminal

NUMBER = "{number} ({id}): printed {paper}, ours {ours}: {verdict}; {remark}"
CLAIM = "{claim} ({id}): {verdict}, {numbers}"


def report(figures: Path = FIGURES) -> str:
    """A summary, a line per paper, what differs from the papers, all else, what it took."""
    rows, claims, notes = facts(figures)
    if not rows:
        fix = f"if they were deleted, {from_git(figures)} brings them back; else run `make figures`"
        return "\n".join([f"no results in {figures}; {fix}", *notes])
    head = [*summary(row for _, row in rows).split("\n\n"), summary_of_claims(claims)]
    numbers, judged = table_of_numbers(rows), table_of_claims(claims)
    differ, *alike = [paragraph(title, numbers[numbers.sort.isin(sorts)], NUMBER) for title, sorts in NUMBERS.items()]
    fail, missed, *hold = [paragraph(title, judged[judged.sort == sort], CLAIM) for sort, title in CLAIMS.items()]
    parts = [*map(textwrap.fill, head, [WIDTH] * len(head)), per_paper(rows, claims), differ, fail, missed]
    return "\n\n".join([*parts, *alike, *hold, "\n".join(["What it took", *notes])])


def paragraph(title: str, rows: pandas.DataFrame, form: str) -> str:
    """A title, how many there are, and a few lines for each."""
    texts = [form.format(id=id.replace(" ", "\xa0"), **row).removesuffix("; -") for id, row in rows.iterrows()]
    indents = {"initial_indent": "  ", "subsequent_indent": "      "}
    lines = [textwrap.fill(text, WIDTH, **indents, break_on_hyphens=False) for text in texts]
    return "\n".join([f"{title}: {len(rows)}", *lines]).replace("\xa0", " ")


def per_paper(rows: Sequence[tuple[str, Judged]], claims: Sequence[tuple[Claim, Mapping]]) -> str:
    """A line per paper: how many numbers and effects are what, how many claims hold, how many targets are met."""
    words = [CONSISTENT, LOWER, HIGHER, *CLAIMS]
    lines = [["", *words]]
    for paper, title in PAPERS.items():
        judged = [row for row in counted(row for _, row in rows) if row.number.paper == paper]
        n = Counter(row.sort for row in judged if row.sort in words[:3])
        n += Counter(claim.sort(verdict) for claim, verdict in claims if claim.paper == paper)
        lines.append([title, *(str(n[word]) for word in words)])
    return columns(lines)


# as pages


def page(result: dict) -> str:
    """A notebook's figures, printed numbers and claims in Markdown, for who reads without a kernel."""
    changed = f"With {result['label']}.\n\n" if result["changed"] else ""
    name = result["notebook"]
    lines = [f"# {name}\n\n{changed}What [the notebook](../../notebooks/{name}.ipynb) draws, measures and judges."]
    lines += [f"![{alt}]({figure}.png)\n\n*{figure}*: {alt}" for figure, alt in result.get("figures", {}).items()]
    numbers = table_of_numbers((name, row) for row in rows_of(result))
    claims = table_of_claims((find(id), verdict) for id, verdict in result["claims"].items())
    for table in (numbers[["number", "paper", "ours", "verdict"]], claims[["verdict", "claim", "numbers"]]):
        if len(table):
            lines.append(markdown([list(table), ["---"] * len(table.columns), *table.values.tolist()]))
    return "\n\n".join(lines) + "\n"


STYLE = """
body { font: 16px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 1100px; padding: 0 1rem; color: #222; }
h2 { margin: 2.5rem 0 0.5rem; } nav a { margin-right: 1em; white-space: nowrap; }
figure { margin: 1rem 0; } img { max-width: 100%; height: auto; } table { border-collapse: collapse; }
th { text-align: left; } td { border-top: 1px solid #ccc; padding: 0.3rem 0.6rem 0.3rem 0; vertical-align: top; }
"""


def write_gallery(figures: Path = FIGURES, notebooks: Path = NOTEBOOKS) -> Path:
    """figures/index.html: each figure in words, and the printed numbers beside ours, of all notebooks that have any; a
    static page, which names files and fetches nothing."""
    links, sections = [], []
    for path in sorted(notebooks.glob("*.ipynb")):
        try:
            result = read_result(figures / path.stem / "result.json")
        except (OSError, ValueError):  # not drawn, or damaged, which the report says
            continue
        if not foreign(path):
            title = escape("".join(cells_of(path)[0]["source"]).splitlines()[0].lstrip("# "))
            links.append(f'<a href="#{path.stem}">{title}</a>')
            sections.append(section(path.stem, title, result))
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><style>{STYLE}</style>'
    head = f'<!doctype html>\n<html lang="en"><head>{head}<title>Figures</title></head><body>\n<h1>Figures</h1>\n'
    words = f"<p>What the papers' settings gave.</p>\n<nav>{' '.join(links)}</nav>\n"
    write_atomically(figures / "index.html", "\n".join([head, words, *sections, "</body></html>\n"]))
    return figures / "index.html"


def section(name: str, title: str, result: dict) -> str:
    """A notebook's figures and printed numbers."""
    pictures = [
        f'<figure><img src="{name}/{figure}.png" loading="lazy" alt="{escape(alt)}"><figcaption><b>{figure}</b>: '
        f"{escape(alt)}</figcaption></figure>"
        for figure, alt in result.get("figures", {}).items()
    ]
    numbers = table_of_numbers((name, row) for row in rows_of(result))[["number", "paper", "ours", "verdict"]]
    table = numbers.to_html(index=False, border=0) if len(numbers) else ""
    link = f'<a href="../notebooks/{name}.ipynb">{name}.ipynb</a>'
    return "\n".join([f'<h2 id="{name}">{title}</h2>\n<p>{link}</p>', *pictures, table])
