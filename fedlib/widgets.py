"""Widgets: sliders in front of pure drawing functions."""

from collections.abc import Callable
from html import escape

import ipywidgets
import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from .datasets import OUT_OF_DISTRIBUTION, half_steps, pendulum_trajectories
from .figures import pendulum_view, png
from .networks import predict
from .spaces import grf
from .streams import stream


def explore(draw: Callable[..., Figure], **controls: ipywidgets.Widget) -> ipywidgets.VBox:
    """Show ``draw(**values)`` and redraw it whenever a control moves.

    ``draw`` must be a pure function of its arguments. An input that it refuses (ValueError) is said below the
    controls and the last picture stays.
    """
    picture, message = ipywidgets.Image(format="png"), ipywidgets.HTML()

    def update(_=None):
        try:
            picture.value = png(draw(**{name: control.value for name, control in controls.items()}))
            message.value = ""
        except ValueError as error:
            message.value = f"<b>{escape(str(error))}</b>"

    for name, control in controls.items():
        control.description = control.description or name.replace("_", " ")
        control.style.description_width = "110px"
        control.observe(update, "value")
    update()
    return ipywidgets.VBox([*controls.values(), message, picture])


def pendulum_input(kind: str, m: int, length_scale: float, seed: int, amplitude: float, frequency: float) -> np.ndarray:
    """One input on the solver's half-step grid [1, ...]: "GRF", or a key of OUT_OF_DISTRIBUTION."""
    t = half_steps(m)
    if kind == "GRF":
        return grf(t, 1, length_scale, stream(seed, "widget"))
    if kind not in OUT_OF_DISTRIBUTION:
        raise ValueError(f"kind = {kind!r}: expected 'GRF' or one of {', '.join(OUT_OF_DISTRIBUTION)}")
    return OUT_OF_DISTRIBUTION[kind](t, amplitude, frequency)[None]


def draw_pendulum(
    net: nn.Module,
    models: dict[str, Tensor],
    kind: str = "GRF",
    length_scale: float = 0.2,
    seed: int = 0,
    amplitude: float = 1.0,
    frequency: float = 1.0,
) -> Figure:
    """A torque, the true angle and what each model predicts; models: label -> row [P] of a stack."""
    m = net.branch[0].in_features
    exact = pendulum_trajectories(pendulum_input(kind, m, length_scale, seed, amplitude, frequency))
    t = np.linspace(0, 1, m)
    times = torch.as_tensor(t, dtype=torch.float32)[:, None]
    predictions = {label: predict(net, row, exact["u"].float(), times).numpy() for label, row in models.items()}
    return pendulum_view(t, exact["u"][0].numpy(), exact["x1"][0].numpy(), predictions)


def pendulum_explorer(net: nn.Module, models: dict[str, Tensor]) -> ipywidgets.VBox:
    """The pendulum widget: choose an input and see federated, single-client and true angle."""
    return explore(
        lambda **values: draw_pendulum(net, models, **values),
        kind=ipywidgets.Dropdown(options=["GRF", *OUT_OF_DISTRIBUTION]),
        length_scale=ipywidgets.FloatSlider(0.2, min=0.05, max=2, step=0.05),
        seed=ipywidgets.IntSlider(0, min=0, max=50),
        amplitude=ipywidgets.FloatSlider(1, min=-3, max=3, step=0.1),
        frequency=ipywidgets.FloatSlider(1, min=0, max=3, step=0.1),
    )
