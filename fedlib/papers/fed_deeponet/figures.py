"""Angles, true and as networks predict them, and controls to choose a torque: what several rooms draw."""

from collections.abc import Callable, Mapping, Sequence

import ipywidgets
import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from ...federated.experiment import Experiment
from ...live.widgets import choice, explore, slider, span
from ...notebook.style import CLIENTS, COLORS, OTHERS, around, panels
from ...numerics.metrics import in_percent, percent
from ...numerics.spaces import grf
from ...streams import stream
from .experiment import says
from .physics import OUT_OF_DISTRIBUTION, half_steps


def predictions(experiment: Experiment, theta: Tensor, u: Tensor, x1: Tensor, names: Sequence[str]) -> Figure:
    """True angles x1 [n, m] and those that a federation with parameters theta [P] says of inputs u [n, ...], a panel
    each under its name (Figs. 3, 4, 7 and 8)."""
    fig, (axes,) = panels(1, len(x1), size=(2.8, 2.4))
    t = np.linspace(0, 1, x1.shape[1])
    for ax, one, truth, name in zip(axes, u, x1.numpy(), names, strict=True):
        angles = says(experiment, {"federated": theta}, one)["federated"]
        ax.plot(t, truth, color=COLORS["truth"], label="truth")
        ax.plot(t, angles, "--", color=COLORS["federated"], label="federated")
        ax.set(xlabel="t (s)", title=f"{name}: e = {percent(angles, truth):.2f} %")
    axes[0].set_ylabel("angle $x_1$ (rad)")
    axes[0].legend()
    return fig


ALONE = "client 1 alone"
LOOKS = {
    ALONE: {"color": CLIENTS[0], "ls": "--"},
    "hidden": {"color": COLORS["federated"], "ls": "--"},
    "federated": {"color": COLORS["federated"]},
    "told": {"color": COLORS["federated"]},
}
"""Of an angle that a model says."""


def angle_figure(
    t: np.ndarray,
    u: np.ndarray,
    truth: np.ndarray,
    angles: Mapping[str, np.ndarray],
    title: str = "the angle that it causes",
) -> Figure:
    """Left a torque u [m] over t [m], right the angle that it causes and what models say, key of LOOKS -> [m]."""
    fig, ((left, right),) = panels(1, 2, size=(3.6, 2.7))
    left.plot(t, u, color=OTHERS[0], lw=2.5)
    left.set(xlabel="t (s)", ylabel="torque u (rad/s$^2$)", title="a torque", ylim=around(u))
    right.plot(t, truth, color=COLORS["truth"], lw=4, alpha=0.25, label="truth")
    for label, x in angles.items():
        right.plot(t, x, label=f"{label}: off by {in_percent(percent(x, truth))}", **LOOKS[label])
    right.set(xlabel="t (s)", ylabel="angle $x_1$ (rad)", title=title)
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3)
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


def ask(draw: Callable[..., Figure], alt: str, **controls: ipywidgets.Widget) -> ipywidgets.GridBox:
    """Show ``draw`` of a torque of one's own, as ``pendulum_input`` takes it, with controls of its own before."""
    torque = {
        "kind": choice(["GRF", *OUT_OF_DISTRIBUTION], tooltip="What the torque is: random (GRF), or a formula."),
        "length_scale": slider(span(0.05, 2, 0.05), 0.2, tooltip="How slowly a random torque varies."),
        "seed": slider(range(51)),
        "amplitude": slider(span(-3, 3, 0.1), 1, tooltip="How strong the torque is."),
        "frequency": slider(span(0, 6, 0.1), 1, tooltip="How fast the torque of a formula varies."),
    }
    return explore(draw, alt, idle_inputs, **controls, **torque)


def idle_inputs(kind: str, **_) -> set[str]:
    """Controls of an input that its kind does not use; t, the ramp, has no frequency."""
    if kind == "GRF":
        return {"amplitude", "frequency"}
    return {"length_scale", "seed"} | ({"frequency"} if kind == "t" else set())
