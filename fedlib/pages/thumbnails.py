"""Small pictures that lead to the pages of notebooks on the site."""

import re
from base64 import b64encode
from html import escape
from io import BytesIO
from pathlib import Path

from PIL import Image

from ..files import ROOT

SIZE = 480, 300  # px at most
PAGE = ROOT / "figures/README.md"
ENTRY = re.compile(r'^## \[(.+)\]\(\.\./notebooks/(\w+)\.ipynb\)\n\n<img src="([^"]+)".*>\n\n(.+)$', re.M)
"""Of that page: title, notebook, picture and sentence."""


def thumbnail(picture: Path) -> bytes:
    """A committed figure, small, in few colours."""
    out = BytesIO()
    with Image.open(picture) as image:
        small = image.convert("RGB")
    small.thumbnail(SIZE, Image.Resampling.LANCZOS)
    small.quantize(96).save(out, "png", optimize=True)
    return out.getvalue()


def gallery() -> str:
    """HTML: each notebook by its picture, title and sentence of figures/README.md, as links."""
    return f'<div class="gallery">{"".join(map(card, ENTRY.findall(PAGE.read_text(encoding="utf-8"))))}</div>'


def card(entry: tuple[str, str, str, str]) -> str:
    title, notebook, picture, words = entry
    code = b64encode(thumbnail(PAGE.parent / picture)).decode()
    return (
        f'<a href="notebooks/{notebook}.html"><img alt="" src="data:image/png;base64,{code}">'
        f"<span>{escape(title)}<small>{escape(words)}</small></span></a>"
    )
