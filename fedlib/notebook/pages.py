"""What a reader sees in a notebook: pictures with alt texts, tables, sources, a word where a cell came too early."""

import ast
import inspect
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from io import BytesIO
from pathlib import Path
from textwrap import shorten

from IPython import get_ipython
from IPython.display import display
from matplotlib.figure import Figure
from PIL import Image

WIDTH, DENSITY = 800, 2  # px of the page at most; pixels of a picture for one of the page


DPI = 100 * DENSITY


FIGURE_CALL = re.compile(r"^( *)(?:run\.figure|pages\.inline|(?:\w+_)?live\.show)\(", re.MULTILINE)
"""In a cell: it has to show a picture."""


def png(fig: Figure) -> bytes:
    """The figure as PNG, cut to what is drawn, with twice the pixels that it takes on the page."""
    out = BytesIO()
    fig.savefig(out, format="png", dpi=DPI, bbox_inches="tight")
    return out.getvalue()


def labelled_png(fig: Figure, label: str) -> bytes:
    """As ``png``, with a label below its corner, clear of all other words."""
    fig.text(1, 0, label, ha="right", va="top", fontsize=6, color="0.4")
    return png(fig)


def picture(data: bytes, alt: str) -> None:
    """Show a PNG of double density, at most 800 px wide, with a text for those who cannot see it."""
    if not alt.strip():
        raise ValueError("a picture needs an alt text: say in one sentence what one sees")
    output, metadata = as_output(data, alt, width_of(BytesIO(data)))
    display(output, raw=True, metadata=metadata)


def as_output(data: bytes, alt: str, width: int) -> tuple[dict, dict]:
    """A PNG as an output of a cell, and its metadata.

    JupyterLab drops the alt text of an ``image/png`` output, so an ``<img>`` goes with it.
    """
    code = b64encode(data).decode()
    html = f'<img src="data:image/png;base64,{code}" alt="{escape(alt)}" width="{width}" style="max-width: 100%">'
    return {"text/html": html, "image/png": code, "text/plain": alt}, {"image/png": {"width": width, "alt": alt}}


def width_of(picture: Path | BytesIO) -> int:
    """Pixels of the page that a PNG of double density takes."""
    with Image.open(picture) as image:
        return min(image.width // DENSITY, WIDTH)


def still(path: str, alt: str, file: Path) -> str:
    """HTML for a stored picture in Markdown, which knows no width: as wide as those of a run."""
    alt = escape(alt, quote=False).replace('"', "&quot;")
    return f'<img src="{path}" alt="{alt}" width="{width_of(file)}">'


def inline(fig: Figure, alt: str) -> None:
    """Show a figure that is part of the explanation and no result; results go through ``Run.figure``."""
    picture(png(fig), alt)


def show(*functions: Callable) -> None:
    """Show the source of library functions, so that a notebook never shows anything but the code that runs."""
    sources = map(inspect.getsource, functions)
    source = "\n".join(text[text.startswith("@") and text.index("\ndef ") + 1 :] for text in sources)
    display({"text/markdown": f"```python\n{source}```", "text/plain": source}, raw=True)


NUMBER = re.compile(r"[-−–+<>≈~]? ?\d|-$|nan|$")
"""What begins like a number, or says that there is none."""

MARKS = {
    **dict.fromkeys(("holds", "met", "consistent"), "✓"),
    **dict.fromkeys(("does not hold", "missed"), "✗"),
    **dict.fromkeys(("lower", "lower (better)", "higher", "higher (better)"), "≠"),
    "not run": "○",
}
"""Words of verdicts; the mark is for the eye, the words are what is compared."""


def table(header: Sequence[str], rows: Sequence[Sequence]) -> None:
    """Show a table; cells are text or numbers (three digits). Words stand left, numbers right, verdicts have a mark."""
    text = [[c if isinstance(c, str) else f"{c:.3g}" for c in row] for row in rows]
    if ragged := [row for row in text if len(row) != len(header)]:
        raise ValueError(f"a row has {len(ragged[0])} cells, the header {len(header)}: {ragged[0]}")
    numbers = [all(map(NUMBER.match, column)) for column in zip(*text, strict=True)]
    sides = ["--:" if i and right else ":--" for i, right in enumerate(numbers)]
    lines = [[str(h) for h in header], sides or [":--"] * len(header), *text]
    marked = [[f"{MARKS[c]} {c}" if c in MARKS else c for c in line] for line in lines]
    display({"text/markdown": markdown(marked), "text/plain": columns([header, *text])}, raw=True)


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """A table of header, sides and rows."""
    return "\n".join("| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in lines)


def over_seeds(rows: Mapping[str, Mapping[str, object]], corner: str = "", digits: int = 3) -> None:
    """Show row -> column -> values over seeds as a table of mean ± st.dev.; "-" where a row does not have a column."""
    from ..numerics.metrics import plus_minus  # torch takes seconds, and who runs nbval imports this module

    names = dict.fromkeys(name for row in rows.values() for name in row)
    text = [
        [label, *(plus_minus(row[name], digits) if name in row else "-" for name in names)]
        for label, row in rows.items()
    ]
    table([corner, *map(str, names)], text)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text with aligned columns, for a terminal."""
    width = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, width, strict=True)).rstrip() for row in rows)


@contextmanager
def after(section: str) -> Iterator[None]:
    """Say what to run first where a cell needs something that an earlier one makes, instead of a NameError."""
    try:
        yield
    except NameError as error:
        if error.__traceback__.tb_next.tb_next is not None:
            raise  # not a name of the cell, but a mistake further down
        words = f"Run {section} first: '{error.name}' is made there."
        display({"text/markdown": f"*{words}*", "text/plain": words}, raw=True)


class Excused(ast.NodeTransformer):
    """Cells of a kernel, each within ``with __excused__``, which is this, too.

    While ``lacks`` has words, a cell that fails says them in a line instead of its error: a figure or a claim need not
    know all that may be absent.
    """

    def __init__(self, lacks: Callable[[], str]):
        self.lacks = lacks

    def visit_Module(self, cell: ast.Module) -> ast.Module:
        (guarded,) = ast.parse("with __excused__: __import__('sys').displayhook(None)").body
        if cell.body and isinstance(cell.body[-1], ast.Expr):  # what a cell's last line gives is displayed as ever
            guarded.body[0].value.args = [cell.body.pop().value]
        guarded.body = [*cell.body, *guarded.body]
        return ast.fix_missing_locations(ast.Module([guarded], cell.type_ignores))

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind, error, trace) -> bool:
        if words := self.lacks() if isinstance(error, Exception) else "":
            print(shorten(f"Not shown: {words} ({kind.__name__}: {error})", 200, placeholder=" ...)"))
        return bool(words)


def excuse(lacks: Callable[[], str]) -> None:
    """Let the cells that are run from now on be ``Excused``; outside of a notebook, nothing."""
    if shell := get_ipython():
        others = [act for act in shell.ast_transformers if not isinstance(act, Excused)]
        shell.user_ns["__excused__"] = excused = Excused(lacks)
        shell.ast_transformers = [*others, excused]
