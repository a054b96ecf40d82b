"""Pictures of federations whose clients see different data: who owns what, distances, errors against both."""

from collections.abc import Iterable, Mapping, Sequence

import ipywidgets
import numpy as np
import xarray
from matplotlib.figure import Figure

from ..live.widgets import explore, slider
from ..notebook.style import CLIENTS, COLORS, band, log_axis, panels, shards
from ..numerics.metrics import mean_sd

ALGORITHMS = {
    "Algorithm 1": {"color": COLORS["other"], "lw": 2.5},
    "Algorithm 2": {"color": COLORS["federated"]},
    "Algorithm 1, passes": {"color": COLORS["other"], "ls": ":", "lw": 2.5, "marker": "s"},
    "Algorithm 2, passes": {"color": COLORS["federated"], "ls": ":", "marker": "s"},
    "moments kept": {"color": COLORS["light"], "ls": "--", "lw": 2.5},
    "centralised, same steps": {"color": COLORS["centralised"], "ls": "--", "marker": ""},
    "centralised, same passes": {"color": COLORS["centralised"], "ls": ":", "marker": ""},
}
"""K steps in each round, if not said to be passes over the client's data."""


LEVELS = {"shards": "shards per client $n_{shards}/C$", "fields": r"difference $\Delta$ of length scales (s)"}


def per_client(level: int, word: str = "shard") -> str:
    """A level of label-sorted shards, as a title."""
    return f"{level} {word}{'s' * (level > 1)} per client"


def draw_shards(targets: Mapping[str, Sequence[np.ndarray]], height: float = 2.4, **style) -> Figure:
    """Who owns which targets s (rad): title -> values of each client's points, a panel each."""
    fig, axes = panels(1, len(targets), size=(2.7, height), sharey=True)
    for ax, (title, values) in zip(axes[0], targets.items(), strict=True):
        shards(values, ax, "target s (rad)", **style)
        ax.set(title=title, ylabel="")
        if len(values) <= 10:
            ax.set_yticks(range(len(values)))
    axes[0, 0].set_ylabel("client")
    return fig


def draw_fields(draws: Mapping[float, np.ndarray], columns: int = 5) -> Figure:
    """Torques over [0, 1] s: length scale -> draws [n, m] (rad/s^2), a panel each."""
    rows = -(-len(draws) // columns)
    fig, axes = panels(rows, min(len(draws), columns), size=(1.9, 1.8), sharex=True, sharey=True)
    for ax, (scale, torques) in zip(axes.flat, draws.items(), strict=False):
        for k, u in enumerate(torques):
            ax.plot(np.linspace(0, 1, len(u)), u, color=CLIENTS[k % len(CLIENTS)], lw=1.5)
        ax.set(title=f"l = {scale:.1f}", xticks=[0, 0.5, 1])
    for ax in axes.flat[len(draws) :]:
        ax.axis("off")
    for ax in axes.flat[max(0, len(draws) - axes.shape[1]) : len(draws)]:
        ax.tick_params(labelbottom=True)
        ax.set_xlabel("t (s)")
    for ax in axes[:, 0]:
        ax.set_ylabel("torque (rad/s$^2$)")
    return fig


def draw_distances(W1: Mapping[str, xarray.DataArray], exact: np.ndarray) -> Figure:
    """Distance between clients against the level: kind of LEVELS -> [what, seed, level], a panel each.

    exact: W2 between the torques of two fields [seed, level], for the kind "fields".
    """
    fig, axes = panels(1, len(W1))
    for ax, (kind, values) in zip(axes[0], W1.items(), strict=True):
        for what, color in (("s", "federated"), ("(u, y, s)", "other")):
            note = ", without the bias of finite samples" * (what != "s")
            band(ax, values.level, values.sel(what=what).values, COLORS[color], f"$W_1$ of {what}{note}", ms=4, lw=2)
        if kind == "fields":
            band(ax, values.level, exact, COLORS["truth"], "$W_2$ of u, exact", ls="--", marker="", lw=1.5)
        ax.set(xlabel=LEVELS[kind], ylabel="distance of two clients", ylim=(0, None))
        ax.axhline(0, color="0.8", lw=0.8, zorder=0)
        if values.min() < 0:
            ax.set_ylim(bottom=1.3 * float(values.min()))
    fig.legend(*axes[0, -1].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def draw_errors(views: Mapping[str, Mapping], kind: str, columns: int = 2) -> Figure:
    """Errors (%) against the level: title -> algorithm -> level -> [S], a panel each; kind of LEVELS."""
    fig, axes = panels(-(-len(views) // columns), columns, sharex=True, sharey=True)
    for ax, (title, errors) in zip(axes.flat, views.items(), strict=True):
        for algorithm in [name for name in ALGORITHMS if name in errors]:
            line(ax, errors[algorithm], errors[algorithm].values(), algorithm)
        ax.set(title=title)
    log_axis(axes[0, 0].yaxis)
    for ax in axes[-1]:
        ax.set_xlabel(LEVELS[kind])
    for ax in axes[:, 0]:
        ax.set_ylabel("mean error e (%)")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def line(ax, x: Sequence[float], values: Iterable[np.ndarray], algorithm: str, **changes) -> None:
    """One algorithm's errors, [S] for each x, with a band."""
    style = {"ms": 4, "label": algorithm} | ALGORITHMS[algorithm] | changes
    band(ax, list(x), np.stack(list(values), 1), **style)


def draw_against_distance(errors: Mapping[str, Mapping], W1: Mapping[str, xarray.DataArray]) -> Figure:
    """Errors (%) of both algorithms against W1 between the clients, a panel per kind.

    Args:
        errors: kind -> algorithm -> level -> [S]. W1: kind -> [seed, level], named by what it is the distance of.
    """
    fig, axes = panels(1, len(W1))
    for ax, (kind, distance) in zip(axes[0], W1.items(), strict=True):
        where = distance.mean("seed")
        where = where.sortby(where)
        for algorithm in ("Algorithm 1", "Algorithm 2"):
            line(ax, where, [errors[kind][algorithm][float(level)] for level in where.level], algorithm)
        ax.set(xlabel=f"mean pairwise $W_1$ of {distance.what.item()}", title=kind)
        log_axis(ax.yaxis)
    axes[0, 0].set_ylabel("mean error e (%)")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig


RATES = {
    "Algorithm 1": {"color": COLORS["other"], "lw": 2.5},
    "Algorithm 2": {"color": COLORS["federated"]},
    "Algorithm 2, falling rate": {"color": COLORS["federated"], "ls": "--", "marker": "s"},
}
"""Curves of ``draw_rates``."""


def draw_rates(
    rates: Mapping[int, Mapping[str, Mapping[float, np.ndarray]]], weights: Mapping[str, np.ndarray], C: int
):
    """Errors (%) against the learning rate, a panel for each number of shards; right those with unequal blocks.

    Args:
        rates: shards per client -> curve of RATES -> first learning rate -> [S].
        weights: name of the weights of the average -> [S]. C: clients.
    """
    fig, (axes,) = panels(1, len(rates) + 1)
    for ax, (level, curves) in zip(axes, rates.items(), strict=False):
        for name in [name for name in RATES if name in curves]:
            line(ax, curves[name], curves[name].values(), "Algorithm 2", label=name, **RATES[name])
        ax.set(xlabel="learning rate in the first round", xscale="log", title=per_client(level))
        log_axis(ax.yaxis)
    axes[0].set_ylabel("mean error e (%)")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    height, spread = np.transpose([mean_sd(values) for values in weights.values()])
    error = spread if len(next(iter(weights.values()))) > 1 else None
    axes[-1].bar(list(weights), height, yerr=error, color=[COLORS["federated"], COLORS["light"]], capsize=4)
    axes[-1].set(ylabel="mean error e (%)", title=f"weights for block sizes 1 : 2 : ... : {C}")
    return fig


def shard_view(
    targets: Mapping[int, Sequence[np.ndarray]],
    errors: Mapping[int, Mapping[str, float]],
    distances: Mapping[int, float],
    level: int,
) -> Figure:
    """Who owns which targets at one level, and where this level lies among the errors of all levels.

    Args:
        targets: level -> values of each client's points; errors: level -> {algorithm: mean error (%)};
        distances: level -> mean pairwise W1 of the targets (rad).
    """
    fig, ((left, right),) = panels(1, 2, size=(3.4, 2.6))
    shards(targets[level], left, "target s (rad)")
    left.set_title(f"{per_client(level)}, $W_1$ = {distances[level]:.3f} rad")
    for algorithm in ("Algorithm 1", "Algorithm 2"):
        curve, here = [errors[v][algorithm] for v in sorted(errors)], errors[level][algorithm]
        style = ALGORITHMS[algorithm]
        right.plot(sorted(errors), curve, "o-", ms=4, label=f"{algorithm}: e = {here:.2f} %", **style)
        right.plot(level, here, "o", ms=10, mfc="none", color=style["color"])
    right.set(xlabel="shards per client $n_{shards}/C$", ylabel="mean error e (%)", yscale="log")
    right.set_ylim(top=5 * right.get_ylim()[1])  # room for the legend
    log_axis(right.yaxis)
    right.legend(loc="upper right")
    return fig


def shard_explorer(targets: dict, errors: dict, distances: dict) -> ipywidgets.GridBox:
    """The heterogeneity widget: slide through the levels of ``shard_view``."""
    return explore(
        lambda level: shard_view(targets, errors, distances, level),
        "left which targets each client owns, right the error of both algorithms against shards per client",
        level=slider(sorted(targets), words="shards/client"),
    )
