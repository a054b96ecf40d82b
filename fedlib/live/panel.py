"""A notebook's parameters as controls, and a run of it in the background: Cancel, figures side by side."""

import ast
import asyncio
import threading
import time
import tokenize
from collections.abc import Mapping
from contextlib import suppress
from html import escape
from io import StringIO
from pathlib import Path

import ipywidgets

from ..notebook import batch, rules
from ..trainings import settings
from .widgets import MOVED, Control, Picture, choice, in_turn

EVERY = 0.5  # s between two looks at a run
NONE = ("none yet",)  # what there is to choose from where there is no figure
WIDE = "440px"  # of a control


def control_of(name: str, hint: str, value, options: tuple = ()) -> ipywidgets.Widget:
    """A control for a typed parameter: a choice, or a field with the value as Python writes it; a text without its
    quotes."""
    if hint == "bool":
        return choice([("yes", True), ("no", False)], value, name)
    if value in options:
        return choice(options, value, name)
    text = value if isinstance(value, str) else repr(value)
    return ipywidgets.Text(text, description=name, continuous_update=True, style={"description_width": "150px"})


def parsed(text, hint: str):
    """What a field says: a Python literal; as it is where a text is wanted, or where it is none."""
    if not isinstance(text, str) or hint == "str":
        return text
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def refused(notebook: Path, values: Mapping) -> str:
    """What the runner says against these values, or nothing."""
    try:
        settings.check_parameters(notebook, values)
        rules.check(values)
    except ValueError as error:
        return str(error).removeprefix(f"{notebook.stem}: ")
    return ""


def helps_of(notebook: Path) -> dict[str, str]:
    """name -> the comment behind it in the cell tagged ``parameters``."""
    (source,) = (
        "".join(c["source"]) for c in settings.cells_of(notebook) if "parameters" in c["metadata"].get("tags", [])
    )
    helps, name = {}, ""
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.type == tokenize.NAME and token.start[1] == 0:
            helps[name := token.string] = ""
        elif token.type == tokenize.COMMENT:
            helps[name] = token.string.split("# fmt:")[0].strip("# ")
    return helps


class ParameterPanel:
    """The state behind ``parameters``: what is chosen, the run in the background, what it left."""

    def __init__(self, notebook: Path, figures: Path):
        self.notebook, self.figures, self.thread, self.next_look = notebook, figures, None, None
        self.hints, self.helps = settings.parameters_of(notebook), helps_of(notebook)
        self.controls = {
            name: control_of(name, *self.hints[name], getattr(rules.USUAL.get(name), "options", ()))
            for name in self.hints
        }
        self.notes = {name: ipywidgets.HTML(layout={"flex": "1 1 300px"}) for name in self.controls}
        self.message, self.estimate = ipywidgets.HTML(), ipywidgets.HTML()
        self.run, self.cancel = (ipywidgets.Button(description=word, tooltip=word) for word in ("Run", "Cancel"))
        self.figure = Control(NONE, NONE[0], "list", "figure", "Which figure is shown below.")
        self.figure.layout.width = WIDE
        self.pictures = {words: Picture() for words in ("this run", "the paper's settings")}
        self.beside = {
            words: ipywidgets.VBox([ipywidgets.HTML(f"<b>{words}</b>"), picture], layout={"flex": "1 1 480px"})
            for words, picture in self.pictures.items()
        }
        rows = []
        for name, control in self.controls.items():
            control.tooltip, control.layout.width = self.helps[name], WIDE
            rows.append(ipywidgets.HBox([control, self.notes[name]], layout={"flex_flow": "row wrap"}))
            control.observe(self.check, "value")
        buttons = ipywidgets.HBox([self.run, self.cancel, self.message])
        below = ipywidgets.HBox([*self.beside.values()], layout={"flex_flow": "row wrap"})
        self.box = ipywidgets.VBox([*rows, self.estimate, buttons, self.figure, below]).add_class(MOVED)
        self.run.on_click(in_turn(self.start))
        self.cancel.on_click(in_turn(lambda: self.end("cancelled")))
        self.figure.observe(in_turn(self.look_at), "value")
        self.cancel.disabled = True
        self.check()
        self.offer()

    def values(self) -> dict:
        """What the controls say."""
        return {name: parsed(control.value, self.hints[name][0]) for name, control in self.controls.items()}

    def check(self, _=None) -> None:
        """Say at once what the runner would refuse, at the field that is wrong; else how long a run takes."""
        values, wrong = self.values(), {}
        if refused(self.notebook, values):
            wrong = {name: words for name in values if (words := refused(self.notebook, {name: values[name]}))}
        for name, control in self.controls.items():
            note = f"<b>✗ {escape(wrong[name])}</b>" if name in wrong else f"<small>{escape(self.helps[name])}</small>"
            self.notes[name].value, control.layout.border = note, "2px solid #D55E00" if name in wrong else ""
        self.run.disabled = bool(wrong) or self.thread is not None
        paper = settings.settings_of(self.notebook)
        if wrong or not (changes := settings.changed(values, paper)):
            self.estimate.value = "" if wrong else "Nothing is trained: what is stored is drawn, in half a minute."
        else:
            words, minutes = escape(settings.in_words(changes, paper)), values.get("minutes", 3)
            asks = f"what that asks for is trained for at most {minutes:g} minutes, and said how much all would take."
            self.estimate.value = f"{words}: {asks}"

    # the run: all that this module wants of the batch

    def start(self) -> None:
        """Begin the run, or say why not; one at a time."""
        if self.thread is not None or self.run.disabled:
            return
        overrides = {name: value for name, value in self.values().items() if value != self.hints[name][1]}
        self.job = batch.job_of(self.notebook, overrides, self.figures)
        if batch.is_done(self.job):
            return self.show(batch.Outcome(self.notebook.stem, self.job.target, "skipped", 0.0, "up to date"))
        self.why, self.began = "", time.time()
        self.outcome = batch.Outcome(self.notebook.stem, self.job.target, "failed", 0.0, "see the kernel's own log")
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.run.disabled, self.cancel.disabled = True, False
        self.thread.start()
        self.look()

    def work(self) -> None:
        """In the background."""
        self.outcome = batch.run_one(self.job, stop=lambda: self.why)

    def look(self) -> None:
        """How far it has come; again in a moment, where there is a kernel that can wait."""
        if self.thread is None:
            return
        self.message.value = f"cell {batch.cells_done(self.job)}, {time.time() - self.began:.0f} s"
        if not self.thread.is_alive():
            self.end()
            return
        with suppress(RuntimeError):  # no kernel, as in a test
            self.next_look = asyncio.get_running_loop().call_later(EVERY, self.look)

    def end(self, why: str = "") -> None:
        """Of the run, by itself or by Cancel: nothing of it is left at work."""
        if self.thread is not None:
            self.why = why
            self.thread.join()
            if self.next_look:
                self.next_look.cancel()
            self.thread, self.cancel.disabled = None, True
            self.check()
            self.show(self.outcome)

    def show(self, outcome: batch.Outcome) -> None:
        words = f"{outcome.status} after {outcome.seconds:.0f} s: {outcome.folder.name}. {outcome.message}"
        self.message.value = f"<b>{escape(words)}</b>"
        self.offer(None if outcome.status == "failed" else outcome.folder)

    # its figures

    def offer(self, folder: Path | None = None) -> None:
        """The figures that there are of this run and of the settings."""
        stored = settings.folder_of(self.notebook.stem, {}, self.figures)
        self.folders = dict(zip(self.pictures, (folder, stored), strict=True))
        self.figure.options = (
            sorted({path.stem for place in self.folders.values() if place for path in place.glob("*.png")}) or NONE
        )
        self.look_at()

    def look_at(self) -> None:
        """The chosen figure, side by side, as large as the page allows; where there is none, nothing takes its room."""
        for words, picture in self.pictures.items():
            path = self.folders[words] and self.folders[words] / f"{self.figure.value}.png"
            drawn = path and path.exists()
            picture.alt = f"figure {self.figure.value} of {words}" if drawn else f"{words}: no such figure yet"
            picture.value = path.read_bytes() if drawn else b""
            self.beside[words].layout.display = "flex" if drawn else "none"


def parameters(notebook: str) -> ipywidgets.VBox:
    """The panel of a notebook; where another kernel runs the same one, the second run is refused."""
    return ParameterPanel(settings.NOTEBOOKS / f"{notebook}.ipynb", settings.FIGURES).box
