"""One test function and what the federation and its clients alone make of it; and where it lies among all of them."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from ..notebook.style import CLIENTS, COLORS, panels
from ..numerics.metrics import percent
from ..numerics.spaces import chebyshev_series
from ..papers.fedsciml.operators.problem import Operator
from ..problems import operator_examples as examples
from .operator_fields import SQUARE, field
from .operators import percent_axis


def named(label: str) -> str:
    """ "isolated 2" -> "client 2 alone"."""
    return f"client {label.split()[-1]} alone" if label.startswith("isolated") else label


def color(label: str) -> str:
    """Clients in their own colour, everybody else by role."""
    return CLIENTS[int(label.split()[-1]) - 1] if label.startswith("isolated") else COLORS[label]


def among_all(ax, e: Mapping[str, np.ndarray], chosen: int = 0) -> None:
    """A dot per test function: error (%) of each client alone against the federation's; the example is a star."""
    alone = [label for label in e if label.startswith("isolated")]
    for label in alone:
        ax.plot(e[label], e["federated"], "o", ms=2.5, mew=0, alpha=0.25, color=color(label), rasterized=True)
        ax.plot(e[label][chosen], e["federated"][chosen], "*", ms=11, mec="black", mew=0.7, color=color(label))
    both = np.concatenate([e["federated"], *(e[label] for label in alone)])
    limits = both.min() / 1.3, both.max() * 1.3
    ax.plot(limits, limits, color="0.6", lw=1, zorder=0)
    ax.set(xscale="log", yscale="log", xlim=limits, ylim=limits, xlabel="e of a client alone (%)")
    ax.set(ylabel="e of the federation (%)", title=f"{len(e['federated'])} functions; star: this one")
    for axis in (ax.xaxis, ax.yaxis):
        percent_axis(axis)
    paper = {"facecolor": "white", "alpha": 0.7, "lw": 0, "pad": 1}
    ax.text(0.97, 0.03, "federation better", transform=ax.transAxes, ha="right", fontsize=7, color="0.3", bbox=paper)
    ax.text(0.03, 0.93, "client better", transform=ax.transAxes, fontsize=7, color="0.3", bbox=paper)


def view(problem: Operator, c: np.ndarray, models: Mapping[str, Tensor], e: Mapping, title: str) -> Figure:
    """The example of coefficients c [1, TERMS], and the errors at all functions.

    Args:
        models: "federated", "isolated 1", ... -> row of a stack. e: their errors (%), label -> [N], the example first.
    """
    truth, said = examples.answers(problem, c, models)
    v = chebyshev_series(c, x := np.linspace(0, 1, problem.branch[0]))[0]
    if problem.points.shape[1] == 1:
        return curve_view(x, v, truth[0], {label: u[0] for label, u in said.items()}, e, title)
    a, b = (len(np.unique(problem.points[:, i])) for i in (0, 1))
    return field_view(v, truth.reshape(a, b), {label: u.reshape(a, b) for label, u in said.items()}, e, title)


def curve_view(
    x: np.ndarray, v: np.ndarray, truth: np.ndarray, said: Mapping[str, np.ndarray], e: Mapping, title: str
) -> Figure:
    """An input v [a] at x [a], its image [a], what models say (label -> [a]), and all errors (label -> [N])."""
    fig, ((left, middle, right),) = panels(1, 3, size=(2.7, 2.7))
    left.plot(x, v, color="0.3")
    left.set(xlabel="x", title="input v(x)")
    middle.plot(x, truth, color=COLORS["truth"], lw=4, alpha=0.3, label="solution")
    for label, u in said.items():
        text = f"{named(label)}: {percent(u, truth):.3g} %"
        middle.plot(x, u, ls="--" if label == "federated" else "-", lw=1.7, color=color(label), label=text)
    middle.set(xlabel="x", title="output u(x), and errors e")
    among_all(right, e)
    fig.legend(*middle.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    fig.suptitle(title, fontsize=10)
    return fig


def field_view(v: np.ndarray, truth: np.ndarray, said: Mapping[str, np.ndarray], e: Mapping, title: str) -> Figure:
    """An input v [a], the solution u(x, t) [a, b], maps of |error| (label -> [a, b]), and all errors (label -> [N])."""
    fig, axes = panels(2, max(3, len(said)), size=(2.7, 2.5))
    for ax in axes[0, 3:]:
        ax.set_axis_off()
    axes[0, 0].plot(np.linspace(0, 1, len(v)), v, color="0.3")
    axes[0, 0].set(xlabel="x", title="input v(x)")
    field(axes[0, 1], truth, "solution u(x, t)")
    among_all(axes[0, 2], e)
    gaps = {label: np.abs(u - truth).T for label, u in said.items()}
    top = max(gap.max() for gap in gaps.values())
    for ax, (label, gap) in zip(axes[1], gaps.items(), strict=False):
        shown = ax.imshow(gap, cmap="magma", vmin=0, vmax=top, **SQUARE)
        ax.set(xlabel="x", ylabel="t", title=f"{named(label)}: e = {percent(said[label], truth):.3g} %")
    for ax in axes[1, len(said) :]:
        ax.set_axis_off()
    fig.colorbar(shown, ax=axes[1], label="|error|")
    fig.suptitle(title, fontsize=10)
    return fig
