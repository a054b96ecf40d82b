"""Figures and widgets of the stochastic networks: pure functions data -> Figure, and the sliders in front of them."""

from collections.abc import Mapping, Sequence

import ipywidgets
import numpy as np
import torch
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from torch import Tensor, nn

from .figures import COLORS, panels
from .networks import predict
from .noisy import SHAPE, curve, iou, psi, thirds
from .streams import torch_stream
from .widgets import explore

BLACK_WHITE = ListedColormap(["#101010", "#ffffff"])
WRONG = ListedColormap(
    ["#101010", "#ffffff", COLORS["isolated"], COLORS["light"]]
)  # right black, white; too white; missed


def uncertainty(ax, x, truth, sigma, mean, std, dots=None, color="federated") -> None:
    """True curve with its band of 2 sigma (dashed), learnt mean with its band of 2 std, single paths as dots."""
    ax.fill_between(x, mean - 2 * std, mean + 2 * std, color=COLORS[color], alpha=0.25, lw=0, label="learnt, 2 std")
    if dots is not None:
        ax.plot(x, dots, ".", ms=2, color=COLORS[color], alpha=0.6, label="one path")
    ax.plot(x, truth, color=COLORS["truth"], lw=1, label="true f")
    for side in (-2, 2):
        label = r"true, 2 $\sigma$" if side == 2 else None
        ax.plot(x, truth + side * np.asarray(sigma), "--", color=COLORS["truth"], lw=0.8, label=label)
    ax.plot(x, mean, color=COLORS[color], lw=1, label="learnt mean")


def draw_band(
    net: nn.Module, models: Mapping[tuple[str, float], Tensor], loss: str, sigma: float, paths: int = 20, seed: int = 0
) -> Figure:
    """Paths of a model of the noisy curve, and the band that they make: learnt against true.

    models: (loss, sigma of the data) -> row [P] of a stack. paths: M >= 2 paths at each of 100 points.
    """
    if (loss, sigma) not in models:
        raise ValueError(f"no model was trained with {loss} at sigma = {sigma:g}; choose another pair")
    x = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    w = torch.randn(100, *net.noise(paths), generator=torch_stream(seed, "widget"))
    out = predict(net, models[loss, sigma], torch.as_tensor(x / np.pi - 1)[:, None].float(), w)
    std, mean = (v.numpy() for v in torch.std_mean(out, -1))
    fig, ((left, right),) = panels(1, 2, size=(3.8, 2.8))
    left.plot(np.repeat(x[:, None], paths, 1), out, ".", ms=1.5, color=COLORS["light"])
    uncertainty(left, x, curve(x), sigma, mean, std)
    left.set(xlabel="x", ylabel="y", title=f"{loss}, {paths} paths", ylim=(-2.2, 2.2))
    left.legend(ncols=2, fontsize=6, loc="upper right")  # "best" looks at every dot: slow
    right.plot(x, std, color=COLORS["federated"], label=f"learnt: {np.sqrt((std**2).mean()):.3f} (RMS)")
    right.axhline(sigma, color=COLORS["truth"], ls="--", lw=1, label=rf"true $\sigma$ = {sigma:g}")
    right.set(xlabel="x", ylabel="std of the paths", ylim=(0, 0.6))
    right.legend(loc="upper right")
    return fig


def band_explorer(net: nn.Module, models: Mapping[tuple[str, float], Tensor]) -> ipywidgets.VBox:
    """The widget of notebook 08: loss, noise of the data, number of paths."""
    losses, sigmas = (list(dict.fromkeys(key[i] for key in models)) for i in (0, 1))
    return explore(
        lambda **values: draw_band(net, models, **values),
        "left paths of the stochastic network with their band and the true one, right their spread against the noise",
        loss=ipywidgets.Dropdown(options=losses),
        sigma=ipywidgets.SelectionSlider(options=sorted(sigmas)),
        paths=ipywidgets.IntSlider(20, min=2, max=200),
        seed=ipywidgets.IntSlider(0, min=0, max=20),
    )


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


def letter_iou(white: np.ndarray, truth: np.ndarray) -> list[float]:
    """IoU of F, S and U; white, truth bool [4800]."""
    return [float(iou(torch.as_tensor(white[t]), torch.as_tensor(truth[t]))) for t in thirds()]


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
    fig, axes = panels(1, 3, size=(3.6, 1.7))
    own = owned[client - 1]
    owned_picture(axes[0, 0], own, truth, f"client {client} owns {len(own)} pixels")
    drawn = {"alone": scores["alone"][round - 1][client - 1], "federation": scores["federation"][round - 1]}
    for ax, (name, score) in zip(axes[0, 1:], drawn.items(), strict=True):
        white = psi(torch.as_tensor(score), int(truth.sum())).numpy()
        shares = ", ".join(f"{letter} {v:.2f}" for letter, v in zip("FSU", letter_iou(white, truth), strict=True))
        picture(ax, white, truth, f"{name}, round {round}: IoU {shares}")
    return fig


def letters_explorer(scores, truth, owned) -> ipywidgets.VBox:
    """The widget of notebook 09: any client, any round."""
    return explore(
        lambda **values: draw_letters(scores, truth, owned, **values),
        "the pixels that a client owns, what it draws alone and what the federation draws",
        client=ipywidgets.IntSlider(1, min=1, max=len(owned)),
        round=ipywidgets.IntSlider(len(scores["federation"]), min=1, max=len(scores["federation"])),
    )
