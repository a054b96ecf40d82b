"""Pictures of learnt operators: an input function, and what the solver and the networks make of it."""

from collections.abc import Mapping

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from .figures import COLORS, panels, percent
from .networks import predict
from .operators import antiderivative
from .spaces import TERMS, chebyshev_series, support

CLIENTS = [COLORS[c] for c in ("other", "paper", "light")]
"""Of clients alone; blue and green stay the federated and the centralised model's."""


def style_of(label: str) -> dict:
    """Isolated clients dotted in their own colour, everybody else by role: labels end with the client's number."""
    if label.startswith("isolated"):
        return {"color": CLIENTS[int(label.split()[-1]) - 1], "ls": ":"}
    return {"color": COLORS[label], "ls": "--"}


def operator_view(
    x: np.ndarray, v: np.ndarray, truth: np.ndarray, predictions: Mapping[str, np.ndarray], c: np.ndarray, n: int
) -> Figure:
    """An input, which of its terms the clients know, and its image under the operator.

    Args:
        x [a]; v [a]: input; truth [a]: output of the solver; predictions: "federated", "isolated client k" -> [a].
        c [TERMS]: Chebyshev coefficients of v. n: level; forward and inverse supports of n terms are marked.
    """
    fig, ((left, middle, right),) = panels(1, 3, size=(3.2, 2.5))
    left.plot(x, v, color="0.3")
    left.set(xlabel="x", ylabel="v(x)", title="input")
    middle.bar(range(TERMS), c, color="0.6")
    for k, kind in enumerate(("forward", "inverse")):
        own = np.arange(TERMS)[support(kind, n)]
        middle.plot(own, np.full(len(own), -1.15 - 0.15 * k), "s", ms=5, color=CLIENTS[k], label=f"client {k + 1}")
    middle.set(xlabel="Chebyshev term", ylabel="coefficient", ylim=(-1.6, 1.1), title=f"who knows which terms, n = {n}")
    middle.legend(loc="upper right")
    right.plot(x, truth, color=COLORS["truth"], lw=2.5, alpha=0.5, label="solver")
    for label, u in predictions.items():
        right.plot(x, u, label=f"{label}: e = {percent(u, truth):.2g} %", **style_of(label))
    spread = max(np.ptp(truth), 0.05)
    right.set(xlabel="x", ylabel="u(x)", ylim=(truth.min() - 0.5 * spread, truth.max() + spread), title="output")
    right.legend(loc="upper left", ncols=2, fontsize=6.5, columnspacing=0.8, handlelength=1.5)
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


def field_view(v: np.ndarray, truth: np.ndarray, predictions: Mapping[str, np.ndarray], title: str = "") -> Figure:
    """One input v [a] at equispaced x, the solution u(x, t) [a, b] and absolute errors of the predictions [a, b]."""
    fig, axes = panels(1, 2 + len(predictions), size=(2.3, 2.3))
    first, second, *rest = axes[0]
    first.plot(np.linspace(0, 1, len(v)), v, color="0.3")
    first.set(xlabel="x", ylabel="v(x)", title="input v")
    wide = dict(origin="lower", extent=(0, 1, 0, 1), aspect="auto")
    shown = second.imshow(truth.T, cmap="cividis", **wide)
    second.set(xlabel="x", ylabel="t", title="solution u")
    fig.colorbar(shown, ax=second)
    gaps = {label: np.abs(u - truth) for label, u in predictions.items()}
    top = max(gap.max() for gap in gaps.values())
    for ax, (label, gap) in zip(rest, gaps.items(), strict=True):
        shown = ax.imshow(gap.T, cmap="magma", vmin=0, vmax=top, **wide)
        ax.set(xlabel="x", title=f"{label}\ne = {percent(predictions[label], truth):.3g} %")
    fig.colorbar(shown, ax=rest, label="|error|")
    fig.suptitle(title, fontsize=9)
    return fig
