"""Widgets: sliders in front of pure drawing functions."""

import inspect
from collections.abc import Callable, Mapping
from html import escape

import ipywidgets
import numpy as np
import torch
from IPython.display import Markdown, display
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.func import jvp

from .datasets import OUT_OF_DISTRIBUTION, SUBSTEPS, half_steps, pendulum_trajectories, with_stiffness
from .figures import fit_view, library_view, partition_view, pendulum_view, png, shard_view
from .networks import predict
from .partitions import checkerboard, hammersley, slices
from .solvers import pendulum
from .spaces import grf
from .streams import stream


def show(*functions: Callable) -> None:
    """Show the source of library functions, so that a notebook never shows anything but the code that runs."""
    display(Markdown("\n".join(f"```python\n{inspect.getsource(f)}```" for f in functions)))


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


def pendulum_explorer(net: nn.Module, models: dict[str, Tensor]) -> ipywidgets.VBox:
    """The pendulum widget: choose an input and see federated, single-client and true angle."""
    controls = {name: make() for name, make in INPUT_CONTROLS.items()}
    return explore(lambda **values: draw_pendulum(net, models, **values), **controls)


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


def library_explorer(net: nn.Module, row: Tensor) -> ipywidgets.VBox:
    """The library widget: choose a stiffness and an input."""
    controls = {name: make() for name, make in INPUT_CONTROLS.items()}
    k = ipywidgets.FloatSlider(1, min=0.5, max=1.5, step=0.05, description="stiffness k")
    return explore(lambda **values: draw_library(net, row, **values), k=k, **controls)


def shard_explorer(targets: dict, errors: dict) -> ipywidgets.VBox:
    """The heterogeneity widget: slide through the levels of ``figures.shard_view``."""
    return explore(
        lambda level: shard_view(targets, errors, level),
        level=ipywidgets.SelectionSlider(options=list(targets), description="shards/client"),
    )


def draw_fits(x, z, truth, fits: Mapping[tuple[int, int], tuple], clients: int, pieces: int) -> Figure:
    """The picture of ``figures.fit_view`` for one entry of fits: (K, p) -> (shards, federated, alone)."""
    if (clients, pieces) not in fits:
        trained = ", ".join(str(p) for K, p in fits if clients == K)
        raise ValueError(
            f"{clients} clients with {pieces} pieces each were not trained here; trained: {trained or '-'}"
        )
    return fit_view(x, z, truth, *fits[clients, pieces])


def fit_explorer(x, z, truth, fits: Mapping[tuple[int, int], tuple]) -> ipywidgets.VBox:
    """The function-approximation widget: number of clients K and pieces per client p."""
    K, p = (sorted({key[i] for key in fits}) for i in (0, 1))
    return explore(
        lambda **chosen: draw_fits(x, z, truth, fits, **chosen),
        clients=ipywidgets.SelectionSlider(options=K, description="clients K"),
        pieces=ipywidgets.SelectionSlider(options=p, description="pieces per client"),
    )


def draw_partition(method: str, clients: int, blocks: int, n_points: int = 400) -> Figure:
    """Hammersley points of the unit square, shared by the "x" (slabs) or the "xy" (checkerboard) method."""
    points = hammersley(n_points)
    if method == "x":
        owned = slices(points[:, 0], 0, 1, clients, blocks)
    else:
        owned = checkerboard(*points.T, (0, 1), clients, blocks)
    return partition_view([points[own] for own in owned])


def partition_explorer() -> ipywidgets.VBox:
    """The partition widget."""
    return explore(
        draw_partition,
        method=ipywidgets.Dropdown(options=["xy", "x"]),
        clients=ipywidgets.IntSlider(2, min=2, max=5, description="clients K"),
        blocks=ipywidgets.IntSlider(4, min=1, max=12, description="blocks"),
    )
