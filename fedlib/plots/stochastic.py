"""Figures and widgets of the stochastic networks: pure functions data -> Figure, and the sliders in front of them."""

from collections.abc import Mapping, Sequence

import ipywidgets
import numpy as np
import torch
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from torch import Tensor, nn

from ..federated.stack import predict
from ..problems.fedstnn import curve
from ..problems.letters import SHAPE, iou, psi, thirds
from ..streams import stream, torch_stream
from .style import CLIENTS, COLORS, band, log_axis, panels, shards
from .widgets import explore

BLACK_WHITE = ListedColormap(["#101010", "#ffffff"])


WRONG = ListedColormap(["#101010", "#ffffff", COLORS["other"], COLORS["light"]])
"""Right black, right white; white where it should be black; black where it should be white."""


LINES = [("centralised", "o"), ("other", "s"), ("light", "^")]
"""Colour and marker of models that see all data and differ in their loss."""


SHOWN = 30  # paths that are drawn one by one; a cloud of more looks the same and is slow


def first_look(x, y, truth: np.ndarray, sigma: float, own: np.ndarray, k: int) -> Figure:
    """The problem: left all noisy observations y [N] at x [N], right the points [n] of client k."""
    fig, ((left, right),) = panels(1, 2, size=(3.8, 2.5), sharex=True, sharey=True)
    left.plot(x, y, ",", color=COLORS["light"], rasterized=True)
    right.plot(x[own], y[own], ".", ms=4, color=CLIENTS[0])
    for ax, title in ((left, f"all {len(x)} observations"), (right, f"the {len(own)} observations of client {k}")):
        ax.plot(x, truth, color=COLORS["truth"], lw=1, label="f")
        for side in (-2, 2):
            label = r"f $\pm$ 2 $\sigma$" if side == 2 else None
            ax.plot(x, truth + side * sigma, "--", color=COLORS["truth"], lw=0.8, label=label)
        ax.set(xlabel="x", title=title)
    left.set_ylabel("y")
    left.legend(loc="upper right")
    return fig


def curve_data(x, y, truth: np.ndarray, sigma: float, owned: Mapping[int, np.ndarray], K: int) -> Figure:
    """Left all observations y [N] and the borders of the ten groups, right the points of some clients k -> x [n]."""
    fig, ((left, right),) = panels(1, 2, size=(3.8, 2.6))
    left.plot(x, y, ",", color=COLORS["light"], rasterized=True)
    left.plot(x, truth, color=COLORS["truth"], label="f")
    for edge in range(1, 10):
        left.axvline(edge * np.pi / 5, color="0.8", lw=0.6)
    left.set(xlabel="x", ylabel="y", title=rf"observations, $\sigma$ = {sigma:g}, and the ten groups")
    shards(list(owned.values()), right, "x", alpha=0.8)
    right.set(yticks=range(len(owned)), yticklabels=owned)
    right.set_title(f"points of {len(owned)} of the {K} clients, non-IID 110")
    return fig


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


def bands(shown: Mapping[str, tuple], sigma: float, ylabel: str) -> Figure:
    """``uncertainty`` in two columns; shown: title -> (label of x, x, truth, mean, std, dots), arrays [n]."""
    fig, axes = panels(len(shown) // 2, 2, size=(3.8, 2.4))
    for ax, (title, (xlabel, x, truth, *learnt)) in zip(axes.flat, shown.items(), strict=True):
        uncertainty(ax, x, truth, sigma, *learnt)
        ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return fig


def alone_view(x, truth, sigma: float, clients: Sequence[int], mean, std, regions) -> Figure:
    """What single clients learn: mean, std [K, n] on x [n]; regions: (low, high) of what each knows (grey)."""
    fig, axes = panels(1, len(clients), size=(1.75, 2.4), sharey=True)
    for ax, k, *learnt, region in zip(axes[0], clients, mean, std, regions, strict=True):
        ax.axvspan(*region, color="0.88")
        uncertainty(ax, x, truth, sigma, *learnt, color="isolated")
        ax.set(title=f"client {k} alone", xlabel="x")
    axes[0, 0].set_ylabel("y")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return fig


def noise_view(sigmas, learnt: Mapping[str, np.ndarray], x, sigma_of_x, growing: Mapping[str, np.ndarray]) -> Figure:
    """Left the spread [seeds, levels] of each loss against sigmas [levels], right spreads [seeds, n] on x [n]."""
    fig, ((left, right),) = panels(1, 2, size=(3.8, 2.8))
    for (name, values), (color, marker) in zip(learnt.items(), LINES, strict=True):
        band(left, sigmas, values, COLORS[color], name, marker=marker, ms=5, lw=2.5)
    left.plot(sigmas, sigmas, "--", color=COLORS["truth"], lw=1, label="truth")
    for axis in (left.xaxis, left.yaxis):
        log_axis(axis)
    left.set(xlabel=r"$\sigma$ of the data", ylabel="std of the paths", title="a noise that is the same everywhere")
    for (name, values), (color, _) in zip(growing.items(), LINES, strict=False):
        band(right, x, values, COLORS[color], name, marker="", lw=2.5 if color == "other" else 1.5)
    right.plot(x, sigma_of_x, "--", color=COLORS["truth"], label=r"true $\sigma(x)$")
    right.set(xlabel="x", ylabel="std of the paths", title="a noise that grows with x", ylim=(0, None))
    for ax in (left, right):
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    return fig


def surface_maps(fields: Mapping[str, np.ndarray], std: np.ndarray, sigma: float) -> Figure:
    """Three functions and a spread on the n x n grid of [-1, 1]^2, each [n^2]."""
    fig, axes = panels(2, 2, size=(3.8, 2.8), sharex=True, sharey=True)
    limit = max(np.abs(field).max() for field in fields.values())
    maps = [(title, field, dict(cmap="PuOr", vmin=-limit, vmax=limit)) for title, field in fields.items()]
    maps.append((f"federated std (true: {sigma:g})", std, dict(cmap="viridis", vmin=0, vmax=3 * sigma)))
    for ax, (title, values, colours) in zip(axes.flat, maps, strict=True):
        square = values.reshape(2 * [round(len(values) ** 0.5)])
        image = ax.imshow(square.T, origin="lower", extent=(-1, 1, -1, 1), **colours)
        ax.set(xlabel="x", ylabel="y", title=title)
        ax.label_outer()
        fig.colorbar(image, ax=ax, label="std" if values is std else "f")
    return fig


def draw_band(
    net: nn.Module, models: Mapping[tuple[str, float], Tensor], loss: str, sigma: float, paths: int = 20, seed: int = 0
) -> Figure:
    """Paths of a model of the noisy curve (the first 30 are drawn), and the band that they make: learnt against true.

    models: (loss, sigma of the data) -> row [P] of a stack. paths: M >= 2 paths at each of 100 points.
    """
    if (loss, sigma) not in models:
        raise ValueError(f"no model was trained with {loss} at sigma = {sigma:g}; choose another pair")
    x = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    w = torch.randn(100, *net.noise(paths), generator=torch_stream(seed, "widget"))
    out = predict(net, models[loss, sigma], torch.as_tensor(x / np.pi - 1)[:, None].float(), w)
    std, mean = (v.numpy() for v in torch.std_mean(out, -1))
    most = max(s for _, s in models)  # limits are those of all models: a move changes what is seen, not the scale
    fig, ((left, right),) = panels(1, 2, size=(3.8, 2.8))
    dots = out[:, :SHOWN]
    left.plot(np.repeat(x, dots.shape[1]), dots.ravel(), ".", ms=1.5, color=COLORS["light"])
    uncertainty(left, x, curve(x), sigma, mean, std, color="centralised")
    left.set(xlabel="x", ylabel="y", title=f"{loss}, {paths} paths", ylim=(-1 - 3 * most, 1 + 4 * most))
    left.legend(ncols=2, fontsize=7, loc="upper right")
    right.plot(x, std, color=COLORS["centralised"], label=f"learnt: {np.sqrt((std**2).mean()):.3f} (RMS)")
    right.axhline(sigma, color=COLORS["truth"], ls="--", lw=1, label=rf"true $\sigma$ = {sigma:g}")
    right.set(xlabel="x", ylabel="std of the paths", ylim=(0, 1.6 * most))
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
