"""Figures and widgets of FedDRO: pure functions data -> Figure, and the sliders in front of them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import ipywidgets
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, StrMethodFormatter

from .figures import CLIENTS, COLORS, panels
from .transport import FedWaD, Measure, interpolant, wasserstein
from .widgets import explore

SIDE = 28


def tiles(rows: Sequence[np.ndarray], gap: int = 2) -> np.ndarray:
    """Digits [R, C, 784] as one picture, each scaled to its own range: white gaps, black paper, as they come."""
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


class World(NamedTuple):
    """Some digits in one shifted world: original, shifted, mapped [K clients, C classes, 784]; atom [K, C, 784]."""

    original: np.ndarray
    shifted: np.ndarray
    mapped: np.ndarray
    atom: np.ndarray


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
    fig, ((ax,),) = panels(size=(4.6, 4.4))
    names = ["x", "x' (shifted)", f"t = {t:.2f}", "$T_i(x')$", "atom of Q"]
    digit_grid(ax, np.stack(columns, 1), [f"client {i + 1}" for i in range(K)], names)
    ax.set_title(rf"$|\Lambda|$ = {level:g}: grey values run over each picture's own range")
    return fig


def digits_explorer(worlds: Mapping[float, World]) -> ipywidgets.VBox:
    """The widget of notebook 10: size of the shift, place on the geodesic, digit."""
    return explore(
        lambda **values: draw_digits(worlds, **values),
        "a digit of every client: original, shifted, on its way to the barycenter, there, and the nearest atom",
        level=ipywidgets.SelectionSlider(options=list(worlds), value=next(iter(worlds)), description="|Lambda|"),
        t=ipywidgets.FloatSlider(0.5, min=0, max=1, step=0.05),
        digit=ipywidgets.IntSlider(3, min=0, max=next(iter(worlds.values())).original.shape[1] - 1),
    )


def draw_fedwad(X: Measure, Y: Measure, run: FedWaD, round: int, t: float = 0.5) -> Figure:
    """The shared cloud xi and the two interpolants of a round, and the chain's length against W_2(X, Y)."""
    if not 1 <= round <= len(run.bound):
        raise ValueError(f"round = {round}: expected 1..{len(run.bound)}")
    fig, ((left, right),) = panels(1, 2, size=(3.6, 2.9))
    xi, W = run.xi[round - 1], wasserstein(X, Y)
    clouds = [(X, CLIENTS[0], "client 1: X"), (Y, CLIENTS[1], "client 2: Y")]
    for own, color, name in clouds:
        left.plot(*own.x.T, "o", ms=3, mew=0, color=color, label=name)
        eta = interpolant(xi, own, t)
        left.plot(*eta.x.T, "o", ms=3, mfc="none", mew=0.6, color=color, label=rf"$\eta$ of {name[:8]}")
    left.plot(*xi.x.T, ".", ms=4, color=COLORS["truth"], label=r"shared $\xi$")
    left.set(xlabel="$x_1$", ylabel="$x_2$", title=f"round {round}", aspect="equal")
    left.legend(fontsize=6, loc="upper left")
    rounds, gap = np.arange(1, len(run.bound) + 1), 100 * (run.bound / W - 1)
    right.plot(rounds, gap, "o-", ms=3, color=COLORS["federated"])
    right.plot(round, gap[round - 1], "o", ms=9, mfc="none", color=COLORS["federated"])
    right.set(
        xlabel="round", ylabel="bound above $W_2$ (%)", title=f"bound {run.bound[round - 1]:.4f}, $W_2$ = {W:.4f}"
    )
    right.set_yscale("log")
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
