"""Pages of the site from notebooks: their words, stored tables and committed figures; nothing is executed."""

import ast
import re
from copy import deepcopy
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from ..notebook import pages
from ..trainings.settings import FIGURES
from .pieces import notebooks

MOVES = re.compile(r"live\.(show|asked|rounds)\(|(?<!\.)explorer\(|panel\.parameters\(|Training\(|Button\(")
"""What cells call that only a kernel can move."""

HERE = "*This moves in your browser, without a kernel; JupyterLab shows more at this place, and your own runs.*"
KEPT = "*The address of this page keeps what you choose: send it, and others see the same.*"

PIECES = [
    ("00_start", r"Training\(", "training", "*Here it moves without a kernel: press Play.*"),
    ("04_function_approximation", r"live\.show\(", "training", HERE),
    *((name, r"\bexplorer\(\"", f"explorer_{name}", KEPT) for name in notebooks()),
]
"""A notebook, the cell that becomes a piece which moves without a kernel, the piece's name, and a line above it."""

IN_LAB = "*Here JupyterLab has something to move: `make lab`.*"


def page(notebook: NotebookNode, name: str, figures: Path = FIGURES) -> NotebookNode:
    """A notebook as a page: code is folded, what needs a kernel is named, figures are the committed ones.

    Args:
        name: "04_function_approximation". figures: its committed figures are in figures/name/*.png.
    """
    made = deepcopy(notebook)
    words = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    made.cells = []
    for cell in deepcopy(notebook.cells):
        if cell.cell_type != "code":
            made.cells.append(cell)
        elif markdown := moving(name, cell.source):
            made.cells.append(new_markdown_cell(markdown))
        elif MOVES.search(cell.source) and not figures_of(cell.source):
            made.cells.append(new_markdown_cell(IN_LAB))
        else:
            add(made.cells, folded(cell))
            made.cells += committed(cell.source, figures / name, words)
    for cell in made.cells:
        if cell.cell_type == "markdown":  # a heading's anchor has capitals in JupyterLab only
            cell.source = re.sub(r"\]\(#[\w-]+\)", lambda link: link[0].lower(), cell.source)
    made.metadata.pop("widgets", None)
    return made


def moving(notebook: str, source: str) -> str:
    """Markdown of the piece that stands where a notebook has this cell; nothing where there is none."""
    for name, pattern, shown, line in PIECES:
        if name == notebook and re.search(pattern, source):
            return f"{line}\n\n{piece(shown, '../')}"
    return ""


def piece(name: str, to_root: str = "") -> str:
    """Markdown that shows one of the pieces; to_root: from the page's folder to that of the site."""
    return f"```{{raw}} html\n:file: {to_root}_pieces/{name}.html\n```"


def folded(cell: NotebookNode) -> NotebookNode:
    """Code behind a fold; a cell that shows a function's source only by that."""
    tag = "remove-input" if re.fullmatch(r"show\([^\n]*\)", cell.source.strip()) and cell.outputs else "hide-input"
    cell.metadata["tags"] = [*cell.metadata.get("tags", []), tag]
    return cell


def add(cells: list[NotebookNode], cell: NotebookNode) -> None:
    """Append a cell of code; where nothing is seen between it and the one before, both stand behind one fold."""
    if cells and cells[-1].cell_type == "code" and not cells[-1].outputs:
        cells[-1].source += f"\n\n\n{cell.source}"
        cells[-1].outputs = cell.outputs
    else:
        cells.append(cell)


def committed(source: str, folder: Path, words: str) -> list[NotebookNode]:
    """The committed pictures of the figures that a cell makes, where the notebook's own words do not show them."""
    cells = []
    for name, alt in figures_of(source):
        path = f"../figures/{folder.name}/{name}.png"
        if (folder / f"{name}.png").exists() and path not in words:
            image = pages.still(path, alt, folder / f"{name}.png")
            cells.append(new_markdown_cell(image))
    return cells


def figures_of(source: str, call: str = "run.figure") -> list[tuple[str, str]]:
    """(name, alt text) of each ``run.figure(fig, name, alt=...)`` of a cell, whose name is written out; or of another
    call, "run.keep"."""
    figures = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == call and len(node.args) > 1:
            alt = next((text(k.value) for k in node.keywords if k.arg == "alt"), "")
            if name := text(node.args[1]):
                figures.append((name, " ".join(alt.split()) or name))
    return figures


def text(node: ast.expr) -> str:
    """A text that stands in the source, whole; of one with fields its fixed parts; otherwise nothing."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value for part in node.values if isinstance(part, ast.Constant))
    return ""
