"""A page: buttons of its pieces, the words of the chosen one, and the piece itself, one at a time."""

import re
from collections.abc import Callable

import anywidget
import ipywidgets
import traitlets
from IPython.display import display

from ..live import widgets
from ..notebook import style
from . import citations
from .app import PAGES, Piece


class Address(anywidget.AnyWidget):
    """The chosen piece in the page's address, for a reload, and to send. names: of the pieces; index: of the chosen.

    Behind the name a piece that the browser draws keeps its own state: "#sums-not-averages?pieces=8&sines=60".
    """

    _esm = """
    export default { render({ model }) {
        const names = model.get("names");
        const chosen = () => location.hash.slice(1).split("?")[0];
        function read() {
            const index = names.indexOf(chosen());
            if (index >= 0) model.set("index", index), model.save_changes();
        }
        function write() {
            const name = names[model.get("index")];
            if (name !== chosen()) history.replaceState(null, "", `#${name}`);
        }
        model.on("change:index", write);
        addEventListener("hashchange", read);
        read();
        return () => removeEventListener("hashchange", read);
    } };
    """
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    index = traitlets.Int(0).tag(sync=True)


def show(name: str) -> None:
    """Display the page of a paper, in the style for a projector."""
    style.use("projector")
    display(page(PAGES[name]), ipywidgets.HTML(f"<p>{citations.links()[name]}</p>"))


def page(pieces: list[Piece]) -> ipywidgets.VBox:
    """The first piece, and buttons for the others; a piece that is left goes with its training and all its widgets."""
    words, stage = ipywidgets.HTML(), ipywidgets.VBox()
    words.add_class("app-words")
    stage.add_class("app-stage")
    leave: list[Callable[[], None]] = []
    choice = ipywidgets.ToggleButtons(options=[piece.title for piece in pieces], style={"button_width": "auto"})
    choice.add_class("app-pieces")

    def enter():
        gone, waiting = stage.children, ipywidgets.HTML("<p>One moment, this piece is being made.</p>")
        piece = pieces[choice.index]
        words.value, stage.children = f"<p>{piece.words}</p>", (waiting,)
        if gone:
            leave.pop()()
            widgets.discard(*gone)
        box, close = piece.make()
        leave.append(close)
        if isinstance(box, anywidget.AnyWidget):  # drawn by the browser
            box.anchor = address_of(piece)
        enlarge(box)
        stage.children = (box,)
        widgets.discard(waiting)

    address = Address(names=[address_of(piece) for piece in pieces])
    traitlets.link((choice, "index"), (address, "index"))
    choice.observe(widgets.newest_only(enter), "value")  # the page shows a pressed button before it works
    enter()
    return ipywidgets.VBox([choice, address, words, stage] if len(pieces) > 1 else [words, stage])


def address_of(piece: Piece) -> str:
    """Its title as it stands in an address: "one-curve-two-halves"."""
    return "-".join(re.findall(r"[a-z]+", piece.title.lower()))


def enlarge(box: ipywidgets.Box) -> None:
    """Controls with room for large letters, side by side; pictures as wide as the page."""
    for widget in widgets.within(box):
        layout = widget.layout  # changed, not replaced: ipywidgets would keep the old one
        if isinstance(widget, ipywidgets.GridBox):
            layout.max_width, layout.width = "100%", "100%"
            layout.grid_template_columns = "repeat(auto-fit, minmax(min(100%, 350px), 1fr))"
        elif isinstance(widget, ipywidgets.Box):
            layout.display, layout.flex_flow, layout.width = "flex", "row wrap", "100%"
        elif isinstance(widget, widgets.Picture | ipywidgets.HTML):
            layout.width = "100%"
        elif isinstance(widget, ipywidgets.Button):
            layout.width = "auto"
