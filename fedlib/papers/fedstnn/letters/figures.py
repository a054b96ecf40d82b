"""Pictures of the picture that nobody owns: its pixels, what clients draw, and how right they are."""

from collections.abc import Mapping, Sequence

import ipywidgets
import numpy as np
import torch
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from ..live.widgets import explore, slider
from ..notebook.style import CLIENTS, COLORS, band, growth, panels
from ..problems.letters import Picture, iou
from ..streams import stream

BLACK_WHITE = ListedColormap(["#101010", "#ffffff"])


WRONG = ListedColormap(["#101010", "#ffffff", COLORS["other"], COLORS["light"]])
"""Right black, right white; white where it should be black; black where it should be white."""


def show_picture(ax, white: np.ndarray, title: str = "") -> None:
    """A black-and-white picture, bool [rows, columns]."""
    ax.imshow(white, cmap=BLACK_WHITE, vmin=0, vmax=1)
    ax.set(xticks=[], yticks=[], title=title)


def show_drawn(ax, white: np.ndarray, picture: Picture, title: str = "") -> None:
    """A drawn picture, bool [n], with its wrong pixels in colour."""
    white = white.reshape(picture.shape)
    codes = np.where(white & ~picture.white, 2, np.where(~white & picture.white, 3, white.astype(int)))
    ax.imshow(codes, cmap=WRONG, vmin=0, vmax=3)
    ax.set(xticks=[], yticks=[], title=title)


def show_owned(ax, own: np.ndarray, picture: Picture, title: str) -> None:
    """The pixels [n_k] that a client owns, in the picture's black and white; unknown ones are grey."""
    seen = np.full(picture.white.size, np.nan)
    seen[own] = picture.white.ravel()[own]
    ax.imshow(seen.reshape(picture.shape), cmap=BLACK_WHITE, vmin=0, vmax=1)
    ax.set(xticks=[], yticks=[], facecolor="0.6", title=title)


def panel(picture: Picture, width: float) -> tuple[float, float]:
    """Size of a panel, in inches, for a picture of this shape below a title."""
    return width, min(width * picture.shape[0] / picture.shape[1], width) + 0.35


def thirds_view(picture: Picture) -> Figure:
    """The whole picture and, below, its thirds: Figs. 12 to 15 of the paper."""
    fig = Figure(tuple(growth() * np.array((6.5, 2 * panel(picture, 4.5)[1]))), layout="constrained")
    axes = fig.subplot_mosaic([["all"] * 3, [0, 1, 2]], height_ratios=[1.3, 1])
    show_picture(axes["all"], picture.white, rf"the picture, $\Xi$ = {picture.xi} white pixels (Fig. 12)")
    for i, name in enumerate(picture.names):
        third = picture.white.ravel()[picture.thirds[i]].reshape(picture.shape[0], -1)
        show_picture(axes[i], third, f"sub-image {i + 1}: {name} (Fig. {13 + i})")
    return fig


def owners_view(picture: Picture, owned: Mapping[str, np.ndarray]) -> Figure:
    """The picture and the pixels that some clients own: title -> their numbers [n_k]."""
    fig, axes = panels(-(-(1 + len(owned)) // 2), 2, size=panel(picture, 3.8))
    show_picture(axes[0, 0], picture.white, rf"the picture, $\Xi$ = {picture.xi} white pixels")
    for ax, (title, own) in zip(axes.flat[1:], owned.items(), strict=True):
        show_owned(ax, own, picture, f"{title}: {len(own)} pixels; grey: unknown")
    return fig


def pictures_view(drawn: Mapping[str, np.ndarray], picture: Picture) -> Figure:
    """Drawn pictures, title -> bool [n], with their wrong pixels and the IoU of each letter."""
    fig, axes = panels(-(-len(drawn) // 2), 2, size=panel(picture, 3.8))
    for ax, (title, white) in zip(axes.flat, drawn.items(), strict=False):
        show_drawn(ax, white, picture, f"{title}: IoU {shares(white, picture)}")
    for ax in axes.flat[len(drawn) :]:
        ax.remove()
    return fig


def iou_view(rounds: Sequence[int], together: np.ndarray, own: np.ndarray, others: np.ndarray, names="FSU") -> Figure:
    """Left the federation's IoU over the rounds, right that of all clients alone and of the federation at the end.

    together [S, rounds, 3]: of each letter. own [S, K]: own letters alone. others [S, K, 2]: the other letters alone.
    """
    fig, ((left, right),) = panels(1, 2, size=(3.8, 2.7))
    for j, (letter, marker) in enumerate(zip(names, "os^", strict=True)):
        band(left, rounds, together[..., j], CLIENTS[j], letter, marker=marker, ms=4, lw=2)
    left.set(xlabel="round", ylabel="IoU of the federation", ylim=(0, 1))
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3)
    groups = {"alone:\nown letter": own, "alone:\nothers' letters": others, "federation:\nall letters": together[:, -1]}
    for column, values in enumerate(groups.values()):
        x = column + stream(column, "jitter").uniform(-0.15, 0.15, values.size)
        color = COLORS["isolated" if column < 2 else "federated"]
        right.plot(x, values.ravel(), ".", ms=3 if column < 2 else 7, color=color)
    right.set(xticks=range(3), xticklabels=groups, ylabel="IoU", ylim=(0, 1))
    return fig


def shares(white: np.ndarray, picture: Picture) -> str:
    """IoU of each letter as text; white bool [n], however many are white."""
    values = [float(iou(torch.as_tensor(white[t]), picture.truth[t])) for t in picture.thirds]
    return ", ".join(f"{letter} {v:.2f}" for letter, v in zip(picture.names, values, strict=True))


def draw_letters(
    scores: Mapping[str, Sequence[np.ndarray]], picture: Picture, owned: Sequence[np.ndarray], rounds: Sequence[int],
    client: int, round: int,
) -> Figure:  # fmt: skip
    """What a client owns, what it can draw alone and what the federation draws after a round.

    Args:
        scores: "alone" [V, K, n] and "federation" [V, n], one path for every pixel, after each of V rounds.
        owned: pixels of every client, K index arrays. rounds [V]. client: 1..K. round: one of rounds.
    """
    if not 1 <= client <= len(owned) or round not in rounds:
        raise ValueError(f"client {client}, round {round}: expected 1..{len(owned)} and one of {list(rounds)}")
    fig, axes = panels(1, 3, size=panel(picture, 2.7))
    own, at = owned[client - 1], list(rounds).index(round)
    show_owned(axes[0, 0], own, picture, f"client {client} owns\n{len(own)} pixels")
    shown = {"alone": scores["alone"][at][client - 1], "federation": scores["federation"][at]}
    for ax, (name, score) in zip(axes[0, 1:], shown.items(), strict=True):
        white = picture.drawn(score).numpy()
        show_drawn(ax, white, picture, f"{name}, round {round}\nIoU {shares(white, picture)}")
    return fig


def letters_explorer(scores, picture, owned, rounds) -> ipywidgets.GridBox:
    """The widget of notebook 09: any client, any round that was looked at."""
    return explore(
        lambda **values: draw_letters(scores, picture, owned, rounds, **values),
        "the pixels that a client owns, what it draws alone and what the federation draws",
        client=slider(range(1, len(owned) + 1), 1),
        round=slider(list(rounds), rounds[-1]),
    )
