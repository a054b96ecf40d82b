"""Pictures of stochastic networks that learn a noisy curve or surface: means, their bands, and the noise."""

from collections.abc import Mapping

import ipywidgets
import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from ..federated.stack import predict
from ..live.widgets import choice, explore, slider
from ..notebook.style import CLIENTS, COLORS, band, log_axis, panels, shards
from ..problems.fedstnn import Learnt, curve, surface, surface_grid
from ..problems.noisy_curve import Data, Setting, grid, growing_sigma, seen
from ..streams import torch_stream

LINES = [("centralised", "o"), ("other", "s"), ("light", "^")]
"""Colour and marker of models that see all data and differ in their loss."""


DIFFUSIONS = {"vector": "one g per block and neuron", "net": "g a network of X"}


SHOWN = 30  # paths that are drawn one by one; a cloud of more looks the same and is slow


def first_look(setting: Setting, data: Data, k: int) -> Figure:
    """The problem: left all noisy observations of the first seed, right those of client k."""
    x, y, owned = seen(setting, data)
    own, truth = owned[k - 1], curve(x)
    fig, ((left, right),) = panels(1, 2, size=(3.8, 2.5), sharex=True, sharey=True)
    left.plot(x, y, ",", color=COLORS["light"], rasterized=True)
    right.plot(x[own], y[own], ".", ms=4, color=CLIENTS[0])
    for ax, title in ((left, f"all {len(x)} observations"), (right, f"the {len(own)} observations of client {k}")):
        ax.plot(x, truth, color=COLORS["truth"], lw=1, label="f")
        for side in (-2, 2):
            label = r"f $\pm$ 2 $\sigma$" if side == 2 else None
            ax.plot(x, truth + side * setting.sigma, "--", color=COLORS["truth"], lw=0.8, label=label)
        ax.set(xlabel="x", title=title)
    left.set_ylabel("y")
    left.legend(loc="upper right")
    return fig


def curve_data(setting: Setting, data: Data) -> Figure:
    """Of the first seed: left all observations and the borders of the ten groups, right the points of some clients."""
    x, y, owned = seen(setting, data)
    fig, ((left, right),) = panels(1, 2, size=(3.8, 2.6))
    left.plot(x, y, ",", color=COLORS["light"], rasterized=True)
    left.plot(x, curve(x), color=COLORS["truth"], label="f")
    for edge in range(1, 10):
        left.axvline(edge * np.pi / 5, color="0.8", lw=0.6)
    left.set(xlabel="x", ylabel="y", title=rf"observations, $\sigma$ = {setting.sigma:g}, and the ten groups")
    shards([x[owned[k - 1]] for k in setting.alone], right, "x", alpha=0.8)
    right.set(yticks=range(len(setting.alone)), yticklabels=setting.alone)
    right.set_title(f"points of {len(setting.alone)} of the {setting.clients} clients, non-IID 110")
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
    """``uncertainty`` of the first seed, in two columns; shown: title -> (label of x, x [n], truth [n], ``Learnt``)."""
    fig, axes = panels(len(shown) // 2, 2, size=(3.8, 2.4))
    for ax, (title, (xlabel, x, truth, found)) in zip(axes.flat, shown.items(), strict=True):
        uncertainty(ax, x, truth, sigma, found.mean[0], found.std[0], found.path[0])
        ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return fig


def curves_view(shown: Mapping[str, Learnt], sigma: float) -> Figure:
    """``bands`` of models of the curve: title -> ``Learnt``."""
    x = grid()
    return bands({title: ("x", x, curve(x), found) for title, found in shown.items()}, sigma, "y")


def alone_view(setting: Setting, found: Learnt) -> Figure:
    """What the clients alone learn of the curve in the first seed, and which region each of them knows (grey)."""
    fig, axes = panels(1, len(setting.alone), size=(1.75, 2.4), sharey=True)
    shown = zip(axes[0], setting.alone, setting.regions, found.mean[0], found.std[0], strict=True)
    for ax, k, region, mean, std in shown:
        ax.axvspan(*region, color="0.88")
        uncertainty(ax, grid(), curve(grid()), setting.sigma, mean, std, color="isolated")
        ax.set(title=f"client {k} alone", xlabel="x")
    axes[0, 0].set_ylabel("y")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return fig


def noise_view(spreads: Mapping[str, Mapping[float, np.ndarray]], growing: Mapping[str, np.ndarray]) -> Figure:
    """Does the spread follow the noise? Left one that is the same everywhere, right one that grows with x.

    spreads: loss -> sigma of the data -> learnt spread [S]. growing: "vector", "net" -> spread [S, n] on the curve's
    grid, of a model with such a diffusion.
    """
    fig, ((left, right),) = panels(1, 2, size=(3.8, 2.8))
    for (name, of), (color, marker) in zip(spreads.items(), LINES, strict=True):
        sigmas = list(of)
        band(left, sigmas, np.stack(list(of.values()), 1), COLORS[color], name, marker=marker, ms=5, lw=2.5)
    left.plot(sigmas, sigmas, "--", color=COLORS["truth"], lw=1, label="truth")
    for axis in (left.xaxis, left.yaxis):
        log_axis(axis)
    left.set(xlabel=r"$\sigma$ of the data", ylabel="std of the paths", title="a noise that is the same everywhere")
    for (name, values), (color, _) in zip(growing.items(), LINES, strict=False):
        width = 2.5 if color == "other" else 1.5
        band(right, grid(), values, COLORS[color], DIFFUSIONS[name], marker="", lw=width)
    right.plot(grid(), growing_sigma(grid()), "--", color=COLORS["truth"], label=r"true $\sigma(x)$")
    right.set(xlabel="x", ylabel="std of the paths", title="a noise that grows with x", ylim=(0, None))
    for ax in (left, right):
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    return fig


def surface_maps(federated: Learnt, alone: Learnt, sigma: float) -> Figure:
    """The true surface, what the federation and what client 1 alone learn of it, and the federation's spread.

    Of the first seed: models [S, n^2] on the n x n grid of [-1, 1]^2.
    """
    fig, axes = panels(2, 2, size=(3.8, 2.8), sharex=True, sharey=True)
    fields = {"true f": surface(*surface_grid().T), "federated mean": federated.mean[0]}
    fields["client 1 alone"], std = alone.mean[0], federated.std[0]
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
    fig = band_and_spread(x, out, sigma, max(s for _, s in models), f"{loss}, {paths} paths", "centralised")
    dots = out[:, :SHOWN]
    fig.axes[0].plot(np.repeat(x, dots.shape[1]), dots.ravel(), ".", ms=1.5, color=COLORS["light"], zorder=1.5)
    return fig


def band_and_spread(x: np.ndarray, out: Tensor, sigma: float, most: float, title: str, color: str, dots=None) -> Figure:
    """Left the band of paths out [n, M] of the curve and the true one, right their std over x and the noise.

    most: the loudest noise of all models: limits are theirs, so that a move changes what is seen and not the scale.
    """
    std, mean = (v.numpy() for v in torch.std_mean(out, -1))
    fig, ((left, right),) = panels(1, 2, size=(3.8, 2.8))
    uncertainty(left, x, curve(x), sigma, mean, std, dots, color)
    left.set(xlabel="x", ylabel="y", title=title, ylim=(-1 - 3 * most, 1 + 4 * most))
    left.legend(ncols=2, fontsize=7, loc="upper right")
    right.plot(x, std, color=COLORS[color], label=f"learnt: {np.sqrt((std**2).mean()):.3f} (RMS)")
    right.axhline(sigma, color=COLORS["truth"], ls="--", lw=1, label=rf"true $\sigma$ = {sigma:g}")
    right.set(xlabel="x", ylabel="std of the paths", ylim=(0, 1.6 * most))
    right.legend(loc="upper right")
    return fig


def band_explorer(net: nn.Module, models: Mapping[tuple[str, float], Tensor]) -> ipywidgets.GridBox:
    """The widget of notebook 08: loss, noise of the data, number of paths."""
    losses, sigmas = (list(dict.fromkeys(key[i] for key in models)) for i in (0, 1))
    return explore(
        lambda **values: draw_band(net, models, **values),
        "left paths of the stochastic network with their band and the true one, right their spread against the noise",
        loss=choice(losses),
        sigma=slider(sorted(sigmas)),
        paths=slider(range(2, 201), 20),
        seed=slider(range(21)),
    )
