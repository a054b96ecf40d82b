"""Pieces that move without a kernel, and how they stand in a static page."""

import json
from base64 import b64encode
from collections.abc import Mapping

from ..live.modules import explorer as stored
from ..trainings.settings import FIGURES

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


def fragment(id: str, esm: str, values: Mapping | None = None) -> str:
    """HTML that shows a piece in a static page, also in one that is opened from the disk.

    The module (its text) stands in the page itself, for browsers load none from file://. values: the widget's traits.
    """
    code = b64encode(esm.encode()).decode()
    text = json.dumps(values or {}).replace("</", "<\\/")  # a script ends at the first </script>
    return FRAGMENT.format(id=id, code=code, values=text)


def notebooks() -> list[str]:
    """Those whose first section has something to move."""
    return sorted(path.parent.name for path in FIGURES.glob("*/explorer.json"))


def explorer(notebook: str) -> str:
    """HTML of a notebook's first section; its state is in the page's address: "#explorer?pieces=8"."""
    made = stored(notebook)
    return fragment("explorer", made._esm, {"data": made.data, "anchor": "explorer"})
