"""Pictures of learnt operators: an input function, what the solver and the networks make of it, and their errors."""

from collections.abc import Mapping, Sequence

import ipywidgets
import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.figure import Figure
from torch import Tensor, nn

from ..federated.stack import predict
from ..numerics.solutions import antiderivative
from ..numerics.spaces import TERMS, chebyshev_series, support
from .style import CLIENTS, COLORS, band, log_axis, panels, percent
from .widgets import explore

BRANCH, TRUNK = CLIENTS[2], CLIENTS[4]  # no clients in the pictures of weights


SQUARE = {"origin": "lower", "extent": (0, 1, 0, 1), "aspect": "auto"}


def grid(count: int, size: tuple[float, float], columns: int | None = None, **kwargs):
    """(figure, that many axes) in rows of up to three, four as a square; left over places stay empty."""
    columns = columns or (2 if count == 4 else min(count, 3))
    fig, axes = panels(-(-count // columns), columns, size=size, **kwargs)
    for ax in axes.flat[count:]:
        ax.set_axis_off()
    return fig, list(axes.flat[:count])


def shades(count: int) -> list[tuple]:
    """Blues of the federation, the last one darkest."""
    return [colormaps["Blues"](0.4 + 0.6 * i / max(1, count - 1)) for i in range(count)]


def style_of(label: str) -> dict:
    """Isolated clients dotted in their own colour, everybody else by role: labels end with the client's number."""
    if label.startswith("isolated"):
        return {"color": CLIENTS[int(label.split()[-1]) - 1], "ls": ":", "lw": 2.5}
    return {"color": COLORS[label], "ls": "--"}


def operators_view(x: np.ndarray, v: np.ndarray, curve: np.ndarray, fields: Mapping[str, np.ndarray]) -> Figure:
    """What operators do: an input v [a] at x [a], its antiderivative [a], and solutions u(x, t): title -> [a, b]."""
    fig, (left, middle, *rest) = grid(2 + len(fields), (2, 2.1), columns=2 + len(fields))
    left.plot(x, v, color="0.3")
    left.set(xlabel="x", title="input v(x)")
    middle.plot(x, curve, color=COLORS["truth"])
    middle.set(xlabel="x", title="antiderivative u(x)")
    for ax, (title, u) in zip(rest, fields.items(), strict=True):
        fig.colorbar(ax.imshow(u.T, cmap="cividis", **SQUARE), ax=ax)
        ax.set(xlabel="x", ylabel="t", title=title)
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


def fields_view(fields: Mapping[str, np.ndarray]) -> Figure:
    """Solutions u(x, t) side by side: title -> [a, b]."""
    fig, axes = grid(len(fields), (2.7, 2.4))
    for ax, (title, u) in zip(axes, fields.items(), strict=True):
        fig.colorbar(ax.imshow(u.T, cmap="cividis", **SQUARE), ax=ax)
        ax.set(xlabel="x", ylabel="t", title=title)
    return fig


def error_view(studies: Mapping[str, Mapping]) -> Figure:
    """Errors (%) against the level n, one panel per operator (FedSciML, Figs. 12 to 14).

    Args:
        studies: title -> {"levels": n's, "isolated" [S, levels, K], "federated" [S, levels], and where they are
            known "centralised": {n: [S]}, "paper": {n: printed error of the federation}}.
    """
    fig, axes = grid(len(studies), (2.7, 2.6))
    for ax, (title, study) in zip(axes, studies.items(), strict=True):
        n, alone = study["levels"], study["isolated"]
        for k in range(alone.shape[2]):
            band(ax, n, alone[..., k], CLIENTS[k], f"client {k + 1} alone", ls=":", lw=2.5, ms=4)
        band(ax, n, study["federated"], COLORS["federated"], "federated", lw=2)
        if centre := {n: np.mean(e) for n, e in study.get("centralised", {}).items()}:
            green = COLORS["centralised"]
            if TERMS in centre:
                ax.axhline(centre[TERMS], ls="--", lw=1, color=green, label="centralised, full space")
            ax.plot(*zip(*centre.items(), strict=True), "x", ms=6, color=green, label="centralised, union")
        if paper := study.get("paper"):
            ax.plot(*zip(*paper.items(), strict=True), "s", mfc="none", color=COLORS["paper"], label="paper, federated")
        ax.set(xlabel="level n", title=title, xlim=(0.5, TERMS + 0.5), xticks=range(2, TERMS + 1, 2))
        log_axis(ax.yaxis)
    return finish(fig, axes)


def finish(fig: Figure, axes: Sequence, label: str = "relative $L^2$ error e (%)", columns: int = 4) -> Figure:
    """The y label of the first column, and one legend above for all panels."""
    for ax in axes:
        if ax.get_subplotspec().is_first_col():
            ax.set_ylabel(label)
    known = {name: handle for ax in axes for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    fig.legend(known.values(), known, loc="outside upper center", ncols=columns)
    return fig


def training_view(curves: Mapping[str, Mapping[int, tuple]]) -> Figure:
    """The federated error (%) during training: title -> {level n: (steps, error)}, the highest level darkest."""
    fig, axes = grid(len(curves), (2.7, 2.5))
    for ax, (title, of_level) in zip(axes, curves.items(), strict=True):
        for n, color, (steps, e) in zip(of_level, shades(len(of_level)), of_level.values(), strict=True):
            ax.plot(np.divide(steps, 1000), e, "o-", ms=3, color=color)
            ax.annotate(f"n = {n}", (steps[-1] / 1000, e[-1]), (5, 0), textcoords="offset points", va="center",
                        fontsize=7)  # fmt: skip
        ax.set(xlabel="local steps (thousands)", title=title)
        log_axis(ax.yaxis)
    for ax in axes:
        if ax.get_subplotspec().is_first_col():
            ax.set_ylabel("relative $L^2$ error e (%)")
    return fig


def divergence_view(studies: Mapping[str, tuple]) -> Figure:
    """Weight divergence against the level n: title -> (n's, {matrix: [S, levels]}, (n's, {matrix: [S, levels]})).

    The second pair is of clients that start apart, hollow. Matrices are called "branch, matrix 1", ...
    """
    fig, axes = grid(len(studies), (3.4, 2.6))
    for ax, (title, (n, together, (at, apart))) in zip(axes, studies.items(), strict=True):
        for matrix, values in together.items():
            marker = "os^Dv"[(int(matrix.split()[-1]) - 1) % 5]
            color, ls = (BRANCH, "-") if matrix.startswith("branch") else (TRUNK, "--")
            band(ax, n, values, color, matrix, marker=marker, ls=ls, ms=5)
            if matrix in apart:
                ax.plot(at, apart[matrix].mean(0), marker, mfc="none", ms=8, color=color, clip_on=False)
        ax.set(xlabel="level n", title=title)
        log_axis(ax.yaxis)
    return finish(fig, axes, "relative weight divergence", columns=2)


def local_updates_view(levels: Sequence[int], errors: Mapping[int, np.ndarray]) -> Figure:
    """Errors of the federation for some numbers of local steps: E -> [S, levels], against n and against E."""
    fig, ((left, right),) = panels(1, 2, size=(3.2, 2.6))
    for color, (E, e) in zip(shades(len(errors)), errors.items(), strict=True):
        band(left, levels, e, color, f"E = {E}", ms=4)
    over_E = np.stack(list(errors.values()), 1)  # [S, E's, levels]
    for i, (n, color) in enumerate(zip(levels, shades(len(levels)), strict=True)):
        band(right, list(errors), over_E[..., i], color, f"n = {n}", ms=4)
    left.set(xlabel="level n", ylabel="relative $L^2$ error e (%)", xticks=levels)
    right.set(xlabel="local steps E between two averages", xscale="log")
    right.set_xticks(list(errors), [str(E) for E in errors], minor=False)
    right.set_xticks([], minor=True)
    for ax in (left, right):
        log_axis(ax.yaxis)
        ax.legend(fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    return fig


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
    middle.set(xlabel="Chebyshev term", ylim=(-1.75, 1.1), title=f"who knows which terms, n = {n}")
    middle.set(xlim=(-0.7, TERMS - 0.3), xticks=range(0, TERMS, 2))
    middle.set_yticks([-1.55, -1.25, -1, 0, 1], ["client 2", "client 1", "-1", "coefficient 0", "1"])
    right.plot(x, truth, color=COLORS["truth"], lw=2.5, alpha=0.5, label="solver")
    low, high = limit(1.2 * truth)
    right.set(xlabel="x", ylabel="u(x)", ylim=(low, 1.6 * high), title="output: solver (grey) and models")
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
) -> ipywidgets.VBox:
    """The antiderivative's widget: a level, and an input by its coefficients.

    Args:
        models: level n -> {label: row [P] of a stack}. c [TERMS], n: where the sliders start.
    """
    sliders = {
        f"c{j}": ipywidgets.FloatSlider(c[j], min=-1, max=1, step=0.1, description=f"T{j}") for j in range(TERMS)
    }
    return explore(
        lambda level, **c: draw_antiderivative(net, models[level], level, np.array(list(c.values()))),
        "left an input function, in the middle its Chebyshev terms and which of them each client knows, right its "
        "antiderivative, exact and as the federation and each client alone predict it",
        level=ipywidgets.SelectionSlider(options=list(models), value=n, description="level n"),
        **sliders,
    )


def field_view(v: np.ndarray, truth: np.ndarray, predictions: Mapping[str, np.ndarray], title: str = "") -> Figure:
    """One input v [a] at equispaced x, the solution u(x, t) [a, b] and absolute errors of the predictions [a, b]."""
    count = 2 + len(predictions)
    fig, (first, second, *rest) = grid(count, (2.1, 2.1), columns=-(-count // 2))
    first.plot(np.linspace(0, 1, len(v)), v, color="0.3")
    first.set(xlabel="x", title="input v(x)")
    fig.colorbar(second.imshow(truth.T, cmap="cividis", **SQUARE), ax=second)
    second.set(xlabel="x", ylabel="t", title="solution u(x, t)")
    top = max(np.abs(u - truth).max() for u in predictions.values())
    for ax, (label, u) in zip(rest, predictions.items(), strict=True):
        shown = ax.imshow(np.abs(u - truth).T, cmap="magma", vmin=0, vmax=top, **SQUARE)
        ax.set(xlabel="x", title=f"{label}\ne = {percent(u, truth):.3g} %")
    fig.colorbar(shown, ax=rest, label="|error|")
    fig.suptitle(title, fontsize=9)
    return fig
