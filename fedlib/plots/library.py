"""Pictures of a library of pendulums: the family, who owns which stiffness, concept shift, the explorer of 03."""

from collections.abc import Mapping, Sequence

import ipywidgets
import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.func import jvp

from ..federated.stack import predict
from ..live.widgets import explore, slider, span
from ..notebook.style import COLORS, around, band, log_axis, panels, shards
from ..numerics.metrics import mean_sd, percent
from ..numerics.solutions import pendulum
from ..papers.fed_deeponet.figures import INPUT_CONTROLS, idle_inputs, pendulum_input
from ..papers.fed_deeponet.physics import SUBSTEPS, with_stiffness


def draw_family(u: np.ndarray, ks: Sequence[float], lw: float) -> Figure:
    """Angle and phase portrait of one torque u [1, ...] on the half-step grid with every stiffness; dark is stiff."""
    fig, ((left, right),) = panels(1, 2, size=(3.2, 2.3))
    for x, k in zip(pendulum(np.repeat(u, len(ks), axis=0), np.asarray(ks)), ks, strict=True):
        shade = str(0.8 * (max(ks) - k) / (max(ks) - min(ks)))
        left.plot(np.linspace(0, 1, len(x)), x[:, 0], color=shade, lw=lw)
        right.plot(x[:, 0], x[:, 1], color=shade, lw=lw)
    left.set(xlabel="t (s)", ylabel="angle $x_1$ (rad)", title=f"one torque, {len(ks)} pendulums (dark: stiff)")
    right.set(xlabel="angle $x_1$ (rad)", ylabel="velocity $x_2$ (rad/s)", title="phase portrait")
    return fig


def draw_stiffness(ks: Mapping[str, np.ndarray], owned: Sequence[np.ndarray]) -> Figure:
    """Who owns which pendulums, at most ten clients of C: "mixed" or "own" -> k of each triplet; C index arrays."""
    some = np.linspace(0, len(owned) - 1, min(len(owned), 10)).round().astype(int)
    fig, axes = panels(1, len(ks), size=(3.2, 2.2), sharex=True, sharey=True)
    for ax, (name, k) in zip(axes[0], ks.items(), strict=True):
        shards([k[owned[c]] for c in some], ax, "stiffness k (1/s$^2$)", ms=8)
        ax.set(title=f"{name}: {'every triplet' if name == 'mixed' else 'every client'} has its k", ylabel="")
        ax.set(yticks=range(len(some)), yticklabels=some)
    axes[0, 0].set_ylabel("client")
    return fig


SHIFTS = {"mixed": COLORS["federated"], "own": COLORS["other"]}


TOLD = {"told": {"ls": "-", "marker": "o"}, "hidden": {"ls": ":", "marker": "s"}}


CENTRALISED = {"same steps": "-.", "same passes": (0, (1, 1))}


def draw_concept_shift(errors: Mapping, floor: float, centralised: Mapping) -> Figure:
    """Errors (%) of four federations and of a client alone, over the rounds and at the end, and the floor (%).

    errors: (key of SHIFTS, key of TOLD), or "isolated" -> [round, seed]. centralised: key of CENTRALISED -> the same
    of a model that owns the data of the first federation.
    """
    fig, ((left, right),) = panels(1, 2, size=(3.6, 2.8))
    cases = [case for case in errors if case != "isolated"]
    looks = {(data, k): (SHIFTS[data], f"{data}, {k}", {"ms": 5} | TOLD[k]) for data, k in cases}
    for case in errors:
        color, label, style = looks.get(case, (COLORS["isolated"], "one client alone", {"marker": "^", "ms": 5}))
        values = errors[case].transpose("seed", "round").values
        band(left, errors[case]["round"], values, color, label, lw=2, **style)
    for name, found in centralised.items():
        values = found.transpose("seed", "round").values
        style = {"color": COLORS["centralised"], "ls": CENTRALISED[name], "lw": 2}
        band(left, found["round"], values, label=f"centralised, {name}", marker="", **style)
        right.axhline(found.isel(round=-1).mean(), **style)
    left.axhline(floor, color="k", ls="--", lw=1, label="floor, k hidden")
    left.set(xlabel="round", ylabel="mean error e (%)")
    left.xaxis.get_major_locator().set_params(integer=True)
    log_axis(left.yaxis)
    left.yaxis.set_minor_formatter("")
    fig.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    mean, sd = np.transpose([mean_sd(errors[case].isel(round=-1).values) for case in cases])
    right.bar(
        [f"{data} k,\n{k}" for data, k in cases],
        mean,
        yerr=sd if errors[cases[0]].sizes["seed"] > 1 else None,
        color=[SHIFTS[data] for data, _ in cases],
        hatch=["//" * (k == "hidden") for _, k in cases],
        edgecolor="w",
        capsize=4,
    )
    right.axhline(floor, color="k", ls="--", lw=1)
    right.set_ylabel("mean error e (%)")
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


def library_explorer(net: nn.Module, row: Tensor, stiffness: tuple[float, float] = (0.5, 1.5)) -> ipywidgets.GridBox:
    """The library widget: choose a stiffness of an interval (1/s^2) and an input."""
    controls = {name: make() for name, make in INPUT_CONTROLS.items()}
    low, high = stiffness
    values = span(low, high, (high - low) / 20)
    k = slider(values, values[10], "stiffness k")
    alt = "a torque over time, the pendulum's true and predicted angle, and both in the phase plane"
    return explore(lambda **values: draw_library(net, row, **values), alt, idle_inputs, k=k, **controls)
