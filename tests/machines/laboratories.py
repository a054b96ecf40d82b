"""The experiment of docs/own_data.md, as a user saves it, with other constants where a test wants them."""

import re
from pathlib import Path

from fedlib.files import ROOT

PAGE = ROOT / "docs/own_data.md"
BLOCK = r"^```(\w*)\n(.*?)^```"


def blocks(page: Path = PAGE) -> list[tuple[str, str]]:
    """(language, code) of each block of a page."""
    return re.findall(BLOCK, page.read_text(encoding="utf-8"), re.M | re.S)


def saved(path: Path, text: str = "", **constants) -> Path:
    """laboratories.py in a file, with a text, and NAME = value, at its end, where its functions read them."""
    (code,) = (code for _, code in blocks() if code.startswith("# laboratories.py\n"))
    path.write_text("\n".join([code, *(f"{name} = {value!r}" for name, value in constants.items()), text, ""]))
    return path
