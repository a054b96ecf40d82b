"""Pieces that move without a kernel, and how they stand in a static page."""

import json
from base64 import b64encode
from collections.abc import Mapping

from ..papers.beyond.drift import live as drift
from ..papers.beyond.instruments import live as instruments
from ..papers.beyond.leak import live as leak
from ..papers.beyond.one_round import live as one_round
from ..papers.beyond.projection import live as projection
from ..papers.fed_deeponet.library import live as library
from ..papers.fed_deeponet.pendulum import live as pendulum
from ..papers.fed_deeponet.shards import live as shards
from ..papers.feddro.digits import live as digits
from ..papers.feddro.transport import live as transport
from ..papers.fedsciml.flow import live as flow
from ..papers.fedsciml.forward import live as forward
from ..papers.fedsciml.functions import live as functions
from ..papers.fedsciml.operators import live as operators
from ..papers.fedsciml.reaction import live as reaction
from ..papers.fedstnn.as_coded import live as ways
from ..papers.fedstnn.curve import live as noise
from ..papers.fedstnn.letters import live as letters

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


EXPLORERS = {
    "01_pendulum": pendulum,
    "02_heterogeneity": shards,
    "03_pendulum_library": library,
    "04_function_approximation": functions,
    "05_pinn_forward": forward,
    "06_flow": flow,
    "06b_reaction": reaction,
    "07_operator_learning": operators,
    "08_stochastic_regression": noise,
    "08b_as_coded": ways,
    "09_stochastic_image": letters,
    "10_transport": transport,
    "10b_digits": digits,
    "11_client_drift": drift,
    "12_real_federation": leak,
    "13_one_round": one_round,
    "14_sums_for_networks": projection,
    "15_instruments": instruments,
}
"""Notebook -> the room that has what stands in its first section, the same on the notebook's page."""


def explorer(notebook: str) -> str:
    """HTML of a notebook's first section; its state is in the page's address: "#explorer?pieces=8"."""
    made = EXPLORERS[notebook].explorer()
    return fragment("explorer", made._esm, {"data": made.data, "anchor": "explorer"})
