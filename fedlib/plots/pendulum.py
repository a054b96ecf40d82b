"""Pictures of the pendulum, and the explorers of notebooks 01 and 03."""

from collections.abc import Mapping, Sequence

import ipywidgets
import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.func import jvp

from ..federated.stack import predict
from ..numerics.solutions import pendulum
from ..numerics.spaces import grf
from ..problems.pendulum import OUT_OF_DISTRIBUTION, SUBSTEPS, half_steps, pendulum_trajectories, with_stiffness
from ..streams import stream
from .style import CLIENTS, COLORS, around, panels, percent
from .widgets import explore


def trajectories(
    t: np.ndarray, truth: np.ndarray, predictions: Mapping[str, np.ndarray], titles: Sequence[str]
) -> Figure:
    """True against predicted angle, one panel per trajectory (Fed-DeepONet, Figs. 3, 4 and 8).

    Args:
        t [m] (s); truth [n, m]; predictions: label -> [n, m], label a key of COLORS; titles: n panel titles.
    """
    fig, axes = panels(1, len(truth), size=(2.6, 2.3))
    for i, ax in enumerate(axes[0]):
        ax.plot(t, truth[i], color=COLORS["truth"], label="true")
        for label, x in predictions.items():
            ax.plot(t, x[i], "--", color=COLORS[label], label=label)
        ax.set(xlabel="t (s)", title=titles[i])
    axes[0, 0].set_ylabel("angle $x_1$ (rad)")
    axes[0, 0].legend()
    return fig


def input_output(t, u: np.ndarray, x: np.ndarray) -> Figure:
    """What an operator does: left torques u [n, m] (rad/s^2) over t [m] (s), right the angles x [n, m] (rad)."""
    fig, ((left, right),) = panels(1, 2, size=(3.2, 2.2))
    for k, (torque, angle) in enumerate(zip(u, x, strict=True)):
        left.plot(t, torque, color=CLIENTS[k % len(CLIENTS)], lw=2)
        right.plot(t, angle, color=CLIENTS[k % len(CLIENTS)], lw=2)
    left.set(xlabel="t (s)", ylabel="torque u (rad/s$^2$)", title="what the network sees")
    right.set(xlabel="t (s)", ylabel="angle $x_1$ (rad)", title="what it has to predict")
    return fig


def pendulum_view(t, u, truth, predictions: Mapping[str, np.ndarray]) -> Figure:
    """Left the input torque, right the angle it causes, true and predicted, with relative L2 errors.

    Args:
        t [m] (s); u [m] (rad/s^2); truth [m] (rad); predictions: label -> [m], label a key of COLORS.
    """
    fig, ((left, right),) = panels(1, 2, size=(3.4, 2.5))
    left.plot(t, u, color=COLORS["other"], lw=2.5)
    left.set(xlabel="t (s)", ylabel="torque u (rad/s$^2$)", title="input", ylim=around(u))
    right.plot(t, truth, color=COLORS["truth"], label="true")
    for label, x in predictions.items():
        right.plot(t, x, "--", color=COLORS[label], label=f"{label}: e = {percent(x, truth):.2f} %")
    angles = around(truth, *predictions.values())
    right.set(xlabel="t (s)", ylabel="angle $x_1$ (rad)", title="output", ylim=angles)
    right.legend(loc="upper left")  # from rest the angle grows late
    return fig


def library_view(t, u, truth, prediction, k: float) -> Figure:
    """A pendulum of stiffness k: its input, its angle and its phase portrait, true and federated.

    Args:
        t [m] (s); u [m] (rad/s^2); truth, prediction: angle and angular velocity [m, 2]; k (1/s^2).
    """
    fig, ((left, middle, right),) = panels(1, 3, size=(2.6, 2.4))
    left.plot(t, u, color=COLORS["other"], lw=2.5)
    left.set(xlabel="t (s)", ylabel="torque u (rad/s$^2$)", title="input", ylim=around(u))
    error = percent(prediction[:, 0], truth[:, 0])
    for z, style, name in ((truth, "-", "truth"), (prediction, "--", "federated")):
        middle.plot(t, z[:, 0], style, color=COLORS[name], label=name)
        right.plot(z[:, 0], z[:, 1], style, color=COLORS[name], label=name)
    angles, velocities = around(truth[:, 0], prediction[:, 0]), around(truth[:, 1], prediction[:, 1])
    middle.set(xlabel="t (s)", ylabel="angle $x_1$ (rad)", title=f"k = {k:.2f} /s$^2$, e = {error:.2f} %", ylim=angles)
    right.set(xlabel="angle $x_1$ (rad)", ylabel="velocity $x_2$ (rad/s)", title="phase portrait")
    right.set(xlim=angles, ylim=velocities)
    middle.legend(loc="upper left")  # from rest the angle grows late
    return fig


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
