"""Widgets: sliders in front of pure drawing functions."""

import asyncio
import gc
from collections.abc import Callable, Collection
from html import escape

import anywidget
import ipywidgets
import numpy as np
import torch
import traitlets
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.func import jvp

from .datasets import OUT_OF_DISTRIBUTION, SUBSTEPS, half_steps, pendulum_trajectories, with_stiffness
from .figures import library_view, pendulum_view, shard_view
from .networks import predict
from .redraw import painter
from .solvers import pendulum
from .spaces import grf
from .streams import stream


class Picture(anywidget.AnyWidget):
    """A PNG on the page. ipywidgets' own Image has no alt text, and the page needs no more than this."""

    _esm = """
    export default { render({ model, el }) {
        const img = document.createElement("img");
        img.style.cssText = "display: block; width: 100%; max-width: 800px";
        function update() {
            const old = img.src;
            img.src = URL.createObjectURL(new Blob([model.get("value")], { type: "image/png" }));
            if (old) URL.revokeObjectURL(old);
            img.alt = model.get("alt");
        }
        model.on("change:value", update);
        update();
        el.appendChild(img);
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
    gc.collect()
    gc.freeze()  # else Python's collector looks through all of torch now and then: a move that takes 0.4 s
    return ipywidgets.VBox([*controls.values(), message, picture])


def newest_only(update: Callable[[], None], pause: float = 0.01) -> Callable[..., None]:
    """A request for an update that overtakes the waiting ones: dragging a slider does not queue up pictures.

    In a kernel the update waits ``pause`` seconds, in which the kernel reads the moves that have arrived meanwhile.
    """
    waiting = False

    def run():
        nonlocal waiting
        waiting = False
        update()

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


def pendulum_input(
    m: int,
    kind: str = "GRF",
    length_scale: float = 0.2,
    seed: int = 0,
    amplitude: float = 1.0,
    frequency: float = 1.0,
) -> np.ndarray:
    """One input on the solver's half-step grid [1, ...]: "GRF", or a key of OUT_OF_DISTRIBUTION."""
    t = half_steps(m)
    if kind == "GRF":
        return grf(t, 1, length_scale, stream(seed, "widget"))
    if kind not in OUT_OF_DISTRIBUTION:
        raise ValueError(f"kind = {kind!r}: expected 'GRF' or one of {', '.join(OUT_OF_DISTRIBUTION)}")
    return OUT_OF_DISTRIBUTION[kind](t, amplitude, frequency)[None]


def draw_pendulum(net: nn.Module, models: dict[str, Tensor], **chosen) -> Figure:
    """A torque, the true angle and what each model predicts.

    models: label -> row [P] of a stack; chosen: what ``pendulum_input`` takes.
    """
    m = net.branch[0].in_features
    exact = pendulum_trajectories(pendulum_input(m, **chosen))
    t = np.linspace(0, 1, m)
    times = torch.as_tensor(t, dtype=torch.float32)[:, None]
    predictions = {label: predict(net, row, exact["u"].float(), times).numpy() for label, row in models.items()}
    return pendulum_view(t, exact["u"][0].numpy(), exact["x1"][0].numpy(), predictions)


INPUT_CONTROLS = {
    "kind": lambda: ipywidgets.Dropdown(options=["GRF", *OUT_OF_DISTRIBUTION]),
    "length_scale": lambda: ipywidgets.FloatSlider(0.2, min=0.05, max=2, step=0.05),
    "seed": lambda: ipywidgets.IntSlider(0, min=0, max=50),
    "amplitude": lambda: ipywidgets.FloatSlider(1, min=-3, max=3, step=0.1),
    "frequency": lambda: ipywidgets.FloatSlider(1, min=0, max=3, step=0.1),
}


def idle_inputs(kind: str, **_) -> set[str]:
    """Controls of an input that its kind does not use; t, the ramp, has no frequency."""
    if kind == "GRF":
        return {"amplitude", "frequency"}
    return {"length_scale", "seed"} | ({"frequency"} if kind == "t" else set())


def pendulum_explorer(net: nn.Module, models: dict[str, Tensor]) -> ipywidgets.VBox:
    """The pendulum widget: choose an input and see federated, single-client and true angle."""
    controls = {name: make() for name, make in INPUT_CONTROLS.items()}
    alt = "left a torque over time, right the angle it causes, true and as predicted by the models"
    return explore(lambda **values: draw_pendulum(net, models, **values), alt, idle_inputs, **controls)


def draw_library(net: nn.Module, row: Tensor, k: float = 1.0, **chosen) -> Figure:
    """A pendulum of stiffness k: true and predicted angle, and both in the phase plane.

    row [P]: the model; chosen: what ``pendulum_input`` takes. The predicted velocity is the derivative of the
    network's angle with respect to time (piecewise constant: a ReLU network is not smooth).
    """
    m = net.branch[0].in_features - 1
    u = pendulum_input(m, **chosen)
    truth, u = pendulum(u, k)[0, ::SUBSTEPS], torch.as_tensor(u[:, :: 2 * SUBSTEPS].copy()).float()
    times = torch.linspace(0, 1, m)[:, None]
    angle, velocity = jvp(lambda y: predict(net, row, with_stiffness(u, k), y), (times,), (torch.ones_like(times),))
    return library_view(times[:, 0].numpy(), u[0].numpy(), truth, torch.stack([angle, velocity], 1).numpy(), k)


def library_explorer(net: nn.Module, row: Tensor, stiffness: tuple[float, float] = (0.5, 1.5)) -> ipywidgets.VBox:
    """The library widget: choose a stiffness of an interval (1/s^2) and an input."""
    controls = {name: make() for name, make in INPUT_CONTROLS.items()}
    low, high = stiffness
    middle, step = (low + high) / 2, (high - low) / 20
    k = ipywidgets.FloatSlider(middle, min=low, max=high, step=step, description="stiffness k")
    alt = "a torque over time, the pendulum's true and predicted angle, and both in the phase plane"
    return explore(lambda **values: draw_library(net, row, **values), alt, idle_inputs, k=k, **controls)


def shard_explorer(targets: dict, errors: dict, distances: dict) -> ipywidgets.VBox:
    """The heterogeneity widget: slide through the levels of ``figures.shard_view``."""
    return explore(
        lambda level: shard_view(targets, errors, distances, level),
        "left which targets each client owns, right the error of both algorithms against shards per client",
        level=ipywidgets.SelectionSlider(options=sorted(targets), description="shards/client"),
    )
