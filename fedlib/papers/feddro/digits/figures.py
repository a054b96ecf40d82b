"""Pictures of the clients' digits: as they are, shifted, on their way to the barycenter, and its atoms."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import ipywidgets
import numpy as np
from matplotlib.figure import Figure

from ..live.widgets import explore, slider, span
from ..notebook.style import panels
from ..problems.barycenters import World
from ..problems.digits import SIDE, Clients


def grid(count: int, size: tuple[float, float], columns: int, **kwargs) -> tuple[Figure, list]:
    """(figure, that many axes) in rows of at most ``columns``; places that are left over stay empty."""
    columns = min(count, columns)
    fig, axes = panels(-(-count // columns), columns, size=size, **kwargs)
    for ax in axes.flat[count:]:
        ax.set_axis_off()
    return fig, list(axes.flat[:count])


def size_of(level: float) -> str:
    """The size of a shift, as a title."""
    return rf"$|\Lambda|$ = {level:g}"


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


def first_of(clients: Clients, classes: Sequence[int] = range(10)) -> np.ndarray:
    """The first picture [784] of every class at every client [K, C, 784]; empty where a client has none."""
    x, y, shards = clients
    empty = np.full(x.shape[1], np.nan)
    return np.array([[next(iter(x[own[y[own] == v]]), empty) for v in classes] for own in shards])


def draw_clients(views: Mapping[str, Clients], classes: int = 5) -> Figure:
    """The first digits of each class at every client, a row each: title -> Clients, a panel each."""
    grids = {title: first_of(clients, range(classes)) for title, clients in views.items()}
    return digit_panels(grids, names(len(next(iter(grids.values())))))


def names(K: int) -> list[str]:
    return [f"client {i + 1}" for i in range(K)]


def class_means(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Mean of every class minus mean of all classes [10, 784]; empty where there is none."""
    return np.stack([x[y == v].mean(0) if v in y else np.full(x.shape[1], np.nan) for v in range(10)]) - x.mean(0)


class Examples(NamedTuple):
    """Some digits in one shifted world: original, shifted, mapped [K clients, C classes, 784]; atom [K, C, 784]."""

    original: np.ndarray
    shifted: np.ndarray
    mapped: np.ndarray
    atom: np.ndarray


def examples(clients: Clients, world: World) -> Examples:
    """The first of each class: as it is, as its client sees it, mapped, and the atom of Q that is nearest to that."""
    original, seen, mapped = (first_of(v) for v in (clients, world.seen, world.mapped))
    Q = world.Q.x
    nearest = [[Q[np.argmin(((Q - point) ** 2).sum(1))] for point in own] for own in mapped]
    return Examples(original, seen, mapped, np.where(np.isnan(mapped), np.nan, nearest))


def draw_barycenters(worlds: Mapping[float, World], shown: Mapping[float, Examples]) -> Figure:
    """Client 1's digits as it sees them, mapped, and an atom of Q nearby; class means at client 1 and in Q.

    A panel for each |Lambda|. From all of them a mean is subtracted: the client's, or that of the atoms of Q.
    """
    grids = {}
    for level, world in worlds.items():
        (seen, _, Q, *_), some = world, shown[level]
        own, middle = seen.shards[0], Q.x.mean(0)
        means = class_means(seen.x[own], seen.y[own]), class_means(Q.x, Q.y)
        first = some.shifted[0] - seen.x[own].mean(0), some.mapped[0] - middle, some.atom[0] - middle
        grids[size_of(level)] = np.stack([*first, *means])
    rows = ["x', client 1", "$T_1(x')$", "atom of Q", "class mean, client 1", "class mean, Q"]
    return digit_panels(grids, rows)


def draw_digits(examples: Mapping[float, Examples], level: float, t: float, digit: int) -> Figure:
    """One digit per client: as it is, as the client sees it, on the way to the barycenter at t, and there.

    examples: |Lambda| -> Examples. Column 3 is (1 - t) x' + t T_i(x'); the last is the nearest atom of the barycenter.
    """
    if level not in examples:
        raise ValueError(f"|Lambda| = {level:g} was not computed here; computed: {', '.join(map(str, examples))}")
    one = examples[level]
    K, C = one.original.shape[:2]
    if not (0 <= t <= 1 and 0 <= digit < C):
        raise ValueError(f"t = {t:g}, digit = {digit}: expected 0 <= t <= 1 and a digit 0..{C - 1}")
    x, there = one.shifted[:, digit], one.mapped[:, digit]
    columns = [one.original[:, digit], x, (1 - t) * x + t * there, there, one.atom[:, digit]]
    fig, ((ax,),) = panels(size=(7.6, 0.7 + 0.75 * K))  # wide: the sliders stay on the screen
    titles = ["x", "x' (shifted)", "on the way", "$T_i(x')$", "atom of Q"]
    digit_grid(ax, np.stack(columns, 1), names(K), titles)
    ax.set_title(f"{size_of(level)}, on the way at t = {t:.2f}; grey: each picture's own range")
    return fig


def digits_explorer(examples: Mapping[float, Examples]) -> ipywidgets.GridBox:
    """The widget of notebook 10: size of the shift, place on the geodesic, digit."""
    return explore(
        lambda **values: draw_digits(examples, **values),
        "a digit of every client: original, shifted, on its way to the barycenter, there, and the nearest atom",
        level=slider(list(examples), next(iter(examples)), "|Λ|"),
        t=slider(span(0, 1, 0.05), 0.5),
        digit=slider(range(next(iter(examples.values())).original.shape[1]), 3),
    )
