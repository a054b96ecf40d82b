"""A notebook's parameters as controls, and a run of it in the background: progress, Cancel, figures side by side."""

import ast
import asyncio
import shlex
import time
import tokenize
from collections.abc import Mapping
from contextlib import suppress
from html import escape
from io import StringIO
from pathlib import Path

import ipywidgets

from ..notebook import batch, rules
from ..notebook.batch import Outcome, Running
from ..notebook.worker import cells_done, is_done
from ..trainings import settings
from .widgets import Control, Picture, choice, in_turn

EVERY = 0.5  # s between two looks at a run
NONE = ("none yet",)  # what there is to choose from where there is no figure
MATTER = "problems", "seeds", "rounds", "local_updates", "clients", "levels", "lr", "batch_size", "fraction"
FIRST = 5  # parameters in sight at once; the others are behind a button
WIDE = "440px"  # of a control


def control_of(name: str, hint: str, value, options: tuple = ()) -> ipywidgets.Widget:
    """A control for a typed parameter: a choice, or a field with the value as Python writes it."""
    if hint == "bool":
        return choice([("yes", True), ("no", False)], value, name)
    if value in options:
        return choice(options, value, name)
    return ipywidgets.Text(written(value), description=name, continuous_update=True)


def written(value) -> str:
    """A value as it stands in a field; a text without its quotes."""
    return value if isinstance(value, str) else repr(value)


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


def command(notebook: str, overrides: Mapping) -> str:
    """The line for a terminal that does the same run."""
    parts = ["python", "-m", "fedlib", "run", notebook]
    for name, value in overrides.items():
        parts += ["-p", f"{name}={written(value)}"]
    return shlex.join(parts)


def in_order(names: Mapping) -> list[str]:
    """Those that matter first, the others as the notebook has them."""
    return sorted(names, key=lambda name: MATTER.index(name) if name in MATTER else len(MATTER))


class ParameterPanel:
    """The state behind ``panel``: what is chosen, the job that runs, what it left."""

    def __init__(self, notebook: Path, figures: Path):
        self.notebook, self.figures, self.job = notebook, figures, None
        self.hints, self.helps = settings.parameters_of(notebook), helps_of(notebook)
        self.controls = {
            name: control_of(name, *self.hints[name], getattr(rules.USUAL.get(name), "options", ()))
            for name in in_order(self.hints)
        }
        self.notes = {name: ipywidgets.HTML() for name in self.controls}
        self.message, self.estimate = ipywidgets.HTML(), ipywidgets.HTML()
        self.line = ipywidgets.Text(description="the same", tooltip="The line for a terminal that does the same run.")
        self.run, self.cancel = (ipywidgets.Button(description=word, tooltip=word) for word in ("Run", "Cancel"))
        self.progress = ipywidgets.IntProgress(description="cells")
        self.figure = Control(NONE, NONE[0], "list", "figure", "Which figure is shown below.")
        self.figure.layout.width = WIDE
        self.pictures = {words: Picture() for words in ("this run", "the paper's settings")}
        rows = []
        for name, control in self.controls.items():
            control.tooltip, control.layout.width = self.helps[name], WIDE
            if not isinstance(control, Control):
                control.style.description_width = "150px"
            self.notes[name].layout.flex = "1 1 300px"
            rows.append(ipywidgets.HBox([control, self.notes[name]], layout=ipywidgets.Layout(flex_flow="row wrap")))
            control.observe(self.check, "value")
        self.others = ipywidgets.VBox(rows[FIRST:], layout=ipywidgets.Layout(display="none"))
        self.more = ipywidgets.Button(description=f"{len(rows[FIRST:])} more", tooltip="Show or hide the others.")
        self.line.layout.width = "98%"
        self.beside = {
            words: ipywidgets.VBox([ipywidgets.HTML(f"<b>{words}</b>"), picture], layout={"flex": "1 1 480px"})
            for words, picture in self.pictures.items()
        }
        buttons = ipywidgets.HBox([self.run, self.cancel, self.progress, self.message])
        below = ipywidgets.HBox([*self.beside.values()], layout=ipywidgets.Layout(flex_flow="row wrap"))
        self.box = ipywidgets.VBox(
            [*rows[:FIRST], self.more, self.others, self.estimate, self.line, buttons, self.figure, below]
        )
        self.run.on_click(in_turn(self.start))
        self.cancel.on_click(in_turn(lambda: self.end("cancelled")))
        self.more.on_click(in_turn(self.unfold))
        self.figure.observe(in_turn(self.look_at), "value")
        self.line.observe(self.check, "value")  # it is for copying: what is typed there is undone
        self.cancel.disabled = True
        self.check()
        self.offer()

    def values(self) -> dict:
        """What the controls say."""
        return {name: parsed(control.value, self.hints[name][0]) for name, control in self.controls.items()}

    def overrides(self) -> dict:
        """Where they differ from the notebook's."""
        return {name: value for name, value in self.values().items() if value != self.hints[name][1]}

    def unfold(self) -> None:
        hidden = self.others.layout.display == "none"
        self.others.layout.display = "flex" if hidden else "none"
        self.more.description = "fewer" if hidden else f"{len(self.others.children)} more"

    def check(self, _=None) -> None:
        """Say at once what the runner would refuse, at the field that is wrong."""
        values, wrong = self.values(), {}
        if refused(self.notebook, values):
            wrong = {name: words for name in values if (words := refused(self.notebook, {name: values[name]}))}
        for name, control in self.controls.items():
            note = f"<b>✗ {escape(wrong[name])}</b>" if name in wrong else f"<small>{escape(self.helps[name])}</small>"
            self.notes[name].value, control.layout.border = note, "2px solid #D55E00" if name in wrong else ""
        if set(wrong) & set([*self.controls][FIRST:]) and self.others.layout.display == "none":
            self.unfold()
        self.run.disabled = bool(wrong) or self.job is not None
        self.line.value = "" if wrong else command(self.notebook.stem, self.overrides())
        self.estimate.value = "" if wrong else self.duration(values)

    def duration(self, values: Mapping) -> str:
        """How long a run takes: what is stored is drawn, what was changed is trained for some minutes."""
        paper = settings.paper(self.notebook.stem) or {name: value for name, (_, value) in self.hints.items()}
        if not (changes := settings.changed(values, paper)):
            return "Nothing is trained: what is stored is drawn, in half a minute."
        words, minutes = escape(settings.in_words(changes, paper)), values.get("minutes", 3)
        return (
            f"{words}: what that asks for is trained for at most {minutes:g} minutes, and said how much all would take."
        )

    # the run: all that this module wants of the batch

    def start(self) -> None:
        """Begin the run, or say why not; one at a time."""
        if self.job is not None or self.run.disabled:
            return
        job = batch.job_of(self.notebook, self.overrides(), self.figures)
        if is_done(job):
            return self.show(Outcome(self.notebook.stem, job.target, "skipped", 0.0, "up to date"))
        self.job, self.run.disabled, self.cancel.disabled = Running(job), True, False
        self.progress.max, self.progress.value = len(settings.cells_of(self.notebook)) + 1, 0
        self.look()

    def look(self) -> None:
        """How far it has come; again in a moment, where there is a kernel that can wait."""
        if self.job is None:
            return
        self.progress.value = max(self.progress.value, cells_done(self.job.job))  # a finished one has moved away
        self.message.value = (
            f"cell {self.progress.value} of {self.progress.max}, {time.time() - self.job.started:.0f} s"
        )
        if self.job.ended():
            self.end()
            return
        with suppress(RuntimeError):  # no kernel, as in a test
            asyncio.get_running_loop().call_later(EVERY, self.look)

    def end(self, why: str = "") -> None:
        """Of the run, by itself or by Cancel: nothing of it is left at work."""
        job, self.job = self.job, None
        if job is not None:
            outcome = job.outcome(why)
            self.cancel.disabled = True
            self.check()
            self.show(outcome)

    def show(self, outcome: Outcome) -> None:
        if outcome.status != "failed":
            self.progress.value = self.progress.max
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
    """The panel of a notebook; where another kernel shows the same notebook, its runs wait for each other."""
    return ParameterPanel(settings.NOTEBOOKS / f"{notebook}.ipynb", settings.FIGURES).box
