"""Pictures of all levels of forward problems: points and distances, errors, divergence; a panel per problem."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray
from matplotlib import colormaps
from matplotlib.figure import Figure

from ..notebook.style import COLORS, band, log_axis, owners, panels, shards
from ..problems.forward import Problem
from ..problems.forward_study import KINDS
from .forward import dot
from .levels import SHAPES, against_w1, seeds_and_median

LAYERS = [(colormaps["magma"](shade), marker) for shade, marker in ((0.1, "o"), (0.4, "s"), (0.6, "^"), (0.75, "D"))]
"""Shades and markers of a network's weight matrices: none of them means a model or a client."""


def grid_of(names: Sequence[str], size: tuple[float, float] = (2.7, 2.4), most: int = 3) -> tuple[Figure, dict]:
    """(figure, {name: axes}) of panels in rows of at most ``most``."""
    columns = min(most, len(names))
    fig, axes = panels(-(-len(names) // columns), columns, size=size)
    for ax in axes.ravel()[len(names) :]:
        ax.remove()
    return fig, dict(zip(names, axes.ravel(), strict=False))


def data_view(problems: Mapping[str, Problem], w1: Mapping[str, Mapping[int, float]]) -> Figure:
    """Who owns which points at the coarsest level, and W1 of the clients at all levels.

    w1: name -> level -> distance; the dashed line is its closed form for two clients on a line.
    """
    fig, axes = panels(2, len(problems), size=(8.2 / max(3, len(problems)), 2.0))
    for (upper, lower), (name, problem) in zip(axes.T, problems.items(), strict=True):
        coarsest = min(w1[name])
        x, own = problem.points(coarsest)
        if len(problem.coordinates) == 1:
            shards([x[s, 0] for s in own], upper, "x", alpha=1)
            upper.set_yticks(range(problem.clients), [str(k + 1) for k in range(problem.clients)])
        else:
            owners([x[s] for s in own], upper, ms=max(1, dot(own) / 2))
            upper.set(xlabel=problem.coordinates[0], ylabel=problem.coordinates[1])
        upper.set_title(f"{problem.name.replace(', ', ',' + chr(10))}\nn = {coarsest}")
        n, (low, high) = np.array(list(w1[name]), float), problem.domain[0]
        lower.plot(n, list(w1[name].values()), "o-", ms=3, color="0.3")
        if problem.clients == 2 and problem.cut == 1:
            lower.plot(n, (high - low) / n, "--", color="0.6", lw=1)
        lower.set(xlabel="blocks per axis" if problem.cut == 2 else "subdomains n")
        for axis in (lower.xaxis, lower.yaxis):
            log_axis(axis)
    axes[1, 0].set_ylabel("$W_1$ of the clients")
    return fig


def errors_view(errors: Mapping[str, xarray.DataArray]) -> Figure:
    """Error (%) after the last round against the distance of the clients, errors as of ``forward_study.errors``.

    Lines are medians and every seed is a dot, for results may be bimodal.
    """
    fig, axes = grid_of(errors, (2.7, 2.7))
    for name, ax in axes.items():
        last = errors[name].isel(round=-1).sortby("w1").transpose("kind", "seed", "n")
        for kind in KINDS:
            seeds_and_median(ax, last.w1, last.sel(kind=kind).values, kind, color=COLORS[kind], marker=SHAPES[kind])
        ax.set(ylabel="error e (%)", title=last.name)
        against_w1(ax, last.w1.values, last.n.values, last.attrs["level"])
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def training_view(errors: Mapping[str, xarray.DataArray]) -> Figure:
    """Error (%) against rounds, of the coarsest partition dashed, of the finest one solid."""
    fig, axes = grid_of(errors)
    for name, ax in axes.items():
        e = errors[name].transpose("kind", "n", "seed", "round")
        for kind in KINDS:
            for at, which, dash in ((0, "coarsest", "--"), (-1, "finest", "-")):
                style = dict(ls=dash, marker="." if e.sizes["round"] < 10 else None)
                band(ax, e["round"], e.sel(kind=kind)[at].values, COLORS[kind], f"{kind}, {which}", **style)
        ax.set(xlabel="round", ylabel="error e (%)", title=e.name)
        log_axis(ax.yaxis)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def divergence_view(divergences: Mapping[str, xarray.DataArray]) -> Figure:
    """Divergence of each weight matrix against the distance of the clients, as of ``forward_study.divergence``."""
    fig, axes = grid_of(divergences, (2.7, 2.7))
    for name, ax in axes.items():
        values = divergences[name].sortby("w1").transpose("matrix", "seed", "n")
        for of, (color, marker) in zip(values, LAYERS, strict=True):
            band(ax, values.w1, of.values, color, f"matrix {of.matrix.item()}", marker=marker)
        ax.set(ylabel="relative divergence", title=values.name)
        against_w1(ax, values.w1.values, values.n.values, values.attrs["level"])
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return fig


def gap_view(found: Mapping[str, Mapping], centralised: np.ndarray) -> Figure:
    """Error (%) against MB that all clients send up in all, a colour for each rule, a shape for each E.

    found: as of ``problems.forward_gap.gap``; centralised [S] (%), a line at the median and a band over the seeds.
    """
    fig, ((ax,),) = panels(1, 1, size=(6.6, 3.4))
    rules, Es = ([*dict.fromkeys(of[key] for of in found.values())] for key in ("rule", "E"))
    colors = colormaps["viridis"](np.linspace(0, 0.85, len(rules)))
    for of in found.values():
        style = {"color": colors[rules.index(of["rule"])], "marker": "osD^v"[Es.index(of["E"]) % 5], "ls": ""}
        e, x = np.asarray(of["error_percent"]), of["megabytes"] * 1.12 ** (rules.index(of["rule"]) - len(rules) / 2)
        ax.plot(np.full(len(e), x), e, ms=4, mew=0, alpha=0.4, label="_seeds", **style)
        ax.plot(x, np.median(e), ms=9, mec="k", label=f"{of['rule']}, E = {of['E']}", **style)
    ax.axhspan(np.min(centralised), np.max(centralised), color=COLORS["centralised"], alpha=0.15, lw=0)
    ax.axhline(np.median(centralised), color=COLORS["centralised"], label="centralised")
    ax.set(xlabel="MB that all clients send up in all (rules a little apart)", ylabel="error e (%)")
    for axis in (ax.xaxis, ax.yaxis):
        log_axis(axis)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside right upper", fontsize=7)
    return fig
