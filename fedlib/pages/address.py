"""Where the site is published: `python -m fedlib.pages.address https://lab.github.io/fedlib`, or "" for nowhere.

The one setting is `url` in CITATION.cff; README, docs/teaching.md and each notebook's first cell follow it."""

import re
import sys
from pathlib import Path

import nbformat

from ..files import ROOT

SETTING = re.compile(r"^url: (\S+)\n", re.M)
SAID = re.compile(r"not published anywhere yet|published at <[^>]+>")
LINK = "\n\n[Here it moves without an installation.]"


def written(url: str, root: Path = ROOT) -> dict[Path, str]:
    """What the files that follow have in them for this address.

    Raises:
        ValueError: no address of the web.
    """
    url = url.rstrip("/")
    if not re.fullmatch(r"(https?://[^\s<>()]+)?", url):
        raise ValueError(f"{url!r} is no address; expected such as https://lab.github.io/fedlib, or '' for none")
    texts = {path: path.read_text(encoding="utf-8") for path in (root / "README.md", root / "docs/teaching.md")}
    words = f"published at <{url}>" if url else "not published anywhere yet"
    made = {path: SAID.sub(words, text) for path, text in texts.items()}
    citation = SETTING.sub("", (root / "CITATION.cff").read_text(encoding="utf-8"))
    made[root / "CITATION.cff"] = citation.replace("\nlicense: ", f"\nurl: {url}\nlicense: " if url else "\nlicense: ")
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, 4)
        first = notebook.cells[0]
        first.source = first.source.split(LINK)[0] + f"{LINK}({url}/notebooks/{path.stem}.html)" * bool(url)
        made[path] = nbformat.writes(notebook) + "\n"
    return made


def setting(root: Path = ROOT) -> str:
    """The address, or nothing."""
    line = SETTING.search((root / "CITATION.cff").read_text(encoding="utf-8"))
    return line[1] if line else ""


def main(url: str, root: Path = ROOT) -> None:
    for path, text in written(url, root).items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
