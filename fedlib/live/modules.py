"""ES modules in anywidget's form, of what moves without a kernel: the same in JupyterLab, the app and a static page."""

from pathlib import Path

CONTROLS, CANVAS = ((Path(__file__).parent / name).read_text(encoding="utf-8") for name in ("controls.js", "canvas.js"))


def module(path: Path) -> str:
    """A piece in a file, behind the controls and what all pieces begin with."""
    return CONTROLS + CANVAS + path.read_text(encoding="utf-8")
