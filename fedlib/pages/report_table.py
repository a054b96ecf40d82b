"""The report as a page: a chart of the verdicts, and tables of printed numbers and claims that a reader sorts."""

import base64
from collections.abc import Iterable, Mapping
from html import escape
from textwrap import shorten

import numpy as np
import pandas
from matplotlib.figure import Figure

from ..notebook.claims import find
from ..notebook.claims import summary as summary_of_claims
from ..notebook.pages import png
from ..notebook.report import facts, table_of_claims, table_of_numbers
from ..notebook.style import COLORS, panels
from ..notebook.verdicts import CONSISTENT, ENOUGH, Judged, counted, rows_of, summary

SHORT = 40  # characters of a cell before the rest folds out
LONG = "remark", "numbers"  # columns whose cells fold


def html() -> str:
    """What `python -m fedlib report` says: the headline, the chart, numbers and claims."""
    rows, claims, _ = facts()
    words = [*summary(row for _, row in rows).split("\n\n"), summary_of_claims(claims)]
    picture = base64.b64encode(png(chart([row for _, row in rows]))).decode()
    alt = "printed numbers as multiples of ours, with the interval where one more run of ours lies"
    numbers, judged = table_of_numbers(rows), table_of_claims(claims)
    stored = " ".join(f'<a href="figures/{name}/result.json">{name.split("_")[0]}</a>' for name in dict(rows))
    numbers["notebook"] = [f'<a href="notebooks/{name}.html">{name.split("_")[0]}</a>' for name in numbers.notebook]
    return (
        "".join(f"<p>{escape(text)}</p>\n" for text in words)
        + f'<img style="max-width: 100%" alt="{alt}" src="data:image/png;base64,{picture}">\n'
        + as_table("Printed numbers", numbers)
        + f"<p>What is stored of the runs, as JSON, by notebook: {stored}</p>\n"
        + "<h2>Claims, and our targets</h2>\n"
        + as_table("Claims", judged)
    )


def of_notebook(result: Mapping) -> str:
    """A notebook's printed numbers beside ours, and its claims."""
    numbers = table_of_numbers((result["notebook"], row) for row in rows_of(result)).drop(columns="notebook")
    claims = table_of_claims((find(id), verdict) for id, verdict in result["claims"].items())
    tables = {"Printed numbers": numbers, "Claims, and our targets": claims}
    return "".join(as_table(caption, table) for caption, table in tables.items() if len(table))


def folded(text: str) -> str:
    """A cell's text; a long one folds out below its first words."""
    if len(text) <= SHORT:
        return text
    first = shorten(text, SHORT, placeholder="")
    rest = text[len(first) :]
    return f"<details><summary>{escape(first)} …</summary>{escape(rest)}</details>"


def chart(rows: Iterable[Judged]) -> Figure:
    """Each value and ratio as printed over ours (dot), and where one more run of ours lies (bar); one seed: a ring."""
    rows = [row for row in counted(rows) if row.number.scale == "log" and not row.number.undefined]
    rows = [row for row in rows if None not in row.measured.values and np.isfinite(row.number.value)][::-1]
    fig, axes = panels(1, 1, (5.5, 0.19 * len(rows) + 1))
    ax = axes.item()
    for y, row in enumerate(rows):
        middle = np.exp(np.mean(np.log(row.measured.values)))
        colour = "0.45" if np.isnan(row.low) else COLORS["federated" if row.verdict == CONSISTENT else "isolated"]
        faint = 1.0 if len(row.measured.values) >= ENOUGH else 0.35
        if not np.isnan(row.low):
            ax.plot([row.low / middle, row.high / middle], [y, y], color=colour, alpha=faint, lw=3)
        filled = "white" if np.isnan(row.low) else colour
        ax.plot(row.number.value / middle, y, "o", color=colour, markerfacecolor=filled, ms=4)
    ax.axvline(1, color="0.7", lw=0.8, zorder=0)
    ax.set(
        xscale="log", xlim=(0.1, 12), yticks=range(len(rows)), ylim=(-1, len(rows)),
        yticklabels=[row.number.words for row in rows],
        xlabel="printed / ours (dot; ring: one seed)\nwhere one more run of ours lies (bar; faint: few seeds)",
    )  # fmt: skip
    ax.set_xticks([0.1, 0.2, 0.5, 1, 2, 5, 10], ["0.1", "0.2", "0.5", "1", "2", "5", "10"])
    ax.tick_params(axis="y", labelsize=7)
    return fig


def as_table(caption: str, table: pandas.DataFrame) -> str:
    """A table with a button at the head of each column, which sort.js listens to, and a field that filters rows; a
    cell that is a link or folds out stays so. On a narrow screen a row is a card, whose lines have their column's name.
    """
    table = table.drop(columns="sort", errors="ignore")
    table = table.assign(**{name: table[name].map(folded) for name in {*LONG} & {*table}})
    head = "".join(f'<th scope="col"><button type="button">{escape(name)}</button></th>' for name in table)
    body = "\n".join(
        "<tr>"
        + "".join(
            f'<td data-name="{escape(name)}">{cell if cell.startswith(("<a ", "<details>")) else escape(cell)}</td>'
            for name, cell in row.items()
        )
        + "</tr>"
        for _, row in table.iterrows()
    )
    return (
        f'<div class="sorted"><label>Only rows with <input type="search"></label>\n<div class="wide" tabindex="0">'
        f"<table><caption>{escape(caption)}; press a column's name to sort by it</caption>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div></div>\n"
    )
