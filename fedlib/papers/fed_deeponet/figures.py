"""Angles, true and as networks predict them, and controls to choose a torque: what several rooms draw."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from torch import Tensor, nn

from ...federated.stack import predict
from ...live.widgets import choice, slider, span
from ...notebook.style import COLORS, panels
from ...numerics.spaces import grf
from ...streams import stream
from .physics import OUT_OF_DISTRIBUTION, half_steps, times

PREDICTED = {"centralised": ":"}
"""How a model's angle is drawn, if not dashed."""


def trajectories(
    t: np.ndarray, truth: np.ndarray, predictions: Mapping[str, np.ndarray], titles: Sequence[str]
) -> Figure:
    """True against predicted angle, one panel per trajectory (Fed-DeepONet, Figs. 3, 4 and 8).

    Args:
        t [m] (s); truth [n, m]; predictions: label -> [n, m], label a key of COLORS; titles: n panel titles.
    """
    fig, axes = panels(1, len(truth), size=(2.8, 2.4))
    for i, ax in enumerate(axes[0]):
        ax.plot(t, truth[i], color=COLORS["truth"], label="truth")
        for label, x in predictions.items():
            ax.plot(t, x[i], PREDICTED.get(label, "--"), color=COLORS[label], label=label)
        ax.set(xlabel="t (s)", title=titles[i])
    axes[0, 0].set_ylabel("angle $x_1$ (rad)")
    axes[0, 0].legend()
    return fig


def draw_predictions(
    net: nn.Module, models: Mapping[str, Tensor], u: Tensor, truth: Tensor, titles: Sequence[str]
) -> Figure:
    """``trajectories`` of models, key of COLORS -> row [P]: inputs of the branch u [n, ...], true angles [n, m]."""
    m = truth.shape[1]
    guess = {name: predict(net, row, u[:, None].float(), times(m)).numpy() for name, row in models.items()}
    return trajectories(np.linspace(0, 1, m), truth.numpy(), guess, titles)


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


INPUT_CONTROLS = {
    "kind": lambda: choice(["GRF", *OUT_OF_DISTRIBUTION], tooltip="What the torque is: random (GRF), or a formula."),
    "length_scale": lambda: slider(span(0.05, 2, 0.05), 0.2, tooltip="How slowly a random torque varies."),
    "seed": lambda: slider(range(51)),
    "amplitude": lambda: slider(span(-3, 3, 0.1), 1, tooltip="How strong the torque is."),
    "frequency": lambda: slider(span(0, 3, 0.1), 1, tooltip="How fast the torque of a formula varies."),
}


def idle_inputs(kind: str, **_) -> set[str]:
    """Controls of an input that its kind does not use; t, the ramp, has no frequency."""
    if kind == "GRF":
        return {"amplitude", "frequency"}
    return {"length_scale", "seed"} | ({"frequency"} if kind == "t" else set())
