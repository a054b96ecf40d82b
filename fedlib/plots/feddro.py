"""Figures and widgets of FedDRO: pure functions data -> Figure, and the sliders in front of them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import ipywidgets
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, StrMethodFormatter

from ..numerics.metrics import mean_sd
from ..numerics.transport import FedWaD, Measure, interpolant, wasserstein
from ..problems.feddro import Transported
from .functions import ordered
from .style import CLIENTS, COLORS, band, log_axis, owners, panels
from .widgets import explore

SIDE = 28


METHODS = {  # by the data: the clients' own, mapped ones, and the barycenter's, which are the same for everybody
    "FedAvg": {"color": COLORS["other"], "lw": 2.5},
    "mapped": {"color": COLORS["federated"]},
    "barycenter Q": {"color": COLORS["centralised"], "ls": "--"},
}


def grid(count: int, size: tuple[float, float], columns: int, **kwargs) -> tuple[Figure, list]:
    """(figure, that many axes) in rows of at most ``columns``; places that are left over stay empty."""
    columns = min(count, columns)
    fig, axes = panels(-(-count // columns), columns, size=size, **kwargs)
    for ax in axes.flat[count:]:
        ax.set_axis_off()
    return fig, list(axes.flat[:count])


def finish(fig: Figure, axes: Sequence, ylabel: str) -> Figure:
    """The y label of the first column, and the legend above all panels, where it hides no curve."""
    for ax in axes:
        if ax.get_subplotspec().is_first_col():
            ax.set_ylabel(ylabel)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return fig


def noted(fig: Figure, text: str) -> Figure:
    """The figure with a note, such as the data's name, below its left corner and a line below the run's label."""
    fig.text(0, 0, f"\n{text}", ha="left", va="top", fontsize=6, color="0.4")
    return fig


def tiles(rows: Sequence[np.ndarray], gap: int = 2) -> np.ndarray:
    """Digits [R, C, 784] as one picture, each scaled to its own range: white gaps, black paper, as they come.

    A digit of NaN is a place that stays empty.
    """
    rows = np.asarray(rows, float)
    low, high = (f(rows, axis=-1, keepdims=True) for f in (np.min, np.max))
    square = ((rows - low) / np.maximum(high - low, 1e-9)).reshape(*rows.shape[:2], SIDE, SIDE)
    square = np.pad(square, [(0, 0), (0, 0), (0, gap), (0, gap)], constant_values=1)
    return square.transpose(0, 2, 1, 3).reshape(len(rows) * (SIDE + gap), -1)[:-gap, :-gap]


def digit_grid(ax, rows: Sequence[np.ndarray], row_names: Sequence[str] = (), column_names: Sequence[str] = ()) -> None:
    """A grid of digits [R, C, 784] with a name for every row and column."""
    ax.imshow(tiles(rows), cmap="gray", vmin=0, vmax=1)
    centres = np.arange(max(len(rows), len(rows[0]))) * (SIDE + 2) + SIDE / 2
    ax.set_xticks(centres[: len(column_names)], column_names)
    ax.set_yticks(centres[: len(row_names)], row_names)
    ax.tick_params(length=0, labeltop=True, labelbottom=False)
    for spine in ax.spines.values():
        spine.set_visible(False)


def digit_panels(grids: Mapping[str, np.ndarray], row_names: Sequence[str]) -> Figure:
    """title -> digits [R, C, 784], a panel each, in rows of at most three; rows are named at the left."""
    R, C = next(iter(grids.values())).shape[:2]
    columns = min(len(grids), 2 if C > 5 else 3)
    width = min(7 / columns, 0.6 * C)
    fig, axes = grid(len(grids), (width, width * R / C + 0.25), columns)
    for ax, (title, digits) in zip(axes, grids.items(), strict=True):
        digit_grid(ax, digits, row_names if ax.get_subplotspec().is_first_col() else ())
        ax.set_title(title)
    return fig


class World(NamedTuple):
    """Some digits in one shifted world: original, shifted, mapped [K clients, C classes, 784]; atom [K, C, 784]."""

    original: np.ndarray
    shifted: np.ndarray
    mapped: np.ndarray
    atom: np.ndarray


def examples(pictures, y: np.ndarray, shards: Sequence[np.ndarray], classes: Sequence[int] = range(10)) -> np.ndarray:
    """The first picture [784] of every class at every client [K, C, 784]; empty where a client has none."""
    empty = np.full(pictures.shape[1], np.nan)
    return np.array([[next(iter(pictures[own[y[own] == v]]), empty) for v in classes] for own in shards])


def class_means(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Mean of every class minus mean of all classes [10, 784]; empty where there is none."""
    return np.stack([x[y == v].mean(0) if v in y else np.full(x.shape[1], np.nan) for v in range(10)]) - x.mean(0)


def world(x: np.ndarray, seen: np.ndarray, found: Transported, y: np.ndarray, shards: Sequence[np.ndarray]) -> World:
    """Examples of each client's digits x [N, 784], as it sees them, mapped, and the atoms of Q that are nearest."""
    atom = found.Q[[np.argmin(((found.Q - point) ** 2).sum(1)) for point in found.mapped]]
    return World(*(examples(pictures, y, shards) for pictures in (x, seen, found.mapped, atom)))


def draw_digits(worlds: Mapping[float, World], level: float, t: float, digit: int) -> Figure:
    """One digit per client: as it is, as the client sees it, on the way to the barycenter at t, and there.

    worlds: |Lambda| -> World. Column 3 is (1 - t) x' + t T_i(x'); the last is the nearest atom of the barycenter.
    """
    if level not in worlds:
        raise ValueError(f"|Lambda| = {level:g} was not computed here; computed: {', '.join(map(str, worlds))}")
    world = worlds[level]
    K, C = world.original.shape[:2]
    if not (0 <= t <= 1 and 0 <= digit < C):
        raise ValueError(f"t = {t:g}, digit = {digit}: expected 0 <= t <= 1 and a digit 0..{C - 1}")
    x, there = world.shifted[:, digit], world.mapped[:, digit]
    columns = [world.original[:, digit], x, (1 - t) * x + t * there, there, world.atom[:, digit]]
    fig, ((ax,),) = panels(size=(7.6, 0.7 + 0.75 * K))  # wide: the sliders stay on the screen
    names = ["x", "x' (shifted)", "on the way", "$T_i(x')$", "atom of Q"]
    digit_grid(ax, np.stack(columns, 1), [f"client {i + 1}" for i in range(K)], names)
    ax.set_title(rf"$|\Lambda|$ = {level:g}, on the way at t = {t:.2f}; grey: each picture's own range")
    return fig


def digits_explorer(worlds: Mapping[float, World]) -> ipywidgets.VBox:
    """The widget of notebook 10: size of the shift, place on the geodesic, digit."""
    return explore(
        lambda **values: draw_digits(worlds, **values),
        "a digit of every client: original, shifted, on its way to the barycenter, there, and the nearest atom",
        level=ipywidgets.SelectionSlider(options=list(worlds), value=next(iter(worlds)), description="|Λ|"),
        t=ipywidgets.FloatSlider(0.5, min=0, max=1, step=0.05),
        digit=ipywidgets.IntSlider(3, min=0, max=next(iter(worlds.values())).original.shape[1] - 1),
    )


def draw_plane(X: Measure, Y: Measure, clouds: Sequence[np.ndarray], Q: np.ndarray) -> Figure:
    """Left the geodesic between two clouds of the plane, right the clients' clouds [n, 2] and their barycenter Q."""
    fig, ((left, right),) = panels(1, 2, size=(3.9, 3.4))
    times = (0, 0.25, 0.5, 0.75, 1)
    for t, style in zip(times, ordered(len(times)), strict=True):
        left.plot(*interpolant(X, Y, t).x.T, ".", ms=4, color=style["color"], label=f"t = {t:g}")
    left.set(xlabel="$x_1$", ylabel="$x_2$", title="the geodesic between two clouds", aspect="equal")
    left.legend(markerscale=2, loc="lower right")
    owners(clouds, right, ms=3, labels=True)
    right.plot(*Q.T, ".", ms=4, color=COLORS["truth"], label="barycenter Q")
    right.set(xlabel="$x_1$", ylabel="$x_2$", title="three clients and their barycenter", aspect="equal")
    top = max(cloud[:, 1].max() for cloud in clouds)
    right.set_ylim(top=top + 3.5)  # room for the legend
    right.legend(loc="upper right", ncols=2)
    return fig


def draw_gaps(studies: Mapping[str, Mapping[str, np.ndarray]]) -> Figure:
    """How far FedWaD's bound lies above W_p (%) in every round: title -> label -> [rounds]; a panel each."""
    fig, axes = grid(len(studies), (3.9, 2.5), columns=2)
    for ax, (title, curves) in zip(axes, studies.items(), strict=True):
        for (label, values), style in zip(curves.items(), ordered(len(curves)), strict=True):
            ax.plot(np.arange(1, len(values) + 1), values, ms=4, label=label, **style)
        rounds, log = max(map(len, curves.values())), min(map(np.min, curves.values())) > 0
        ax.set(xlabel="round", ylabel="bound above $W_p$ (%)", title=title, xlim=(0.5, rounds + 0.5))
        ax.set_yscale("log" if log else "linear")
        low, high = ax.get_ylim()  # room for the legend
        ax.set_ylim(top=high * (high / low) ** 0.4 if log else low + 1.4 * (high - low))
        if log:
            log_axis(ax.yaxis)
        ax.legend(loc="upper right", fontsize=7)
        ax.xaxis.get_major_locator().set_params(integer=True)
    return fig


def draw_rounds(studies: Mapping[str, Mapping[str, np.ndarray]], ylabel: str, columns: int = 4) -> Figure:
    """Curves over the rounds: title -> method of METHODS -> values [seeds, rounds]; a panel each, on one scale."""
    columns = min(len(studies), columns, 4)
    fig, axes = grid(len(studies), (max(2.0, 5.2 / columns), 2.3), columns, sharey=True)
    for ax, (title, curves) in zip(axes, studies.items(), strict=True):
        for method, values in curves.items():
            band(ax, np.arange(1, values.shape[1] + 1), values, label=method, marker="", **METHODS[method])
            ax.plot(values.shape[1], values[:, -1].mean(), "o", ms=3, color=METHODS[method]["color"])
        ax.set(xlabel="round", title=title)
        ax.xaxis.get_major_locator().set_params(integer=True)
    return finish(fig, axes, ylabel)


def draw_accuracy(views: Mapping[str, Mapping[str, np.ndarray]], levels: Sequence[float], ylabel: str) -> Figure:
    """Bars over |Lambda|: title -> method -> values [levels, seeds]; "... + ascent" is hatched. 10 % is guessing."""
    fig, axes = grid(len(views), (2.7, 2.8), columns=len(views), sharey=True)
    for ax, (title, rows) in zip(axes, views.items(), strict=True):
        width = 0.8 / len(rows)
        for j, (method, values) in enumerate(rows.items()):
            at = np.arange(len(levels)) + (j - (len(rows) - 1) / 2) * width
            style = {"color": METHODS[method.split(" +")[0]]["color"], "edgecolor": "white", "lw": 0.5}
            style |= {"hatch": "////"} if "ascent" in method else {}
            mean, sd = mean_sd(values, 1)
            error = sd if values.shape[1] > 1 else None
            ax.bar(at, mean, width, yerr=error, label=method, error_kw={"lw": 1}, **style)
        ax.axhline(10, color="0.5", lw=0.8, ls=":")
        ax.set(title=title, xlabel=r"size of the shift $|\Lambda|$")
        ax.set_xticks(range(len(levels)), [f"{v:g}" for v in levels])
    return finish(fig, axes, ylabel)


def draw_fedwad(X: Measure, Y: Measure, run: FedWaD, round: int, t: float = 0.5) -> Figure:
    """The shared cloud xi and the two interpolants of a round, and the chain's length against W_2(X, Y)."""
    if not 1 <= round <= len(run.bound):
        raise ValueError(f"round = {round}: expected 1..{len(run.bound)}")
    fig, ((left, right),) = panels(1, 2, size=(3.9, 3.2))
    xi, W = run.xi[round - 1], wasserstein(X, Y)
    for i, own in enumerate((X, Y)):
        left.plot(*own.x.T, "o", ms=3, mew=0, color=CLIENTS[i], label=f"client {i + 1}")
        left.plot(*interpolant(xi, own, t).x.T, "o", ms=3, mfc="none", mew=0.6, color=CLIENTS[i], label="halfway there")
    left.plot(*xi.x.T, ".", ms=4, color=COLORS["truth"], label=r"shared $\xi$")
    left.set(xlabel="$x_1$", ylabel="$x_2$", title=f"round {round}", aspect="equal")
    low, high = (f([f(X.x, 0), f(Y.x, 0)], 0) for f in (np.min, np.max))  # the same in every round
    left.set(xlim=(low[0] - 0.3, high[0] + 0.3), ylim=(low[1] - 0.3, high[1] + 0.3))
    fig.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=5)
    rounds, gap = np.arange(1, len(run.bound) + 1), 100 * (run.bound / W - 1)
    right.plot(rounds, gap, "o-", ms=3, color=COLORS["federated"])
    right.plot(round, gap[round - 1], "o", ms=9, mfc="none", color=COLORS["federated"])
    right.set(xlabel="round", ylabel="bound above $W_2$ (%)", yscale="log")
    right.set_title(f"bound {run.bound[round - 1]:.4f}, $W_2$ = {W:.4f}")
    right.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))  # formulas as tick labels are slow
    right.yaxis.set_minor_locator(NullLocator())
    return fig


def fedwad_explorer(X: Measure, Y: Measure, run: FedWaD) -> ipywidgets.VBox:
    """The second widget of notebook 10: step through FedWaD's rounds."""
    return explore(
        lambda round: draw_fedwad(X, Y, run, round),
        "two clouds of points, the shared cloud between them, and the chain's length above their distance",
        round=ipywidgets.IntSlider(1, min=1, max=len(run.bound)),
    )
