"""Lesson pages: a plan, written by hand (docs/site/lessons), and what its notebook has for it."""

import re
from pathlib import Path

import nbformat

from ..files import ROOT
from ..trainings.settings import NOTEBOOKS
from . import source

PLANS = sorted((ROOT / "docs/site/lessons").glob("*.md"))
NAMED = re.compile(r"\b[Ss]ection B?\d+|\b[Ss]ections B?\d+(?:(?:, | and | to )B?\d+)*")
BEFORE = re.compile(r"^\*Before:\* (.+)$", re.M)


def notebook_of(plan: Path) -> Path:
    """lessons/05.md -> notebooks/05_pinn_forward.ipynb."""
    (path,) = NOTEBOOKS.glob(f"{plan.stem}_*.ipynb")
    return path


def asks(notebook: Path) -> str:
    """The question of its title."""
    return source.title(notebook).split(" · ")[1]


def sections(notebook: Path) -> dict[str, str]:
    """Heading -> the words below it, and the pieces, of a notebook's page; the first is its title."""
    cells = source.page(nbformat.read(notebook, 4), notebook.stem).cells
    words = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    parts = re.split(r"^#+ (.+)$", words, flags=re.M)
    return dict(zip(parts[1::2], (text.strip().removesuffix("---") for text in parts[2::2]), strict=True))


def page(plan: Path) -> str:
    """Markdown of a lesson: its plan, where sections are links; before the questions the notebook's first section with
    the piece, at the end the exercises. Links are as in a notebook.

    Raises:
        ValueError: the plan names a section that its notebook does not have.
    """
    notebook = notebook_of(plan)
    texts = sections(notebook)
    headings = {heading.split()[0]: heading for heading in [*texts][1:]}

    def link(match: re.Match) -> str:
        if (number := match[0]) not in headings:
            raise ValueError(f"{plan.name} names section {number}; {notebook.name} has {', '.join(headings)}")
        return f"[{number}]({notebook.name}#{anchor(headings[number])})"

    need = f"*You need:* this page and that of [notebook {plan.stem}]({notebook.name}), in a browser"
    need += "; with `make lab` the class can watch it train." if "live.show()" in notebook.read_text() else "."
    text = NAMED.sub(lambda named: re.sub(r"B?\d+", link, named[0]), plan.read_text(encoding="utf-8"))
    text = text.replace("../../../notebooks/", "")
    text = BEFORE.sub(lambda before: f"{before[0]} {need}", text)
    piece = f"## {asks(notebook)}\n\n{texts[headings['1']]}\n\n"
    exercises = "".join(words for heading, words in texts.items() if heading.lower().endswith("exercises"))
    exercises = exercises.replace("the blank below", "the blank in the notebook")
    return f"{text.replace('## Questions', piece + '## Questions')}\n\n## Exercises\n\n{exercises}"


def anchor(heading: str) -> str:
    """A heading's address on its page, as MyST makes it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def table() -> str:
    """Markdown of a list of all lessons: what the notebook asks, and what must be known before."""
    rows = ["\n## All lessons\n", "| lesson | what the notebook asks | before |", "|---|---|---|"]
    for plan in PLANS:
        before = BEFORE.search(plan.read_text(encoding="utf-8"))[1]
        rows.append(f"| [{plan.stem}](lessons/{plan.name}) | {asks(notebook_of(plan))} | {before} |")
    return "\n".join([*rows, "\n```{toctree}\n:hidden:\n:glob:\nlessons/*\n```\n"])
