"""ES modules in anywidget's form, of what moves without a kernel: the same in JupyterLab and on a static page.

Torch is not needed: the first cell of a notebook takes its piece from here, see ``explorer``.
"""

import json
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path

import anywidget
import numpy as np
import traitlets

from ..trainings.settings import FIGURES

KINDS = "levels", "terms", "clouds", "drawings"
"""What a piece can be: each is a file beside this one."""


def code(name: str) -> str:
    """The text of a file of JavaScript beside this one."""
    return (Path(__file__).parent / f"{name}.js").read_text(encoding="utf-8")


def module(name: str) -> str:
    """The code of a piece, behind the controls and what all pieces begin with."""
    return code("controls") + code("canvas") + code(name)


def array(values: np.ndarray, dtype: str) -> list[str]:
    """(dtype, the values in order as base64): how pieces take arrays."""
    return [dtype, b64encode(np.ascontiguousarray(values, dtype).tobytes()).decode()]


class Piece(anywidget.AnyWidget):
    """What is drawn where it is seen, from data that it brings along.

    kind: of KINDS. data: what its JavaScript takes. anchor: the name before the state in the page's address,
    "#anchor?pieces=8"; "": a notebook, whose address is not ours.

    Raises:
        ValueError: a kind that is not there.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    data = traitlets.Dict().tag(sync=True)
    anchor = traitlets.Unicode().tag(sync=True)

    def __init__(self, kind: str, data: Mapping, anchor: str = ""):
        if kind not in KINDS:
            raise ValueError(f"a piece of kind {kind!r}: expected one of {', '.join(KINDS)}")
        self.kind = kind
        super().__init__(_esm=module(kind), data=dict(data), anchor=anchor)

    def __repr__(self) -> str:
        """What stands there instead once the kernel is gone and the notebook is opened again."""
        return "Click here and press Shift+Enter: then it moves again."


def explorer(notebook: str) -> Piece:
    """What a notebook's first section moves, as ``Run.explorer`` stored it.

    notebook: "05_pinn_forward".

    Raises:
        FileNotFoundError: nothing is stored of such a notebook.
    """
    path = FIGURES / notebook / "explorer.json"
    if not path.exists():
        names = sorted(other.parent.name for other in FIGURES.glob("*/explorer.json"))
        raise FileNotFoundError(f"{path}: nothing is stored to move; there is something of {', '.join(names)}")
    stored = json.loads(path.read_text(encoding="utf-8"))
    return Piece(stored["kind"], stored["data"])
