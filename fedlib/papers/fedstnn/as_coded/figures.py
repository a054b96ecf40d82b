"""Pictures of three ways to train FedStNN: their bands, and whether these know the noise."""

from collections.abc import Mapping

import ipywidgets
import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from ....federated.stack import predict
from ....live.widgets import choice, explore, slider
from ....notebook.style import COLORS, band, log_axis, panels
from ....streams import torch_stream
from ..experiment import Answers
from ..figures import band_and_spread, uncertainty
from ..plane import surface_grid
from ..sine import TESTED, curve, curve_grid, inputs
from .study import POINTS, Data

WAYS = {"as printed": ("other", "s"), "as coded": ("isolated", "^"), "as it should be": ("centralised", "o")}
"""Colour and marker of each."""


GRID = curve_grid(TESTED)

PATHS = {"frozen paths": ("isolated", "^"), "fresh paths": ("other", "s")}


def client_figure(data: Data, sigma: float, client: int) -> Figure:
    """What one client of the first seed observes, and f."""
    seed, shards = next(iter(data.shards.items()))
    (shard,) = data.joined((sigma, seed), shards[POINTS][client - 1 : client])
    x = np.pi * (data.pool["x"][shard, 0].numpy() + 1)
    fig, ((ax,),) = panels(1, 1, size=(5.2, 2.4))
    ax.plot(x, data.pool["y"][shard].numpy(), ".", ms=5, color=COLORS["isolated"], label=f"client {client}")
    ax.plot(GRID, curve(GRID), color=COLORS["truth"], lw=1, label="f")
    ax.set(xlabel="x", ylabel="y")
    ax.legend(loc="upper right")
    return fig


def against_sigma(ax, spreads: Mapping[str, Mapping[float, np.ndarray]], looks: Mapping[str, tuple]) -> None:
    """Learnt std over the data's sigma: name -> sigma -> [S], with the diagonal."""
    for name, stds in spreads.items():
        color, marker = looks[name]
        band(ax, list(stds), np.stack(list(stds.values()), 1), COLORS[color], name, marker=marker, ms=5, lw=2.5)
    sigmas = list(next(iter(spreads.values())))
    ax.plot(sigmas, sigmas, "--", color=COLORS["truth"], lw=1, label="truth")
    for axis in (ax.xaxis, ax.yaxis):
        log_axis(axis)
    ax.set(xlabel=r"$\sigma$ of the data", ylabel="learnt std (RMS over x)")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)


def sigma_figure(spreads: Mapping[str, Mapping[float, np.ndarray]], title: str) -> Figure:
    """One panel of ``against_sigma``: ways, or frozen against fresh paths."""
    fig, ((ax,),) = panels(1, 1, size=(4.6, 3.4))
    against_sigma(ax, spreads, WAYS if set(spreads) <= set(WAYS) else PATHS)
    ax.set_title(title)
    return fig


def ways_figure(shown: Mapping[str, Answers], sigma: float) -> Figure:
    """The curve as each way knows it in the first seed, with its band and the true one."""
    fig, axes = panels(1, len(shown), size=(2.75, 2.6), sharey=True)
    for ax, (name, answers) in zip(axes[0], shown.items(), strict=True):
        uncertainty(ax, GRID, curve(GRID), sigma, answers.mean[0], answers.std[0], answers.path[0], WAYS[name][0])
        ax.set(title=name, xlabel="x")
    axes[0, 0].set_ylabel("y")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return fig


def surface_figure(shown: Mapping[str, Answers], truth: np.ndarray, sigma: float) -> Figure:
    """Above the error of each way's mean on the surface, below its spread, in units of sigma, in the first seed."""
    fig, axes = panels(2, len(shown), size=(2.75, 2.4), sharex=True, sharey=True)
    n = round(len(surface_grid()) ** 0.5)
    for column, (name, answers) in zip(axes.T, shown.items(), strict=True):
        rows = [
            (name, answers.mean[0] - truth, "error of the mean", dict(cmap="PuOr", vmin=-3, vmax=3)),
            ("", answers.std[0], "std", dict(vmin=0, vmax=3)),
        ]
        for ax, (title, values, what, colours) in zip(column, rows, strict=True):
            image = ax.imshow(values.reshape(n, n).T / sigma, origin="lower", extent=(-1, 1, -1, 1), **colours)
            ax.set(title=title, xlabel="x", ylabel="y")
            ax.label_outer()
            fig.colorbar(image, ax=ax, label=rf"{what} / $\sigma$")
    return fig


def draw_way(models: Mapping[tuple[str, float], tuple[nn.Module, Tensor]], way: str, sigma: float, paths=30) -> Figure:
    """What a way learnt at a noise of the data: paths, their band, the true one; right its std over x.

    models: (way, sigma) -> (network, row [P]). paths: at each of 100 points.
    """
    if (way, sigma) not in models:
        raise ValueError(f"no model was trained {way!r} at sigma = {sigma:g}; choose another pair")
    net, row = models[way, sigma]
    x = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    w = torch.randn(100, *net.noise(paths), generator=torch_stream(0, "widget"))
    out = predict(net, row, inputs(x).float(), w)
    title, most = f"{way}, {paths} paths", max(s for _, s in models)
    return band_and_spread(x, curve(x), out, sigma, most, title, WAYS[way][0], out[:, 0])


def ways_explorer(models: Mapping[tuple[str, float], tuple[nn.Module, Tensor]]) -> ipywidgets.GridBox:
    """The widget of notebook 08b: way, noise of the data, number of paths."""
    names, sigmas = (list(dict.fromkeys(key[i] for key in models)) for i in (0, 1))
    return explore(
        lambda **values: draw_way(models, **values),
        "left what a way learnt with its band and the true one, right its spread against the noise",
        way=choice(names, tooltip="Which form of the algorithm trained the network."),
        sigma=slider(sorted(sigmas)),
        paths=slider(range(2, 201), 30),
    )
