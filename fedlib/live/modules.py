"""ES modules in anywidget's form, of what moves without a kernel: the same in JupyterLab, the app and a static page."""

from pathlib import Path

from .widgets import CONTROLS

CANVAS = (Path(__file__).parent / "canvas.js").read_text(encoding="utf-8")


def module(path: Path) -> str:
    """A piece in a file, behind the controls and what all pieces begin with."""
    return CONTROLS + CANVAS + path.read_text(encoding="utf-8")
