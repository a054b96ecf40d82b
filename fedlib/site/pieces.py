"""Pieces that move without a kernel: ES modules in anywidget's form, the same in JupyterLab and in a static page."""

import json
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path

import anywidget

HERE = Path(__file__).parent


class Training(anywidget.AnyWidget):
    """A federation that trains in the page itself: FedAvg with Adam on notebook 04's function, without a kernel."""

    _esm = (HERE / "training.js").read_text()


FRAGMENT = """<div id="{id}"><noscript>This piece needs JavaScript.</noscript></div>
<script type="module">
import piece from "data:text/javascript;base64,{code}";
const values = {values}, model = {{
  get: (name) => values[name], set: (name, value) => {{ values[name] = value; }},
  on() {{}}, off() {{}}, save_changes() {{}},
}};
piece.render({{ model, el: document.getElementById("{id}") }});
</script>
"""


def fragment(id: str, widget: type[anywidget.AnyWidget], values: Mapping | None = None) -> str:
    """HTML that shows a piece in a static page, also in one that is opened from the disk.

    The module stands in the page itself, for browsers load none from file://. values: the widget's traits.
    """
    code = b64encode(widget._esm.encode()).decode()
    text = json.dumps(values or {}).replace("</", "<\\/")  # a script ends at the first </script>
    return FRAGMENT.format(id=id, code=code, values=text)
