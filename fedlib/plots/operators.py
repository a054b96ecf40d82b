"""Pictures of a study of operator learning: errors and weights against what the clients know."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from ..notebook.pictures import seeds_and_median
from ..notebook.style import CLIENTS, COLORS, log_axis, panels
from ..numerics.spaces import TERMS
from ..papers.fedsciml.operators.problem import TITLES

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


PANELS = {"antiderivative": "Fig. 12A", "burgers_2": "Fig. 14A", "burgers_3": "Fig. 14B"}
"""Of the paper, errors against n; it has none for diffusion-reaction."""


TERMS_LABEL = "nonzero Chebyshev terms n"


MOST = 6  # ticks of an axis of errors


def percent_axis(axis) -> None:
    """A logarithmic axis of errors in %: 0.1, 1, 10, 100, not powers of ten; never more ticks than one can read."""
    log_axis(axis)
    low, high = axis.get_view_interval()
    if high / low >= 50:
        axis.set_major_formatter("{x:g}")
    elif len(ticks := [t for t in axis.get_majorticklocs() if low <= t <= high]) > MOST:
        axis.set_major_locator(FixedLocator(ticks[:: -(-len(ticks) // MOST)]))


def error_view(studies: Mapping[str, Mapping], printed: Mapping[str, Mapping[int, float]]) -> Figure:
    """Errors (%) against the level n, one panel per operator (FedSciML, Figs. 12A, 14A, 14B): medians and every seed.

    Args:
        studies: name of the operator -> {"levels": n's, "isolated" [S, levels, K], "federated" [S, levels],
            "centralised": {n: [S]}}. printed: name -> {n: error of the federation}.
    """
    fig, axes = grid(len(studies), (2.7, 2.6))
    for ax, (name, study) in zip(axes, studies.items(), strict=True):
        n, alone = study["levels"], study["isolated"]
        for k in range(alone.shape[2]):
            seeds_and_median(ax, n, alone[..., k], f"client {k + 1} alone", color=CLIENTS[k], ls=":", lw=2)
        seeds_and_median(ax, n, study["federated"], "federated", color=COLORS["federated"], lw=2)
        if centre := {n: np.median(e) for n, e in study["centralised"].items()}:
            green = COLORS["centralised"]
            if TERMS in centre:
                ax.axhline(centre[TERMS], ls="--", lw=1, color=green, label="centralised, full space")
            ax.plot(*zip(*centre.items(), strict=True), "x", ms=6, color=green, label="centralised, union")
        if paper := printed.get(name):
            ax.plot(*zip(*paper.items(), strict=True), "s", mfc="none", color=COLORS["paper"], label="paper, federated")
        level_axis(ax, f"{TITLES[name]} ({PANELS[name]})" if name in PANELS else TITLES[name])
    return finish(fig, axes)


def level_axis(ax, title: str) -> None:
    """The paper's axes: errors on a logarithmic scale over the number of terms."""
    ax.set(xlabel=TERMS_LABEL, title=title, xlim=(0.5, TERMS + 0.5), xticks=range(2, TERMS + 1, 2))
    percent_axis(ax.yaxis)


def clients_view(two: Mapping, three: Mapping) -> Figure:
    """Federations of two and of three clients (FedSciML, Fig. 14C); arguments as the studies of ``error_view``."""
    fig, ((ax,),) = panels(1, 1, size=(4.4, 2.8))
    for study, color, marker, K in ((two, COLORS["federated"], "o", 2), (three, COLORS["other"], "^", 3)):
        seeds_and_median(ax, study["levels"], study["federated"], f"{K} clients", color=color, marker=marker, lw=2)
        if TERMS in study["centralised"]:
            centre, label = np.median(study["centralised"][TERMS]), f"centralised, functions of {K} clients"
            ax.axhline(centre, ls="--" if K == 2 else ":", lw=1.2, color=COLORS["centralised"], label=label)
    level_axis(ax, "Burgers, federated (Fig. 14C)")
    return finish(fig, [ax], columns=2)


def finish(fig: Figure, axes: Sequence, label: str = "relative $L^2$ error e (%)", columns: int = 4) -> Figure:
    """The y label of the first column, and one legend above for all panels."""
    for ax in axes:
        if ax.get_subplotspec().is_first_col():
            ax.set_ylabel(label)
    known = {name: handle for ax in axes for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    known = {name: handle for name, handle in known.items() if not name.startswith("_")}
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
        percent_axis(ax.yaxis)
    for ax in axes:
        if ax.get_subplotspec().is_first_col():
            ax.set_ylabel("relative $L^2$ error e (%)")
    return fig


def divergence_view(levels: Mapping, divergences: Mapping, apart_at: Sequence[int], apart: Mapping) -> Figure:
    """Weight divergence against the level n (FedSciML, Fig. 12B): medians and every seed.

    Args:
        levels, divergences: name of the operator -> n's, {"branch, matrix 1": [S, levels], ...}. apart_at, apart: n's,
            {matrix: [S, levels]} of the antiderivative's clients that start apart, hollow, drawn beside their level.
    """
    fig, axes = grid(len(divergences), (3.4, 2.6))
    for ax, (name, together) in zip(axes, divergences.items(), strict=True):
        for i, (matrix, values) in enumerate(together.items()):
            marker = "os^Dv"[(int(matrix.split()[-1]) - 1) % 5]
            color, ls = (BRANCH, "-") if matrix.startswith("branch") else (TRUNK, "--")
            seeds_and_median(ax, levels[name], values, matrix, color=color, marker=marker, ls=ls)
            if name == "antiderivative" and matrix in apart:
                beside = np.add(apart_at, 0.35 * (i + 1))
                ax.plot(beside, np.median(apart[matrix], 0), marker, mfc="none", ms=6, color=color)
        level_axis(ax, f"{name} (Fig. 12B)" if name == "antiderivative" else TITLES[name])
        ax.set_xlim(0.5, TERMS + 2 if name == "antiderivative" and len(apart_at) else TERMS + 0.5)
    if len(apart_at) and "antiderivative" in divergences:
        axes[0].plot([], [], "s", mfc="none", color="0.4", label="started apart (hollow)")
    return finish(fig, axes, "relative weight divergence", columns=3)


def local_updates_view(studies: Mapping[str, Mapping]) -> Figure:
    """Federated errors for some numbers E of local steps against n, the paper's axis (Fig. 15), and against E.

    studies: name of the operator -> {"levels": n's, "steps": T, "percent": {E: [S, levels]}}; medians and every seed.
    """
    fig, axes = panels(len(studies), 2, size=(3.7, 2.6))
    for (left, right), (name, of), letter in zip(axes, studies.items(), "AB", strict=False):
        levels, errors = of["levels"], of["percent"]
        many = colormaps["viridis"](np.linspace(0, 0.85, len(errors)))
        for i, (color, (E, e)) in enumerate(zip(many, errors.items(), strict=True)):
            seeds_and_median(left, levels, e, f"E = {E}", color=color, marker="os^Dv"[i % 5], lw=1.2)
        over_E = np.stack(list(errors.values()), 1)  # [S, E's, levels]
        for i, (n, color) in enumerate(zip(levels, shades(len(levels)), strict=True)):
            seeds_and_median(right, list(errors), over_E[..., i], f"n = {n}", color=color, marker="os^Dv"[i % 5])
        left.set(xlabel=TERMS_LABEL, ylabel="relative $L^2$ error e (%)", xticks=levels)
        left.set_title(f"{TITLES[name]} (Fig. 15{letter}), T = {of['steps']}")
        right.set(xlabel="local steps E between two averages", xscale="log", title=f"{TITLES[name]}, against E")
        right.set_xticks(list(errors), [str(E) for E in errors], minor=False)
        right.set_xticks([], minor=True)
        for ax in (left, right):
            percent_axis(ax.yaxis)
            ax.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    return fig
