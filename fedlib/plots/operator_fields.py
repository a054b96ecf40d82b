"""Pictures of functions and of what the solver and the networks make of them, and the antiderivative's explorer."""

from collections.abc import Mapping, Sequence

import ipywidgets
import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from ..federated.stack import predict
from ..live.widgets import explore, slider, span
from ..notebook.style import CLIENTS, COLORS, panels
from ..numerics.metrics import percent
from ..numerics.solutions import antiderivative, burgers, diffusion_reaction
from ..numerics.spaces import TERMS, chebyshev_series, fourier_series, support
from .operators import grid

SQUARE = {"origin": "lower", "extent": (0, 1, 0, 1), "aspect": "auto"}


def style_of(label: str) -> dict:
    """Isolated clients dotted in their own colour, everybody else by role: labels end with the client's number."""
    if label.startswith("isolated"):
        return {"color": CLIENTS[int(label.split()[-1]) - 1], "ls": ":", "lw": 2.5}
    return {"color": COLORS[label], "ls": "--"}


def operators_view(c: np.ndarray) -> Figure:
    """What operators do: an input of coefficients c [1, J], its antiderivative, and two solutions u(x, t)."""
    x = np.linspace(0, 1, 101)
    v = chebyshev_series(c, x)
    fig, (left, middle, *rest) = grid(4, (2, 2.1), columns=4)
    left.plot(x, v[0], color="0.3")
    left.set(xlabel="x", title="input v(x)")
    middle.plot(x, antiderivative(c, x)[0], color=COLORS["truth"])
    middle.set(xlabel="x", title="antiderivative u(x)")
    fields = {"diffusion-reaction u(x, t)": reacted(c)[0], "Burgers u(x, t)": burgers(v[:, :-1])[0]}
    for ax, (title, u) in zip(rest, fields.items(), strict=True):
        field(ax, u, title)
    return fig


def knowledge_view(
    x: np.ndarray, inputs: Mapping[str, np.ndarray], n: int, somebody: Sequence[int], both: Sequence[int]
) -> Figure:
    """Inputs of two clients, and how many terms they know.

    Args:
        x [a]; inputs: kind of a client -> [count, a], at level n; somebody, both: terms known at n = 1, 2, ....
    """
    fig, axes = grid(len(inputs) + 1, (2.7, 2.3))
    for k, (kind, v) in enumerate(inputs.items()):
        axes[k].plot(x, v.T, color=CLIENTS[k], lw=2)
        axes[k].set(xlabel="x", ylabel="v(x)", ylim=(-4, 4), title=f"client {k + 1}: {kind}, n = {n}")
    for count, color, label in ((somebody, "federated", "known to somebody"), (both, "paper", "known to both")):
        axes[-1].plot(range(1, len(count) + 1), count, "o-", ms=4, color=COLORS[color], label=label)
    axes[-1].set(xlabel="level n", ylabel="terms of 10", title="two clients", ylim=(-0.5, 14.5), yticks=range(0, 11, 2))
    axes[-1].legend(loc="upper left")
    return fig


def solutions_view(c: np.ndarray, waves: np.ndarray, nu: float) -> Figure:
    """Solutions u(x, t) for an input c [1, J], and those of Burgers, viscosity nu, for a Fourier one [1, 2, J], too."""
    x = np.linspace(0, 1, 101)
    fields = {
        "diffusion-reaction": reacted(c)[0],
        "Burgers, wrapped input": burgers(chebyshev_series(c, x)[:, :-1], nu)[0],
        "Burgers, Fourier input": burgers(fourier_series(waves, x, (0, np.pi / 2))[:, :-1], nu)[0],
    }
    fig, axes = grid(3, (2.7, 2.4))
    for ax, (title, u) in zip(axes, fields.items(), strict=True):
        field(ax, u, title)
    return fig


def reacted(c: np.ndarray) -> np.ndarray:
    """Diffusion-reaction for inputs c [n, J] on the whole grid [n, 101, 101]."""
    return diffusion_reaction(lambda x: chebyshev_series(c, x), np.linspace(0, 1, 101))


def field(ax, u: np.ndarray, title: str) -> None:
    """A solution u(x, t) [a, b] as a picture."""
    ax.figure.colorbar(ax.imshow(u.T, cmap="cividis", **SQUARE), ax=ax)
    ax.set(xlabel="x", ylabel="t", title=title)


def limit(values: np.ndarray, steps: Sequence[float] = (0.2, 0.35, 0.6, 1, 2, 4, 7, 10)) -> tuple[float, float]:
    """The smallest of some symmetric limits: an axis that a slider changes rarely is easier to read, and cheaper."""
    top = np.abs(values).max()
    bound = next((s for s in steps if top <= s), top)
    return -bound, bound


def operator_view(
    x: np.ndarray, v: np.ndarray, truth: np.ndarray, predictions: Mapping[str, np.ndarray], c: np.ndarray, n: int
) -> Figure:
    """An input, which of its terms the clients know, and its image under the operator.

    Args:
        x [a]; v [a]: input; truth [a]: output of the solver; predictions: "federated", "isolated k" -> [a].
        c [TERMS]: Chebyshev coefficients of v. n: level; forward and inverse supports of n terms are marked.
    """
    fig, ((left, middle, right),) = panels(1, 3, size=(2.9, 2.5))
    left.plot(x, v, color="0.3")
    left.set(xlabel="x", ylabel="v(x)", ylim=limit(v, (2, 5, 10)), title="input")
    middle.vlines(range(TERMS), 0, c, color="0.6", lw=10)
    for k, kind in enumerate(("forward", "inverse")):
        own = np.arange(TERMS)[support(kind, n)]
        middle.plot(own, np.full(len(own), -1.25 - 0.3 * k), "s", ms=6, color=CLIENTS[k])
    middle.set(xlabel="Chebyshev term", ylim=(-1.75, 1.1), title=f"who knows what, n = {n}")
    middle.set(xlim=(-0.7, TERMS - 0.3), xticks=range(0, TERMS, 2))
    middle.set_yticks([-1.55, -1.25, -1, 0, 1], ["client 2", "client 1", "-1", "coefficient 0", "1"])
    right.plot(x, truth, color=COLORS["truth"], lw=2.5, alpha=0.5, label="solver")
    low, high = limit(1.2 * truth)
    right.set(xlabel="x", ylabel="u(x)", ylim=(low, 1.6 * high), title="output (grey: exact)")
    for i, (label, u) in enumerate(predictions.items()):  # a legend would take most of a redraw's time
        right.plot(x, u, label=label, **style_of(label))
        name = label.replace("isolated", "client")
        right.text(0.03, 0.98 - 0.08 * i, f"{name}: e = {percent(u, truth):.3g} %", color=style_of(label)["color"],
                   transform=right.transAxes, va="top")  # fmt: skip
    return fig


def draw_antiderivative(net: nn.Module, models: Mapping[str, Tensor], n: int, c: np.ndarray) -> Figure:
    """The widget's picture for coefficients c [TERMS]: solver, federated model and isolated clients of level n.

    models: label -> row [P] of a stack.
    """
    if not np.any(c):
        raise ValueError("all coefficients are 0: the antiderivative is 0, and no relative error exists; move a slider")
    x = np.linspace(0, 1, net.branch[0].in_features)
    v, y = chebyshev_series(c[None], x), torch.as_tensor(x[:, None]).float()
    guesses = {label: predict(net, row, torch.as_tensor(v).float(), y)[0].numpy() for label, row in models.items()}
    return operator_view(x, v[0], antiderivative(c[None], x)[0], guesses, c, n)


def antiderivative_explorer(
    net: nn.Module, models: Mapping[int, Mapping[str, Tensor]], c: Sequence[float], n: int
) -> ipywidgets.GridBox:
    """The antiderivative's widget: a level, and an input by its coefficients.

    Args:
        models: level n -> {label: row [P] of a stack}. c [TERMS], n: where the sliders start.
    """
    sliders = {
        f"c{j}": slider(span(-1, 1, 0.1), c[j], f"T{j}", f"Coefficient of Chebyshev term {j}.") for j in range(TERMS)
    }
    return explore(
        lambda level, **c: draw_antiderivative(net, models[level], level, np.array(list(c.values()))),
        "left an input function, in the middle its Chebyshev terms and which of them each client knows, right its "
        "antiderivative, exact and as the federation and each client alone predict it",
        level=slider(list(models), n, "level n", "Client 1 knows the first n terms, client 2 the last n."),
        **sliders,
    )
