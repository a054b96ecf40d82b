"""Pictures of a study of operator learning: errors and weights against what the clients know."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from ..numerics.spaces import TERMS
from ..problems.operators import TITLES
from .style import CLIENTS, COLORS, band, log_axis, panels

BRANCH, TRUNK = CLIENTS[2], CLIENTS[4]  # no clients in the pictures of weights


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


def error_view(studies: Mapping[str, Mapping], printed: Mapping[str, Mapping[int, float]]) -> Figure:
    """Errors (%) against the level n, one panel per operator (FedSciML, Figs. 12 to 14).

    Args:
        studies: name of the operator -> {"levels": n's, "isolated" [S, levels, K], "federated" [S, levels],
            "centralised": {n: [S]}}. printed: name -> {n: error of the federation}.
    """
    fig, axes = grid(len(studies), (2.7, 2.6))
    for ax, (name, study) in zip(axes, studies.items(), strict=True):
        n, alone = study["levels"], study["isolated"]
        for k in range(alone.shape[2]):
            band(ax, n, alone[..., k], CLIENTS[k], f"client {k + 1} alone", ls=":", lw=2.5, ms=4)
        band(ax, n, study["federated"], COLORS["federated"], "federated", lw=2)
        if centre := {n: np.mean(e) for n, e in study["centralised"].items()}:
            green = COLORS["centralised"]
            if TERMS in centre:
                ax.axhline(centre[TERMS], ls="--", lw=1, color=green, label="centralised, full space")
            ax.plot(*zip(*centre.items(), strict=True), "x", ms=6, color=green, label="centralised, union")
        if paper := printed.get(name):
            ax.plot(*zip(*paper.items(), strict=True), "s", mfc="none", color=COLORS["paper"], label="paper, federated")
        ax.set(xlabel="level n", title=TITLES[name], xlim=(0.5, TERMS + 0.5), xticks=range(2, TERMS + 1, 2))
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


def training_view(curves: Mapping[str, Mapping[int, np.ndarray]], steps: Mapping[str, Sequence[int]]) -> Figure:
    """The federated error (%) during training: name -> {n: [V]} after steps [V]; the highest level is darkest."""
    fig, axes = grid(len(curves), (2.7, 2.5))
    for ax, (name, of_level) in zip(axes, curves.items(), strict=True):
        at = np.divide(steps[name], 1000)
        for n, color, e in zip(of_level, shades(len(of_level)), of_level.values(), strict=True):
            ax.plot(at, e, "o-", ms=3, color=color)
            ax.annotate(f"n = {n}", (at[-1], e[-1]), (5, 0), textcoords="offset points", va="center",
                        fontsize=7)  # fmt: skip
        ax.set(xlabel="local steps (thousands)", title=TITLES[name])
        log_axis(ax.yaxis)
    for ax in axes:
        if ax.get_subplotspec().is_first_col():
            ax.set_ylabel("relative $L^2$ error e (%)")
    return fig


def divergence_view(levels: Mapping, divergences: Mapping, apart_at: Sequence[int], apart: Mapping) -> Figure:
    """Weight divergence against the level n.

    Args:
        levels, divergences: name of the operator -> n's, {"branch, matrix 1": [S, levels], ...}. apart_at, apart: n's,
            {matrix: [S, levels]} of the antiderivative's clients that start apart, hollow.
    """
    fig, axes = grid(len(divergences), (3.4, 2.6))
    for ax, (name, together) in zip(axes, divergences.items(), strict=True):
        for matrix, values in together.items():
            marker = "os^Dv"[(int(matrix.split()[-1]) - 1) % 5]
            color, ls = (BRANCH, "-") if matrix.startswith("branch") else (TRUNK, "--")
            band(ax, levels[name], values, color, matrix, marker=marker, ls=ls, ms=5)
            if name == "antiderivative" and matrix in apart:
                ax.plot(apart_at, apart[matrix].mean(0), marker, mfc="none", ms=8, color=color, clip_on=False)
        ax.set(xlabel="level n", title=TITLES[name])
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
