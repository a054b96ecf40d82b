"""ES modules in anywidget's form, of what moves without a kernel: the same in JupyterLab, the app and a static page."""

from pathlib import Path

import anywidget
import traitlets

CONTROLS, CANVAS = ((Path(__file__).parent / name).read_text(encoding="utf-8") for name in ("controls.js", "canvas.js"))


def module(path: Path) -> str:
    """A piece in a file, behind the controls and what all pieces begin with."""
    return CONTROLS + CANVAS + path.read_text(encoding="utf-8")


class Piece(anywidget.AnyWidget):
    """What is drawn where it is seen, from data that it brings along.

    data: what its JavaScript takes. anchor: the name before the state in the page's address, "#anchor?pieces=8"; "": a
    notebook, whose address is not ours.
    """

    data = traitlets.Dict().tag(sync=True)
    anchor = traitlets.Unicode().tag(sync=True)

    def __repr__(self) -> str:
        """What stands there instead once the kernel is gone and the notebook is opened again."""
        return "Click here and press Shift+Enter: then it moves again."
