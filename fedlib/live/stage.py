"""A training with buttons: play, pause, one round, from the beginning; the picture follows."""

import asyncio
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from html import escape
from inspect import signature
from typing import NamedTuple

import ipywidgets
import torch

from ..federated.experiment import Experiment
from ..notebook import pages
from ..numerics.metrics import in_percent
from ..refusals import hint
from .player import PACES, STORY, Player
from .redraw import painter
from .views import experiment_panels, experiment_scene, page, remember, view, words
from .watched import Moment, Watched, watched_experiment
from .widgets import (
    MOVED,
    Picture,
    choice,
    chosen,
    discard,
    fresh_memory,
    in_turn,
    newest_only,
    prepare,
    slider,
    values_of,
)

WORDS = {"E": "local steps E", "lr": "rate"}

OPEN: dict[str, "Live"] = {}  # of each kind the one that was shown last


class Live(NamedTuple):
    """What is on the page: the box with everything, its player, its picture."""

    box: ipywidgets.VBox
    player: Player
    picture: Picture


def show(name: str, *what, **controls: ipywidgets.Widget) -> None:
    """Display ``live``; where there is no browser behind the kernel, its first picture stands in its place."""
    close(name)
    OPEN[name] = made = live(*what, **controls)
    still, metadata = pages.as_output(made.picture.value, made.picture.alt, pages.WIDTH)
    pages.display(made.box._repr_mimebundle_() | still, raw=True, metadata=metadata)


def close(name: str) -> None:
    """Leave nothing of the one that was shown under this name: no thread, no training, no widget."""
    if (old := OPEN.pop(name, None)) is not None:
        old.player.stop()
        discard(old.box)


def check_controls(what: Experiment | Callable, controls: Mapping) -> None:
    """ValueError where a control has no values, or is none of an experiment's."""
    for name, control in controls.items():
        if not isinstance(control, ipywidgets.Widget) and not (hasattr(control, "__len__") and len(control)):
            raise ValueError(f"{name} = {control!r}; expected a widget, or a list of its values, the first one first")
    if not isinstance(what, Experiment):
        return
    if "level" not in controls:
        raise ValueError("live has no level to show; say live(experiment, level=[...], ...)")
    names = {*signature(watched_experiment).parameters, *Experiment._fields} - {"experiment", "changes"}
    if unknown := [name for name in controls if name not in names]:
        raise ValueError(
            f"{unknown[0]!r} is no control of an experiment, and none of its fields{hint(unknown[0], names)}"
        )


def live(
    what: Experiment | Callable[..., Watched], scene: Callable | None = None, alt: str = "", panels: int = 1,
    idle: Callable[..., Collection[str]] = lambda **values: (), **controls: ipywidgets.Widget | Sequence,
) -> Live:  # fmt: skip
    """Buttons and controls below a training that starts anew whenever a control moves.

    Nothing runs until a button is pressed, but the local steps of the first round.

    Args:
        what: an experiment, whose controls are named level, E, rule, mixing, or as its fields, see
            ``watched_experiment``; or values of the controls -> ``Watched``; a ValueError is said below the controls.
        scene: (axes, watched, moment), draws the problem in ``panels`` axes; in the same limits: that is fast. That of
            an experiment is ``experiment_scene``.
        alt: what the picture shows, for those who cannot see it; where the training stands is added.
        idle: values -> names of the controls that have no effect just now; they are disabled.
        controls: a widget, or the values of a slider that begins with the first one.
    """
    check_controls(what, controls)
    controls = {
        name: control if isinstance(control, ipywidgets.Widget) else slider(control, control[0], WORDS.get(name, ""))
        for name, control in controls.items()
    }
    rows = prepare(controls)
    setup = partial(watched_experiment, what) if isinstance(what, Experiment) else what
    if isinstance(what, Experiment):
        panels = experiment_panels(setup(**{name: control.value for name, control in controls.items()}))
        curves = "left the truth, the clients and the federation"
        steps = "left the clients' steps in the plane of weights, right the errors over the rounds"
        scene, alt = experiment_scene, alt or f"{what.name}: {curves if panels else steps}"
    fig, paint, picture, message = page(panels), painter(), Picture(), ipywidgets.HTML()
    shown: dict = {}  # the training that is looked at, its past, the values that it was made from, its first moment
    wanted = False  # that it plays, whether or not a thread is at it just now
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # no kernel, as in a test
        loop = None

    def update(moment: Moment, words_below: str = ""):
        watched, past = shown["watched"], shown["past"]
        errors = remember(past, watched, moment)
        numbers = ", ".join(f"{name} {in_percent(value)}" for name, value in errors.items())
        image = paint(view(fig, scene, watched, moment, past))
        picture.alt = f"{alt} ({words(moment)}; mean errors: {numbers}; {shown['words']})"
        picture.value, message.value = image, words_below

    def follow(moment: Moment):
        """In the thread that plays: the kernel's own loop draws, and the next moment waits for it."""
        if loop is None:
            return update(moment)
        drawn = threading.Event()

        def draw():
            try:
                if moment is player.last:  # it was not reset in the meantime
                    update(moment)
            finally:
                drawn.set()

        loop.call_soon_threadsafe(draw)
        while not drawn.wait(0.02) and not player.pausing.is_set():
            pass

    def want(playing: bool):
        """The button says what it does when it is pressed next."""
        nonlocal wanted
        wanted = playing
        play.description, play.icon = ("Pause", "pause") if playing else ("Play", "play")

    def ended(error: Exception | None):
        """A thread has: by itself, because it was paused, or because another training plays."""
        if error:
            message.value = f"<b>{escape(str(error))}</b>"
        if error or not player.playing:
            want(False)

    def say(error: Exception | None):
        """In the thread that plays."""
        if loop:
            loop.call_soon_threadsafe(loop.call_later, 0.05, ended, error)
        elif error:
            ended(error)

    def reset():
        """From the beginning; it goes on by itself where it was wanted to play."""
        player.stop()
        values = values_of(controls, idle)
        before, walk = shown.get("values", values), shown.get("walk")
        try:
            shown["watched"], shown["past"] = setup(**values), {}
            moment = player.reset()
            shown["values"], shown["walk"] = values, moment.walk
            shown["words"] = ", ".join(f"{one.description} {chosen(one)}" for one in controls.values())
            moved = [controls[name].description for name in values if values[name] != before.get(name)]
            same = moved and walk is not None and torch.equal(walk, moment.walk)
            update(moment, f"<i>{escape(' and '.join(moved))}: acts at the next average.</i>" if same else "")
        except (ValueError, FloatingPointError) as error:
            message.value = f"<b>{escape(str(error))}</b>"
            return
        if wanted:
            player.play()

    def press_play():
        want(not wanted)
        if wanted:
            player.play()
        else:
            player.pause()

    def press_step():
        want(False)
        player.step()

    def press_reset():
        want(False)
        reset()

    presses = {
        "Play": (press_play, "Train and show it; press again to pause."),
        "Step one round": (press_step, "Go on to the next average."),
        "Reset": (press_reset, "Begin anew, from the same weights."),
    }
    buttons = [ipywidgets.Button(description=name, tooltip=tip) for name, (_, tip) in presses.items()]
    play = buttons[0]
    for button, (press, _) in zip(buttons, presses.values(), strict=True):
        button.on_click(in_turn(press))
    player = Player(lambda halted: shown["watched"].begin(halted), follow, say)
    pace = choice(
        [STORY, *PACES], STORY, "pace", "Slow, then fast: two rounds step by step, three one by one, then all."
    )
    pace.observe(lambda change: setattr(player, "pace", change["new"]), "value")
    anew = newest_only(reset)
    for control in controls.values():
        control.observe(anew, "value")
    want(False)
    reset()
    fresh_memory()
    box = ipywidgets.VBox([picture, ipywidgets.HBox([*buttons, pace]), rows, message])
    return Live(box.add_class(MOVED), player, picture)
