"""Gives the stored pictures in notebooks the width that a run shows them in: `python -m tools.picture_widths *.ipynb`.

Whoever writes a notebook writes `![alt](path)`; `make format` does the rest, and follows a picture that was drawn anew.
"""

import re
import sys
from html import unescape
from pathlib import Path

import nbformat

from fedlib.notebook.pages import still

STILL = re.compile(r"""!\[(.*?)\]\((\S+?\.png)\)|<img src="(\S+?\.png)" alt="(.*?)"[^>]*>""")
"""A stored picture in Markdown: (alt, path) as it is written by hand, or (path, alt) of ``sized``."""


def sized(words: str, folder: Path) -> str:
    """Markdown of a notebook in a folder, all its stored pictures as wide as those of a run."""

    def image(match: re.Match) -> str:
        alt, path = (match[1], match[2]) if match[2] else (unescape(match[4]), match[3])
        return still(path, alt, folder / path)

    return STILL.sub(image, words)


def main(paths: list[Path]) -> None:
    """Rewrite those notebooks in which a picture has another width, or none."""
    for path in paths:
        notebook = nbformat.read(path, nbformat.NO_CONVERT)
        words = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
        new = [sized(cell.source, path.parent) for cell in words]
        if new != [cell.source for cell in words]:
            for cell, source in zip(words, new, strict=True):
                cell.source = source
            nbformat.write(notebook, path)


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
