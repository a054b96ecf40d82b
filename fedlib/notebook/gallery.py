"""Each figure of the notebooks, in words, and the printed numbers beside ours: figures/index.html, and a page of each
notebook that a code host shows."""

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from ..files import write_atomically
from ..trainings.settings import FIGURES, NOTEBOOKS, cells_of, foreign, read_result
from .claims import find, titled
from .verdicts import PART, Judged, ours, rows_of, verdict_in_words

FEW = 4  # printed numbers that are in sight at once

STYLE = """
body { font: 16px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 1400px; padding: 0 1rem; color: #222; }
h2 { margin: 2.5rem 0 0.5rem; } nav a { margin-right: 1em; white-space: nowrap; }
table { border-collapse: collapse; width: 100%; } th { text-align: left; font-weight: 600; }
td { border-top: 1px solid #ccc; padding: 0.6rem 0.6rem 0.6rem 0; vertical-align: top; }
.rows td { width: 60%; } .rows td.words { width: 40%; font-size: 0.9rem; }
img { max-width: 100%; height: auto; } .none { color: #666; } .numbers { font-size: 0.9rem; } ul { padding-left: 1em; }
"""


def write(figures: Path = FIGURES, notebooks: Path = NOTEBOOKS) -> Path:
    """Write the gallery of all notebooks that have figures: a static page, which names files and fetches nothing."""
    drawn = [path for path in sorted(notebooks.glob("*.ipynb")) if names_of(path.stem, figures) and not foreign(path)]
    links = " ".join(f'<a href="#{path.stem}">{escape(title_of(cells_of(path)))}</a>' for path in drawn)
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Figures</title>\n'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>\n<h1>Figures</h1>\n'
        f"<p>What the papers' settings gave, each printed number beside ours.</p>\n<nav>{links}</nav>\n"
        + "\n".join(section(path, figures) for path in drawn)
        + "</body></html>\n"
    )
    write_atomically(figures / "index.html", page)
    return figures / "index.html"


def page(result: dict) -> str:
    """A notebook's figures, printed numbers and claims in Markdown, for who reads without a kernel."""
    changed = f"With {result['label']}.\n\n" if result["changed"] else ""
    name = result["notebook"]
    lines = [f"# {name}\n\n{changed}What [the notebook](../../notebooks/{name}.ipynb) draws, measures and judges."]
    lines += [f"![{alt}]({figure}.png)\n\n*{figure}*: {alt}" for figure, alt in result["figures"].items()]
    numbers = [[row.number.words, row.number.printed, ours(row), verdict_in_words(row)] for row in rows_of(result)]
    judged = [
        [find(id).in_words(verdict), titled(find(id)), verdict["why"]] for id, verdict in result["claims"].items()
    ]
    for header, rows in ((["number", "paper", "ours", "verdict"], numbers), (["verdict", "claim", "numbers"], judged)):
        if rows:
            cells = [header, ["---"] * len(header), *rows]
            lines.append("\n".join("| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in cells))
    return "\n\n".join(lines) + "\n"


def section(notebook: Path, figures: Path) -> str:
    """A notebook's figures and printed numbers."""
    name, cells = notebook.stem, cells_of(notebook)
    result = result_of(figures / name)
    captions, numbers = result.get("figures", {}), [row for row in rows_of(result) if row.verdict != PART]
    rows = "\n".join(
        f"<tr>{picture(name, figure, captions)}"
        f'<td class="words"><b>{escape(captions.get(figure) or figure)}</b><br>'
        f"{printed([row for row in numbers if stands_in(row, figure)])}{link(notebook, cells, figure)}</td></tr>"
        for figure in names_of(name, figures)
    )
    head = "<tr><th>ours</th><th>what one sees</th></tr>"
    others = printed([row for row in numbers if not any(stands_in(row, figure) for figure in names_of(name, figures))])
    return f'<h2 id="{name}">{escape(title_of(cells))}</h2>\n<table class="rows">{head}\n{rows}\n</table>\n{others}'


def title_of(cells: Sequence[dict]) -> str:
    """The first line of a notebook."""
    return "".join(cells[0]["source"]).splitlines()[0].lstrip("# ")


def link(notebook: Path, cells: Sequence[dict], figure: str) -> str:
    """A link to the section of a notebook that draws a figure, as JupyterLab reads it, with the cell's number."""
    number = cell_of(cells, figure)
    if number is None:
        return f"{notebook.name} does not draw it any more"
    above = "".join("".join(cell["source"]) + "\n" for cell in cells[:number] if cell["cell_type"] == "markdown")
    *_, heading = ["", *re.findall(r"^#+ (.+)$", above, re.M)]
    href = f"../notebooks/{notebook.name}#{heading.strip().replace(' ', '-')}".rstrip("#")
    return f'<a href="{escape(href)}">{notebook.name}, cell {number + 1}: {escape(heading)}</a>'


def cell_of(cells: Sequence[dict], figure: str) -> int | None:
    """Index of the cell that draws or keeps a figure: it has the name, whole or as an f-string."""
    for index, cell in enumerate(cells):
        code = "".join(cell["source"])
        if cell["cell_type"] == "code" and re.search(r"\.(figure|keep)\(", code):
            for text in re.findall(r'"([^"\n]+)"', code):
                if re.fullmatch(re.sub(r"\\\{.*?\\\}", ".+", re.escape(text)), figure):
                    return index
    return None


def stands_in(row: Judged, figure: str) -> bool:
    """Whether a printed number is one of the paper's figure that ours is named after: "Fig. 4, u = t" and fig4."""
    place = re.match(r"(Fig|Table)\.? (\d+)", row.number.where)
    return bool(place and re.match(f"{place[1].lower()}{place[2]}(?!\\d)", figure))


def picture(notebook: str, name: str, captions: dict) -> str:
    """A cell with a picture."""
    source = f"{notebook}/{name}.png"
    return (
        f'<td><a href="{source}"><img src="{source}" loading="lazy" alt="{escape(captions.get(name, name))}"></a></td>'
    )


def printed(rows: Sequence[Judged]) -> str:
    """Printed numbers beside ours, with the verdict; nothing where there are none."""
    if not rows:
        return ""
    lines = []
    for row in rows:
        words = f"{row.number.where}: printed {row.number.printed}; ours {ours(row)}: {verdict_in_words(row)}"
        lines.append(f"<li>{escape(words)}</li>")
    return (
        f'<details class="numbers"{" open" * (len(rows) <= FEW)}><summary>printed numbers: {len(rows)}</summary>'
        f"<ul>{''.join(lines)}</ul></details>\n"
    )


def names_of(notebook: str, figures: Path) -> list[str]:
    """Names of a notebook's figures, in their order in the notebook where that is known."""
    files = sorted(path.stem for path in (figures / notebook).glob("*.png"))
    listed = result_of(figures / notebook).get("figures", {})
    return [name for name in dict.fromkeys([*listed, *files]) if name in files]


def result_of(folder: Path) -> dict:
    """A run's result; empty where there is none, or it is damaged, which the report says."""
    try:
        return read_result(folder / "result.json")
    except (OSError, ValueError):
        return {}
