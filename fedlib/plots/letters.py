"""Pictures of the picture that nobody owns: its pixels, what clients draw, and how right they are."""

from collections.abc import Mapping, Sequence

import ipywidgets
import numpy as np
import torch
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from ..problems.letters import SHAPE, iou, psi, thirds
from ..streams import stream
from .style import CLIENTS, COLORS, band, panels
from .widgets import explore

BLACK_WHITE = ListedColormap(["#101010", "#ffffff"])


WRONG = ListedColormap(["#101010", "#ffffff", COLORS["other"], COLORS["light"]])
"""Right black, right white; white where it should be black; black where it should be white."""


def picture(ax, white: np.ndarray, truth: np.ndarray | None = None, title: str = "") -> None:
    """A black-and-white picture, bool [4800]; with the truth, wrong pixels are coloured."""
    codes = white.astype(int)
    if truth is not None:
        codes = np.where(white & ~truth, 2, np.where(~white & truth, 3, codes))
    ax.imshow(
        codes.reshape(SHAPE), cmap=BLACK_WHITE if truth is None else WRONG, vmin=0, vmax=1 if truth is None else 3
    )
    ax.set(xticks=[], yticks=[], title=title)


def owned_picture(ax, own: np.ndarray, truth: np.ndarray, title: str) -> None:
    """The pixels [n] that a client owns, in the picture's black and white; unknown ones are grey."""
    seen = np.full(len(truth), np.nan)
    seen[own] = truth[own]
    ax.imshow(seen.reshape(SHAPE), cmap=BLACK_WHITE, vmin=0, vmax=1)
    ax.set(xticks=[], yticks=[], facecolor="0.6", title=title)


def owners_view(white: np.ndarray, owned: Mapping[str, np.ndarray]) -> Figure:
    """The picture, bool [4800], and the pixels that some clients own: title -> their numbers [n]."""
    fig, axes = panels(-(-(1 + len(owned)) // 2), 2, size=(3.8, 1.6))
    picture(axes[0, 0], white, title=rf"the picture, $\Xi$ = {white.sum()} white pixels")
    for ax, (title, own) in zip(axes.flat[1:], owned.items(), strict=True):
        owned_picture(ax, own, white, f"{title}: {len(own)} pixels; grey: unknown")
    return fig


def pictures_view(pictures: Mapping[str, np.ndarray], truth: np.ndarray) -> Figure:
    """Drawn pictures, title -> bool [4800], with their wrong pixels and the IoU of each letter."""
    fig, axes = panels(-(-len(pictures) // 2), 2, size=(3.8, 1.6))
    for ax, (title, white) in zip(axes.flat, pictures.items(), strict=False):
        picture(ax, white, truth, f"{title}: IoU {shares(white, truth)}")
    for ax in axes.flat[len(pictures) :]:
        ax.remove()
    return fig


def iou_view(rounds: Sequence[int], together: np.ndarray, own: np.ndarray, others: np.ndarray) -> Figure:
    """Left the federation's IoU over the rounds, right that of all clients alone and of the federation at the end.

    together [S, rounds, 3]: of each letter. own [S, K]: own letters alone. others [S, K, 2]: the other letters alone.
    """
    fig, ((left, right),) = panels(1, 2, size=(3.8, 2.7))
    for j, (letter, marker) in enumerate(zip("FSU", "os^", strict=True)):
        band(left, rounds, together[..., j], CLIENTS[j], f"letter {letter}", marker=marker, ms=4, lw=2)
    left.set(xlabel="round", ylabel="IoU of the federation", ylim=(0, 1))
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3)
    groups = {"alone:\nown letter": own, "alone:\nothers' letters": others, "federation:\nall letters": together[:, -1]}
    for column, values in enumerate(groups.values()):
        x = column + stream(column, "jitter").uniform(-0.15, 0.15, values.size)
        color = COLORS["isolated" if column < 2 else "federated"]
        right.plot(x, values.ravel(), ".", ms=3 if column < 2 else 7, color=color)
    right.set(xticks=range(3), xticklabels=groups, ylabel="IoU", ylim=(0, 1))
    return fig


def shares(white: np.ndarray, truth: np.ndarray) -> str:
    """IoU of F, S and U as text; white, truth bool [4800]."""
    values = [float(iou(torch.as_tensor(white[t]), torch.as_tensor(truth[t]))) for t in thirds()]
    return ", ".join(f"{letter} {v:.2f}" for letter, v in zip("FSU", values, strict=True))


def draw_letters(
    scores: Mapping[str, Sequence[np.ndarray]], truth: np.ndarray, owned: np.ndarray, client: int, round: int
) -> Figure:
    """What a client owns, what it can draw alone and what the federation draws after a round.

    Args:
        scores: "alone" [rounds, K, 4800] and "federation" [rounds, 4800], one path for every pixel.
        truth: bool [4800]. owned: pixels of every client, K index arrays. client: 1..K. round: 1..rounds.
    """
    if not (1 <= client <= len(owned) and 1 <= round <= len(scores["federation"])):
        raise ValueError(f"client {client}, round {round}: expected 1..{len(owned)} and 1..{len(scores['federation'])}")
    fig, axes = panels(1, 3, size=(2.7, 1.5))
    own = owned[client - 1]
    owned_picture(axes[0, 0], own, truth, f"client {client} owns\n{len(own)} pixels")
    drawn = {"alone": scores["alone"][round - 1][client - 1], "federation": scores["federation"][round - 1]}
    for ax, (name, score) in zip(axes[0, 1:], drawn.items(), strict=True):
        white = psi(torch.as_tensor(score), int(truth.sum())).numpy()
        picture(ax, white, truth, f"{name}, round {round}\nIoU {shares(white, truth)}")
    return fig


def letters_explorer(scores, truth, owned) -> ipywidgets.VBox:
    """The widget of notebook 09: any client, any round."""
    return explore(
        lambda **values: draw_letters(scores, truth, owned, **values),
        "the pixels that a client owns, what it draws alone and what the federation draws",
        client=ipywidgets.IntSlider(1, min=1, max=len(owned)),
        round=ipywidgets.IntSlider(len(scores["federation"]), min=1, max=len(scores["federation"])),
    )
