"""A notebook's parameters as controls, and a run of it in the background: progress, Cancel, figures side by side."""

import ast
import asyncio
import shlex
import time
from collections.abc import Mapping
from contextlib import suppress
from html import escape
from pathlib import Path

import ipywidgets

from . import batch, profiles, settings
from .batch import Outcome, Running
from .widgets import Picture
from .worker import cells_done, is_done

EVERY = 0.5  # s between two looks at a run
NONE = ("none yet",)  # what there is to choose from where there is no figure


def control_of(name: str, hint: str, value, options: tuple = ()) -> ipywidgets.Widget:
    """A control for a typed parameter: a tick, a choice, or a field with the value as Python writes it."""
    if hint == "bool":
        return ipywidgets.Checkbox(value, description=name, indent=False)
    if value in options:
        return ipywidgets.ToggleButtons(options=options, value=value, description=name)
    return ipywidgets.Text(written(value), description=name, continuous_update=True)


def written(value) -> str:
    """A value as it stands in a field; a text without its quotes."""
    return value if isinstance(value, str) else repr(value)


def read(text, hint: str):
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
        settings.check(profiles.check_parameters(notebook, values))
    except ValueError as error:
        return str(error)
    return ""


def command(notebook: str, profile: str, overrides: Mapping) -> str:
    """The line for a terminal that does the same run."""
    parts = ["python", "-m", "fedlib", "run", notebook, "--profile", profile]
    for name, value in overrides.items():
        parts += ["-p", f"{name}={written(value)}"]
    return shlex.join(parts)


class Panel:
    """The state behind ``panel``: what is chosen, the job that runs, what it left."""

    def __init__(self, notebook: Path, figures: Path):
        self.notebook, self.figures, self.job, self.taking = notebook, figures, None, False
        self.hints, helps = profiles.parameters_of(notebook), profiles.helps_of(notebook)
        names = profiles.profiles_of(notebook)
        self.profile = ipywidgets.ToggleButtons(options=names, description="profile")
        self.controls = {
            name: control_of(name, hint, value, getattr(settings.USUAL.get(name), "options", ()))
            for name, (hint, value) in self.hints.items()
            if name != "profile"
        }
        self.message, self.line = ipywidgets.HTML(), ipywidgets.Text(description="the same", disabled=False)
        self.run, self.cancel = (ipywidgets.Button(description=word, tooltip=word) for word in ("Run", "Cancel"))
        self.progress = ipywidgets.IntProgress(description="cells")
        self.figure = ipywidgets.SelectionSlider(options=NONE, description="figure")
        self.pictures = {words: Picture() for words in ("this run", "quick", "paper")}
        rows = [self.profile]
        for name, control in self.controls.items():
            control.style.description_width, control.layout.width = "150px", "480px"
            rows.append(ipywidgets.HBox([control, ipywidgets.HTML(f"<small>{escape(helps[name])}</small>")]))
            control.observe(self.check, "value")
        self.line.layout.width = "98%"
        beside = [
            ipywidgets.VBox([ipywidgets.HTML(f"<b>{words}</b>"), picture], layout=ipywidgets.Layout(width="33%"))
            for words, picture in self.pictures.items()
        ]
        buttons = ipywidgets.HBox([self.run, self.cancel, self.progress])
        self.box = ipywidgets.VBox([*rows, self.message, self.line, buttons, self.figure, ipywidgets.HBox(beside)])
        self.profile.observe(self.take_profile, "value")
        self.run.on_click(self.start)
        self.cancel.on_click(lambda _: self.end("cancelled"))
        self.figure.observe(self.look_at, "value")
        self.line.observe(self.check, "value")  # it is for copying: what is typed there is undone
        self.cancel.disabled = True
        self.take_profile()

    def values(self) -> dict:
        """What the controls say."""
        return {name: read(control.value, self.hints[name][0]) for name, control in self.controls.items()}

    def of_profile(self) -> dict:
        own = {name: value for name, (_, value) in self.hints.items()}
        return own | profiles.profile_parameters(self.notebook, self.profile.value)

    def overrides(self) -> dict:
        """Where they differ from the profile."""
        expected = self.of_profile()
        return {name: value for name, value in self.values().items() if value != expected[name]}

    def take_profile(self, _=None) -> None:
        """Set all controls to the profile's values, and show its figures."""
        self.taking = True
        for name, value in self.of_profile().items():
            if name in self.controls:
                self.controls[name].value = value if self.hints[name][0] == "bool" else written(value)
        self.taking = False
        self.check()
        self.offer()

    def check(self, _=None) -> None:
        """Say at once what the runner would refuse."""
        if self.taking:
            return
        wrong = refused(self.notebook, self.values())
        self.message.value = f"<b>{escape(wrong)}</b>" if wrong else ""
        self.run.disabled = bool(wrong) or self.job is not None
        self.line.value = "" if wrong else command(self.notebook.stem, self.profile.value, self.overrides())

    def start(self, _=None) -> None:
        """Begin the run, or say why not; one at a time."""
        if self.job is not None or self.run.disabled:
            return
        job = batch.job_of(self.notebook, self.profile.value, self.overrides(), self.figures)
        if is_done(job):
            return self.show(Outcome(self.notebook.stem, job.target, "skipped", 0.0, "up to date"))
        self.job, self.run.disabled, self.cancel.disabled = Running(job), True, False
        self.progress.max = len(profiles.cells_of(self.notebook)) + 1
        self.look()

    def look(self) -> None:
        """How far it has come; again in a moment, where there is a kernel that can wait."""
        if self.job is None:
            return
        self.progress.value = cells_done(self.job.job)
        self.message.value = f"cell {self.progress.value} of {self.progress.max}, {seconds(self.job):.0f} s"
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
        words = f"{outcome.status} after {outcome.seconds:.0f} s: {outcome.folder.name}. {outcome.message}"
        self.message.value = f"<b>{escape(words)}</b>"
        self.offer(None if outcome.status == "failed" else outcome.folder)

    def offer(self, folder: Path | None = None) -> None:
        """The figures that there are of this run and of the profiles."""
        own = [profiles.folder_of(self.notebook.stem, profile, self.figures) for profile in ("quick", "paper")]
        self.folders = dict(zip(self.pictures, (folder, *own), strict=True))
        names = sorted({path.stem for at in self.folders.values() if at for path in at.glob("*.png")})
        kept = self.figure.value
        self.figure.options = names or NONE
        self.figure.value = kept if kept in self.figure.options else self.figure.options[0]
        self.look_at()

    def look_at(self, _=None) -> None:
        """The chosen figure, side by side."""
        for words, picture in self.pictures.items():
            path = self.folders[words] and self.folders[words] / f"{self.figure.value}.png"
            there = path and path.exists()
            picture.alt = f"figure {self.figure.value} of {words}" if there else f"{words}: no such figure yet"
            picture.value = path.read_bytes() if there else b""


def seconds(job: Running) -> float:
    return time.time() - job.started


def panel(notebook: str, notebooks: Path = profiles.NOTEBOOKS, figures: Path = profiles.FIGURES) -> ipywidgets.VBox:
    """The panel of a notebook; where another kernel shows the same notebook, its runs wait for each other."""
    return Panel(notebooks / f"{notebook}.ipynb", figures).box
