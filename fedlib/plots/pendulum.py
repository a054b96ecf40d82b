"""Pictures of the pendulum: data, training, tables, trajectories, and the explorer of notebook 01."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import NamedTuple

import ipywidgets
import numpy as np
import xarray
from matplotlib.figure import Figure
from torch import Tensor, nn

from ..federated.stack import predict
from ..live.widgets import choice, explore, slider, span
from ..notebook.style import CLIENTS, COLORS, around, band, log_axis, panels, paper_and_ours, shards
from ..numerics.metrics import percent
from ..numerics.spaces import grf
from ..papers.fed_deeponet.physics import OUT_OF_DISTRIBUTION, half_steps, pendulum_trajectories, times
from ..streams import stream

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
        ax.plot(t, truth[i], color=COLORS["truth"], label="true")
        for label, x in predictions.items():
            ax.plot(t, x[i], PREDICTED.get(label, "--"), color=COLORS[label], label=label)
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


def draw_data(tests: Mapping[str, Tensor], targets: Sequence[np.ndarray]) -> Figure:
    """Five test inputs, their trajectories ("u", "x1" [n, m]), and the targets s (rad) of each client."""
    fig, ((left, middle, right),) = panels(1, 3, size=(2.7, 2.4))
    t = np.linspace(0, 1, tests["u"].shape[1])
    left.plot(t, tests["u"][:5].T, color=COLORS["other"], lw=2.5)
    left.set(xlabel="t (s)", ylabel="torque u (rad/s$^2$)", title="five inputs")
    middle.plot(t, tests["x1"][:5].T, color=COLORS["truth"])
    middle.set(xlabel="t (s)", ylabel="angle $x_1$ (rad)", title="their trajectories")
    shards(targets, right, "target s (rad)")
    right.set_title(f"targets owned by {len(targets)} client{'s' * (len(targets) > 1)}")
    return fig


def draw_training(curves: Mapping[str, tuple[xarray.DataArray, xarray.DataArray]]) -> Figure:
    """Left the training loss (rad^2), right the test error (%), both over the rounds.

    Args:
        curves: label -> loss and error [seed, round]; the last one is the federation that is compared with the others.
    """
    fig, axes = panels(1, 2)
    *others, ours = curves
    colors = dict(zip(others, cycle(("other", "isolated", "light", "paper")))) | {ours: "federated"}
    for label, pair in curves.items():
        for ax, values in zip(axes[0], pair, strict=True):
            band(ax, values["round"], values.transpose("seed", "round").values, COLORS[colors[label]], label)
    left, right = axes[0]
    left.set(xlabel="round", ylabel="training loss (rad$^2$)", yscale="log")
    right.set(xlabel="round", ylabel="test error e (%)")
    log_axis(right.yaxis)
    fig.legend(*right.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig


class Table(NamedTuple):
    """A table's errors (%) at x: printed [len(x)], or NaN where none is; ours by label [S, len(x)].

    levels: label -> errors [S] of models that have no x, such as a centralised one.
    """

    xlabel: str
    x: Sequence[float]
    printed: Sequence[float]
    ours: Mapping[str, np.ndarray]
    levels: Mapping[str, np.ndarray] = {}


def draw_tables(tables: Mapping[str, Table]) -> Figure:
    """Tables as points, printed values beside ours: title -> Table, a panel each."""
    fig, axes = panels(1, len(tables))
    for ax, (title, table) in zip(axes[0], tables.items(), strict=True):
        printed = [table.printed] + [None] * len(table.ours)  # once is enough
        for (label, values), color, paper in zip(table.ours.items(), ("federated", "other"), printed, strict=False):
            paper_and_ours(ax, table.x, paper, values, label, color)
        for (label, values), dash in zip(table.levels.items(), cycle(("--", ":"))):
            ax.axhline(np.mean(values), color=COLORS["centralised"], ls=dash, label=label)
        ax.set(xlabel=table.xlabel, title=title)
        ax.set_ylim(bottom=0)
    axes[0, 0].set_ylabel("mean error e (%)")
    names = {label: handle for ax in axes[0] for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    fig.legend(names.values(), names, loc="outside upper center", ncols=3)
    return fig


def draw_predictions(
    net: nn.Module, models: Mapping[str, Tensor], u: Tensor, truth: Tensor, titles: Sequence[str]
) -> Figure:
    """``trajectories`` of models, key of COLORS -> row [P]: inputs of the branch u [n, ...], true angles [n, m]."""
    m = truth.shape[1]
    guess = {name: predict(net, row, u[:, None].float(), times(m)).numpy() for name, row in models.items()}
    return trajectories(np.linspace(0, 1, m), truth.numpy(), guess, titles)


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
    right.legend(loc="lower left" if np.mean(truth) > 0 else "upper left")  # on the other side of the angle
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
    predictions = {label: predict(net, row, exact["u"].float(), times(m)).numpy() for label, row in models.items()}
    return pendulum_view(np.linspace(0, 1, m), exact["u"][0].numpy(), exact["x1"][0].numpy(), predictions)


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


def pendulum_explorer(net: nn.Module, models: dict[str, Tensor]) -> ipywidgets.GridBox:
    """The pendulum widget: choose an input and see federated, single-client and true angle."""
    controls = {name: make() for name, make in INPUT_CONTROLS.items()}
    alt = "left a torque over time, right the angle it causes, true and as predicted by the models"
    return explore(lambda **values: draw_pendulum(net, models, **values), alt, idle_inputs, **controls)
