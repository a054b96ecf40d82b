"""The report as a table that a reader sorts: every printed number and every claim with its verdict."""

from collections.abc import Iterable, Sequence
from html import escape

from ..runs.claims import all_claims, find
from ..runs.profiles import FIGURES
from ..runs.report import extra_results, paper_results
from ..runs.results import comparisons_of
from ..runs.verdicts import summary, table


def html() -> str:
    """Both tables of `python -m fedlib report`, numbers and claims."""
    results = paper_results()
    numbers = [c for result in results for c in comparisons_of(result)]
    header, *rows = table(numbers)
    found = all_claims([*results, *extra_results(FIGURES)], True)
    claims = [(find(id), said) for id, said in sorted(found.items())]
    lines = [
        [c.verdict(said["holds"]), c.id, c.text, "our target" if c.target else "the paper's", c.where, said["why"]]
        for c, said in claims
    ]
    return (
        f"<p>{escape(summary(numbers))}</p>\n"
        + as_table("Printed numbers", header, rows)
        + "<h2>Claims, and our targets</h2>\n"
        + as_table("Claims", ["verdict", "id", "claim", "whose", "where", "numbers"], lines)
    )


def as_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a button at the head of each column, which sort.js listens to, and a field that filters rows."""
    head = "".join(f'<th scope="col"><button type="button">{escape(name)}</button></th>' for name in header)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="sorted"><label>Only rows with <input type="search"></label>\n<div class="wide"><table>'
        f"<caption>{escape(caption)}; press a column's name to sort by it</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody></table></div></div>\n"
    )
