"""One kit of controls, and pure drawing functions behind them."""

import asyncio
import gc
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from html import escape

import anywidget
import ipywidgets
import traitlets
from matplotlib.figure import Figure

from .modules import code
from .redraw import painter

PAUSE = 0.01  # s from a move to its picture
TIDY = 1.0  # s from the last move until its garbage is collected
WIDTH = "800px"  # of pictures, and of the two columns of controls below them
FIT = 36  # letters of words that stand side by side; more are a list
MOVED = "fed-moved"  # class of a box that the kernel moves; see ``Picture``


class Control(anywidget.AnyWidget):
    """One of a few options: a slider over numbers, buttons or a list over words; ``slider`` and ``choice`` make it.

    options: values, or pairs (words, value). kind: of controls.js. tooltip: a sentence. It is one stop of the Tab key
    and takes the arrow keys in JupyterLab, too, where ipywidgets' own lists take none.
    """

    _esm = (
        code("controls")
        + """
    export default { render({ model, el }) {
        const style = Object.assign(document.createElement("style"), { textContent: CONTROLS });
        const get = (name) => model.get(name), place = document.createElement("div");
        let made;
        function build() {
            const words = get("words");
            made = pick(get("kind"), get("description"), words, words[get("index")], String, get("tooltip"));
            made.disable(get("disabled"));
            place.replaceChildren(made.label);
        }
        place.addEventListener("input", () => (model.set("index", made.index), model.save_changes()));
        el.append(style, place);
        for (const name of ["words", "description", "tooltip"]) model.on(`change:${name}`, build);
        model.on("change:index", () => get("index") !== made.index && made.put(get("index")));
        model.on("change:disabled", () => made.disable(get("disabled")));
        build();
    } };
    """
    )
    kind, description, tooltip = (traitlets.Unicode().tag(sync=True) for _ in range(3))
    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    index = traitlets.Int(0).tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)
    options, value = traitlets.List(), traitlets.Any()

    def __init__(self, options: Sequence, value, kind: str, description: str = "", tooltip: str = ""):
        super().__init__(options=list(options), kind=kind, description=description, tooltip=tooltip)
        self.value = self.values[0] if value is None else value

    @property
    def values(self) -> list:
        return [option[1] if isinstance(option, tuple) else option for option in self.options]

    @traitlets.observe("options")
    def _offer(self, _) -> None:
        """Other options; the value stays where it is among them."""
        value = self.value if self.value in self.values else self.values[0]
        with self.hold_sync():
            self.index = min(self.index, len(self.values) - 1)
            self.words = [in_words(option) for option in self.options]
            self.value, self.index = value, self.values.index(value)

    @traitlets.validate("value")
    def _among(self, proposal):
        if proposal.value not in self.values:
            raise traitlets.TraitError(f"{self.description} = {proposal.value!r}: expected one of {self.values}")
        return proposal.value

    @traitlets.observe("value")
    def _put(self, change) -> None:
        self.index = self.values.index(change.new)

    @traitlets.observe("index")
    def _take(self, change) -> None:
        self.value = self.values[change.new]


def in_words(option) -> str:
    """What stands on the page: a number as short as it is, the words of a pair."""
    option = option[0] if isinstance(option, tuple) else option
    return option if isinstance(option, str) else f"{option:.6g}".replace("e-0", "e-")


def slider(options: Sequence, value=None, words: str = "", tooltip: str = "") -> Control:
    """A slider over numbers, which begins at the first one if no value is given.

    Words are not slid over but chosen: options that are texts make a ``choice``.
    """
    if all(isinstance(option, str) for option in options):
        return choice(options, value, words, tooltip)
    return Control(options, value, "slider", words, tooltip)


def choice(options: Sequence, value=None, words: str = "", tooltip: str = "") -> Control:
    """One of some words, or pairs (words, value): all in sight where they fit, else a list that folds out."""
    kind = "buttons" if sum(len(in_words(option)) + 4 for option in options) <= FIT else "list"
    return Control(options, value, kind, words, tooltip)


def span(low: float, high: float, step: float) -> list[float]:
    """Numbers from low to high, for a ``slider``."""
    return [round(low + i * step, 10) for i in range(round((high - low) / step) + 1)]


def prepare(controls: dict[str, ipywidgets.Widget]) -> ipywidgets.GridBox:
    """Labels and tooltips where the notebook gives none; the controls in two columns, as wide as the picture."""
    for name, control in controls.items():
        control.description = control.description or name.replace("_", " ")
        control.tooltip = control.tooltip or HELP.get(name, "")
        control.layout.width = "auto"
        if not isinstance(control, Control):
            control.style.description_width = "120px"
    columns = "repeat(auto-fit, minmax(min(100%, 23em), 1fr))"  # two of them; one on a phone
    layout = ipywidgets.Layout(grid_template_columns=columns, grid_gap="2px 24px", width="100%", max_width=WIDTH)
    return ipywidgets.GridBox([*controls.values()], layout=layout)


def values_of(controls: Mapping[str, ipywidgets.Widget], idle: Callable[..., Collection[str]]) -> dict:
    """What the controls say; those that ``idle`` names for it are disabled."""
    values = {name: control.value for name, control in controls.items()}
    for name, control in controls.items():
        control.disabled = name in idle(**values)
    return values


def within(box: ipywidgets.Widget) -> Iterator[ipywidgets.Widget]:
    """A box and all that is in it."""
    yield box
    for child in getattr(box, "children", ()):
        yield from within(child)


def discard(box: ipywidgets.Widget) -> None:
    """Close a box, what is in it, and their layouts and styles, which ipywidgets would keep."""
    for widget in [*within(box)]:
        for part in (widget.layout, getattr(widget, "style", None), widget):
            if isinstance(part, ipywidgets.Widget):
                part.close()


class Picture(anywidget.AnyWidget):
    """A PNG on the page, or its alt text where there is none yet. ipywidgets' own Image has no alt text.

    Once the kernel is gone a sentence stands in place of the controls in its box, of the class MOVED.
    """

    _esm = (
        code("controls")
        + """
    export default { render({ model, el }) {
        const img = document.createElement("img"), words = document.createElement("em");
        el.classList.add("fed-picture");
        img.style.cssText = "display: block; width: 100%; max-width: 800px";
        function update() {
            const old = img.src, drawn = model.get("value").byteLength > 0;
            if (drawn) img.src = URL.createObjectURL(new Blob([model.get("value")], { type: "image/png" }));
            else img.removeAttribute("src");
            if (old) URL.revokeObjectURL(old);
            img.alt = words.textContent = model.get("alt");
            img.style.opacity = model.get("stale") ? 0.25 : 1;
            if (el.firstChild !== (drawn ? img : words)) el.replaceChildren(drawn ? img : words);
        }
        for (const name of ["value", "stale"]) model.on(`change:${name}`, update);
        update();
        img.addEventListener("load", () => inSight(el.closest(".fed-moved") ?? el), { once: true });
        return () => URL.revokeObjectURL(img.src);
    } };
    """
    )
    _css = """
    .fed-moved .jupyter-widgets-disconnected::before { content: none; }
    .fed-moved.jupyter-widgets-disconnected > :not(.fed-picture) { display: none; }
    .fed-moved.jupyter-widgets-disconnected::before {
        content: "The kernel that moved this is gone. Run this cell again, after those above it "
            "(Run, Run All Above Selected Cell).";
        grid-column: 1 / -1; font: inherit; color: inherit;
    }
    """
    value = traitlets.Bytes().tag(sync=True)
    stale = traitlets.Bool(False).tag(sync=True)  # it shows something else than the controls say
    alt = traitlets.Unicode().tag(sync=True)


def explore(
    draw: Callable[..., Figure],
    alt: str,
    idle: Callable[..., Collection[str]] = lambda **values: (),
    **controls: ipywidgets.Widget,
) -> ipywidgets.GridBox:
    """Show ``draw(**values)`` and redraw it whenever a control moves.

    ``draw`` must be a pure function of its arguments, always with the same arrangement of axes. An input that it
    refuses (ValueError) is said below the controls and the last picture stays, but grey.

    Args:
        alt: what the picture shows, for those who cannot see it; the values of the controls are added, and what the
            titles and legends of the picture say in numbers.
        idle: values -> names of the controls that have no effect just now; they are disabled.
    """
    box = prepare(controls)
    paint, picture, message = painter(), Picture(), ipywidgets.HTML()
    for wide in (message, picture):
        wide.layout.grid_area = "auto / 1 / auto / -1"  # all columns; ipywidgets forgets grid_column
    box.children = picture, *box.children, message
    box.add_class(MOVED)

    def update():
        try:
            fig = draw(**values_of(controls, idle))
            image = paint(fig)
        except ValueError as error:
            message.value, picture.stale = f"<b>{escape(str(error))}</b>", True
            return
        shown = ", ".join(f"{control.description} {chosen(control)}" for control in controls.values())
        result = "; ".join(numbers_of(fig))
        picture.alt, picture.stale = f"{alt} ({shown})" + (f": {result}" if result else ""), False
        picture.value, message.value = image, ""

    request = newest_only(update)
    for control in controls.values():
        control.observe(request, "value")
    update()
    fresh_memory()
    return box


def chosen(control: ipywidgets.Widget) -> str:
    """The value of a control as it stands on the page."""
    return control.words[control.index] if isinstance(control, Control) else f"{control.value}"


def numbers_of(fig: Figure) -> list[str]:
    """What titles, legends and words in a figure say in numbers: its results."""
    legends = [*fig.legends, *(ax.get_legend() for ax in fig.axes if ax.get_legend())]
    texts = [fig.get_suptitle(), *(ax.get_title() for ax in fig.axes)]
    texts += [text.get_text() for legend in legends for text in legend.get_texts()]
    texts += [text.get_text() for ax in fig.axes for text in ax.texts]
    return [" ".join(text.split()) for text in dict.fromkeys(texts) if re.search(r"\d[.,]?\d* ?%|\d\.\d", text)]


def fresh_memory() -> None:
    """Else Python's collector looks through all of torch now and then: a move that takes 0.4 s. Once is enough."""
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()


def in_turn(act: Callable[[], None], pause: float = 0) -> Callable[..., None]:
    """``act`` as something that a page may ask for at any time, from any thread: it runs in the loop that made it.

    JupyterLab delivers the first message of a page's widgets in the kernel's own thread and the later ones in threads
    of their own (subshells of ipykernel). Two of them would train and draw at the same time. Without a kernel, as in a
    test, it runs at once.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return lambda *_: act()
    return lambda *_: loop.call_soon_threadsafe(loop.call_later, pause, act)


def newest_only(update: Callable[[], None]) -> Callable[..., None]:
    """A request for an update that overtakes the waiting ones: dragging a slider does not queue up pictures.

    In a kernel the update waits for ``PAUSE``, in which the kernel reads the moves that have arrived meanwhile, and
    Python's collector waits: to look through what figures leave behind takes as long as a picture.
    """
    asked, tidying = 0, None

    def run():
        nonlocal asked, tidying
        if not asked:  # a request before has had all that this one wanted
            return
        asked = 0
        if tidying:
            tidying.cancel()
        with suppress(RuntimeError):  # no kernel
            tidying = asyncio.get_running_loop().call_later(TIDY, gc.collect)
        collects = gc.isenabled()
        gc.disable()
        try:
            update()
        finally:
            if collects:
                gc.enable()

    later = in_turn(run, PAUSE)

    def request(_=None):
        nonlocal asked
        asked += 1
        later()

    return request


HELP = {
    "E": "Steps that each client takes at home before the next average.",
    "K": "Steps that each client takes at home before the next average.",
    "lr": "How far a local step goes.",
    "clients": "How many clients learn together.",
    "fraction": "Share of the clients that take part in a round.",
    "optimizer": "How a client goes from a gradient to a step.",
    "mixing": "Who hears whom after the local steps. It acts at the next average.",
    "server": "What the server does with the mean of the clients. It acts at the next average.",
    "rule": "What clients and server exchange, and how they step.",
    "level": "How alike the clients are.",
    "pieces": "Into how many pieces the domain is cut, which the clients own in turn; more pieces, more alike.",
    "loss": "What a client makes small.",
    "sigma": "Standard deviation of the noise in the data.",
    "paths": "How often a stochastic network is asked at each point.",
    "seed": "Another draw of what is random here.",
    "client": "Whose part is shown.",
    "round": "After how many rounds.",
    "moment": "After how many rounds.",
    "rounds": "How many rounds are counted.",
}
"""What a control of this name does, where a notebook gives it no tooltip of its own."""
