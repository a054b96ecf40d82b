"""Small pictures that lead to a page: of notebooks on the site, of papers in the app."""

import re
from base64 import b64encode
from html import escape
from io import BytesIO
from pathlib import Path

from PIL import Image

from ..files import ROOT
from ..trainings.profiles import NOTEBOOKS, cells_of

SIZE = 320, 200  # px at most
PAPERS = {
    "fed-deeponet": "01_pendulum/paper/fig3", "fedsciml": "04_function_approximation/paper/answer",
    "fedstnn": "09_stochastic_image/paper/letters", "feddro": "10_feddro_mnist/paper/plane",
}  # fmt: skip
"""Page of the app -> the figure that stands for it."""

STATIC = Path(__file__).parent / "voila/share/voila/templates/fedlib/static"


def thumbnail(picture: Path) -> bytes:
    """A committed figure, small, in few colours."""
    out = BytesIO()
    with Image.open(picture) as image:
        small = image.convert("RGB")
    small.thumbnail(SIZE, Image.Resampling.LANCZOS)
    small.quantize(96).save(out, "png", optimize=True)
    return out.getvalue()


def gallery() -> str:
    """HTML: each notebook by its first stored picture and its title, as links."""
    return f'<div class="gallery">{"".join(map(card, sorted(NOTEBOOKS.glob("*.ipynb"))))}</div>'


def card(notebook: Path) -> str:
    words = "\n".join("".join(cell["source"]) for cell in cells_of(notebook) if cell["cell_type"] == "markdown")
    title = words.splitlines()[0].lstrip("# ")
    picture = thumbnail(NOTEBOOKS / re.search(r'<img src="([^"]+)"', words)[1])
    code = b64encode(picture).decode()
    return (
        f'<a href="notebooks/{notebook.stem}.html"><img alt="" src="data:image/png;base64,{code}">'
        f"<span>{escape(title)}</span></a>"
    )


def main() -> None:
    """Draw the app's anew: `python -m fedlib.pages.thumbnails`."""
    STATIC.mkdir(exist_ok=True)
    for name, figure in PAPERS.items():
        (STATIC / f"{name}.png").write_bytes(thumbnail(ROOT / f"figures/{figure}.png"))


if __name__ == "__main__":
    main()
