"""Pictures of functions that clients learn together: fits, errors and drift of the weights over levels."""

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle

import ipywidgets
import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from ..federated.heterogeneity import mean_pairwise_w1
from ..numerics.metrics import mean_sd, percent
from ..problems.function_study import Sweep
from .style import CLIENTS, COLORS, band, log_axis, panels, shards
from .widgets import explore


def ordered(n: int) -> list[dict]:
    """Colours and markers of n choices that have an order (clients, layers, steps), none of them a role's colour."""
    colors = colormaps["magma"](np.linspace(0.15, 0.75, n))
    return [{"color": color, "marker": marker} for color, marker in zip(colors, cycle("os^Dv"), strict=False)]


def legend_above(fig: Figure, ax, columns: int = 4) -> None:
    """The legend of one axes above all, where it hides no curve."""
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=columns)


def error_curves(ax, at: Sequence[float], federated: np.ndarray, alone: np.ndarray, central: Sequence[float]) -> None:
    """Relative L2 error over levels: federated [S, L], each client alone [S, L, K], centralised [S]."""
    for k in range(alone.shape[2]):
        label = f"client {k + 1} alone"
        band(ax, at, alone[:, :, k], CLIENTS[k % len(CLIENTS)], label, ls="--", marker="s^Dvo"[k % 5])
    band(ax, at, federated, COLORS["federated"], "federated")
    ax.axhline(np.mean(central), color=COLORS["centralised"], label="centralised")
    log_axis(ax.yaxis)


def drift_curves(ax, at: Sequence[float], drift: Mapping[str, np.ndarray], **kwargs) -> None:
    """Relative weight divergence over levels, matrix -> [S, L]."""
    for (matrix, values), style in zip(drift.items(), ordered(len(drift)), strict=True):
        band(ax, at, values, label=matrix, **style, **kwargs)


def two_scales(subdomains: Sequence[int], w1: Sequence[float], draw: Callable, ylabel: str) -> Figure:
    """The same curves, ``draw(ax, at)``, over the number of subdomains and over W1."""
    fig, axes = panels(1, 2, size=(3.4, 2.8), sharey=True)
    for ax, at, label in zip(axes[0], (subdomains, w1), ("subdomains 2 p", "mean pairwise $W_1$"), strict=True):
        draw(ax, at)
        log_axis(ax.xaxis)
        ax.set(xlabel=label)
    axes[0, 0].set_ylabel(ylabel)
    legend_above(fig, axes[0, 0])
    return fig


def fits_side_by_side(z, truth, fits: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """A function [n] on z and what models make of it: title -> (federated [n], clients alone [K, n]), a panel each."""
    fig, axes = panels(1, len(fits), size=(3.6, 2.6), sharey=True)
    for ax, (title, (federated, alone)) in zip(axes[0], fits.items(), strict=True):
        draw_curves(ax, z, truth, federated, alone)
        ax.set_title(title)
    axes[0, 0].set_ylabel("f(x)")
    legend_above(fig, axes[0, 0])
    return fig


def draw_curves(ax, z, truth, federated, alone, labels: bool = False) -> None:
    """A function and its models, in limits that depend on the function only. labels: with relative L2 errors."""

    def name(label, fit):
        return f"{label}: e = {percent(fit, truth):.1f} %" if labels else label

    ax.plot(z, truth, color=COLORS["truth"], lw=2.5, alpha=0.5, label="f")
    for k, fit in enumerate(alone):
        ax.plot(z, fit, ":", lw=2.5, color=CLIENTS[k % len(CLIENTS)], label=name(f"client {k + 1} alone", fit))
    ax.plot(z, federated, "--", color=COLORS["federated"], label=name("federated", federated))
    spread = np.ptp(truth)
    ax.set(xlabel="x", ylim=(truth.min() - 0.3 * spread, truth.max() + 0.3 * spread))


def more_clients(blocks, w1: Mapping[int, np.ndarray], sweep: Sweep) -> Figure:
    """Fig. 6: errors of K clients together and of the best one alone at some numbers of blocks; w1 {K: [levels]}."""
    federated = {K: sweep.errors("federated", K) for K in w1}
    alone = {K: sweep.errors("isolated", K).min(-1) for K in w1}
    fig, axes = panels(1, 3, size=(2.6, 2.8))
    for K, style in zip(federated, ordered(len(federated)), strict=True):
        for ax, at, errors, ls in zip(
            axes[0], (blocks, blocks, w1[K]), (federated, alone, federated), ("-", "--", "-"), strict=True
        ):
            band(ax, at, errors[K], label=f"K = {K}", ls=ls, ms=4, **style)
    titles = ("federated", "best client alone", "federated")
    for ax, label, title in zip(axes[0], ("blocks per axis s",) * 2 + ("mean pairwise $W_1$",), titles, strict=True):
        ax.axhline(np.mean(sweep.errors("central")), color=COLORS["centralised"], label="centralised")
        log_axis(ax.xaxis)
        log_axis(ax.yaxis)
        ax.set(xlabel=label, title=title)
    axes[0, 0].set_ylabel("relative $L^2$ error")
    legend_above(fig, axes[0, 0], 5)
    return fig


def bars(ax, values: Mapping[str, np.ndarray], labels: Sequence[str]) -> None:
    """Errors of variants, name -> [S, levels], with st.dev. over seeds; labels: a name for each level."""
    height = 0.8 / len(labels)
    for j, (label, style) in enumerate(zip(labels, ordered(len(labels)), strict=True)):
        mean, sd = np.transpose([mean_sd(v[:, j]) for v in values.values()])
        error = sd if sd.any() else None  # one seed has no spread
        ax.barh(np.arange(len(mean)) + j * height, mean, height, xerr=error, color=style["color"], label=label)
    ax.set_yticks(np.arange(len(values)) + 0.4 - height / 2, values)
    ax.invert_yaxis()
    ax.set_xlabel("relative $L^2$ error")
    log_axis(ax.xaxis)


def errors_and_drift(w1: Sequence[float], errors: Mapping[str, tuple], drift: Mapping[str, np.ndarray]) -> Figure:
    """Fig. 5: title -> errors as ``error_curves`` takes them, and the drift of the weights, over W1."""
    fig, axes = panels(1, len(errors) + 1, size=(2.6, 2.8))
    for ax, (title, ways) in zip(axes[0], errors.items(), strict=False):
        error_curves(ax, w1, *ways)
        ax.set(ylabel="relative $L^2$ error", title=title)
    drift_curves(axes[0, -1], w1, drift)
    axes[0, -1].set(ylabel="relative weight divergence", title=next(iter(errors)))
    for ax in axes[0]:
        log_axis(ax.xaxis)
        ax.set_xlabel("mean pairwise $W_1$")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=4)
    fig.legend(*axes[0, -1].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return fig


def ablations(errors: Mapping[str, np.ndarray], at, own: Mapping, everywhere, common: Mapping) -> Figure:
    """Errors of variants, name -> [S, levels], and the drift of the weights with own and with common starts.

    at, everywhere: numbers of subdomains of errors and own, and of common.
    """
    fig, ((left, right),) = panels(1, 2, size=(3.7, 3.0))
    bars(left, errors, [f"{n} subdomains" for n in at])
    drift_curves(right, at, own)
    drift_curves(right, everywhere, {f"_{matrix}": values for matrix, values in common.items()}, ls=":")
    log_axis(right.xaxis)
    right.set(
        xlabel="subdomains 2 p", ylabel="relative weight divergence", title="solid: own starts, dotted: common start"
    )
    fig.legend(*left.get_legend_handles_labels(), loc="outside upper left", ncols=2)
    fig.legend(*right.get_legend_handles_labels(), loc="outside upper right", ncols=4)
    return fig


def bound_panels(rounds: Sequence[int], steps: Sequence[int], measured: Mapping[str, np.ndarray], bound) -> Figure:
    """Theorem 3.1: title -> distance of the models [E, l], a panel each, below the bound [E, l], dotted."""
    fig, axes = panels(1, len(measured), size=(3.4, 2.6), sharey=True)
    for ax, (title, apart) in zip(axes[0], measured.items(), strict=True):
        for E, distance, limit, style in zip(steps, apart, bound, ordered(len(steps)), strict=True):
            ax.plot(rounds, distance, ms=4, label=f"E = {E}", **style)
            ax.plot(rounds, limit, ":", **style, ms=3)
        log_axis(ax.xaxis)
        ax.set(xlabel="rounds l", yscale="log", title=title)
    axes[0, 0].set_ylabel(r"$\|\theta_{fed} - \theta_{central}\|$")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center", title="dotted: bound")
    return fig


def fit_view(x, z, truth, owned: Sequence[np.ndarray], federated: np.ndarray, alone: np.ndarray) -> Figure:
    """A function on a line: who owns which points, and what the federation and each client alone make of it.

    Limits and ticks do not depend on the clients, so that an explorer draws them once.

    Args:
        x [N]: training points; owned: K index arrays; z [n], truth [n]: the function; federated [n], alone [K, n].
    """
    clouds = [x[own] for own in owned]
    fig, ((strip,), (curves,)) = panels(2, 1, size=(6.8, 1.8), sharex=True, height_ratios=(1, 3))
    shards(clouds, strip, "", ms=6, alpha=1)
    for k, line in enumerate(strip.get_lines()):
        line.set_ydata(np.full(len(clouds[k]), (k + 0.5) / len(clouds)))
        strip.text(-0.01, (k + 0.5) / len(clouds), f"client {k + 1}", ha="right", va="center", fontsize=8,
                   transform=strip.get_yaxis_transform())  # fmt: skip
    strip.set(ylabel="", yticks=(), ylim=(1, 0), title=f"mean pairwise $W_1$ = {mean_pairwise_w1(clouds):.3f}")
    draw_curves(curves, z, truth, federated, alone, labels=True)
    curves.set_ylabel("f(x)")
    fig.legend(*curves.get_legend_handles_labels(), loc="outside right center")
    return fig


def draw_fits(x, z, truth, fits: Mapping[tuple[int, int], tuple], clients: int, pieces: int) -> Figure:
    """The picture of ``fit_view`` for one entry of fits: (K, p) -> (shards, federated, alone)."""
    if (clients, pieces) not in fits:
        trained = ", ".join(str(p) for K, p in fits if clients == K)
        raise ValueError(
            f"{clients} clients with {pieces} pieces each were not trained here; trained: {trained or '-'}"
        )
    return fit_view(x, z, truth, *fits[clients, pieces])


def fit_explorer(x, z, truth, fits: Mapping[tuple[int, int], tuple]) -> ipywidgets.VBox:
    """The function-approximation widget: number of clients K and pieces per client p."""
    K, p = (sorted({key[i] for key in fits}) for i in (0, 1))
    shared = [q for q in p if all((k, q) in fits for k in K)] or p  # begin where every K has a fit
    return explore(
        lambda **chosen: draw_fits(x, z, truth, fits, **chosen),
        "above who owns which points of the line, below the function and what each model makes of it",
        clients=ipywidgets.SelectionSlider(options=K, description="clients K"),
        pieces=ipywidgets.SelectionSlider(options=p, value=shared[0], description="pieces per client"),
    )
