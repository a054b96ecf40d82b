"""A federation that trains in the page itself, without a kernel and without torch."""

import anywidget
import traitlets

from .modules import module


class Training(anywidget.AnyWidget):
    """FedAvg with Adam on notebook 04's function, in JavaScript. playing: it trains as soon as it is seen."""

    _esm = module("training")
    playing = traitlets.Bool().tag(sync=True)

    def __repr__(self) -> str:
        """What stands there instead once the kernel is gone and the notebook is opened again."""
        return "Click here, press Shift+Enter, and a federation trains at this place."
