"""Sliders in front of pure drawing functions."""

import asyncio
import gc
from collections.abc import Callable, Collection
from html import escape

import anywidget
import ipywidgets
import traitlets
from matplotlib.figure import Figure

from .redraw import painter

TIDY = 1.0  # s from the last move until its garbage is collected


class Picture(anywidget.AnyWidget):
    """A PNG on the page, or its alt text where there is none yet. ipywidgets' own Image has no alt text."""

    _esm = """
    export default { render({ model, el }) {
        const img = document.createElement("img"), words = document.createElement("em");
        img.style.cssText = "display: block; width: 100%; max-width: 800px";
        function update() {
            const old = img.src, there = model.get("value").byteLength > 0;
            if (there) img.src = URL.createObjectURL(new Blob([model.get("value")], { type: "image/png" }));
            else img.removeAttribute("src");
            if (old) URL.revokeObjectURL(old);
            img.alt = words.textContent = model.get("alt");
            if (el.firstChild !== (there ? img : words)) el.replaceChildren(there ? img : words);
        }
        model.on("change:value", update);
        update();
        return () => URL.revokeObjectURL(img.src);
    } };
    """
    value = traitlets.Bytes().tag(sync=True)
    alt = traitlets.Unicode().tag(sync=True)


def explore(
    draw: Callable[..., Figure],
    alt: str,
    idle: Callable[..., Collection[str]] = lambda **values: (),
    **controls: ipywidgets.Widget,
) -> ipywidgets.VBox:
    """Show ``draw(**values)`` and redraw it whenever a control moves.

    ``draw`` must be a pure function of its arguments, always with the same arrangement of axes. An input that it
    refuses (ValueError) is said below the controls and the last picture stays.

    Args:
        alt: what the picture shows, for those who cannot see it; the values of the controls are added.
        idle: values -> names of the controls that have no effect just now; they are disabled.
    """
    paint, picture, message = painter(), Picture(), ipywidgets.HTML()

    def update():
        values = {name: control.value for name, control in controls.items()}
        for name, control in controls.items():
            control.disabled = name in idle(**values)
        try:
            image = paint(draw(**values))
        except ValueError as error:
            message.value = f"<b>{escape(str(error))}</b>"
            return
        shown = ", ".join(f"{control.description} {control.value}" for control in controls.values())
        picture.alt, picture.value, message.value = f"{alt} ({shown})", image, ""

    request = newest_only(update)
    for name, control in controls.items():
        control.description = control.description or name.replace("_", " ")
        control.style.description_width = "130px"
        control.layout.width = "620px"  # a track of 400 px
        control.observe(request, "value")
    update()
    fresh_memory()
    return ipywidgets.VBox([*controls.values(), message, picture])


def slider(options, value, words: str = "") -> ipywidgets.SelectionSlider:
    """A choice among a few: a slider, for a drop-down takes no keys in JupyterLab."""
    return ipywidgets.SelectionSlider(options=options, value=value, description=words)


def panel(notebook: str, **where) -> ipywidgets.VBox:
    """All parameters of a notebook as controls, and a run of it in the background; see ``notebook.panel``."""
    from .panel import panel as made  # it needs this module

    return made(notebook, **where)


def fresh_memory() -> None:
    """Else Python's collector looks through all of torch now and then: a move that takes 0.4 s."""
    gc.unfreeze()  # what an explorer before this one kept may go
    gc.collect()
    gc.freeze()


def newest_only(update: Callable[[], None], pause: float = 0.01) -> Callable[..., None]:
    """A request for an update that overtakes the waiting ones: dragging a slider does not queue up pictures.

    In a kernel the update waits ``pause`` seconds, in which the kernel reads the moves that have arrived meanwhile, and
    Python's collector waits: to look through what figures leave behind takes as long as a picture.
    """
    waiting, tidying = False, None

    def run():
        nonlocal waiting, tidying
        waiting = False
        if tidying:
            tidying.cancel()
        tidying = asyncio.get_running_loop().call_later(TIDY, gc.collect)
        collects = gc.isenabled()
        gc.disable()
        try:
            update()
        finally:
            if collects:
                gc.enable()

    def request(_=None):
        nonlocal waiting
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # no kernel, as in a test
            update()
            return
        if not waiting:
            waiting = True
            loop.call_later(pause, run)

    return request
