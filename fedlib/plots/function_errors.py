"""Errors of functions and drift of the weights over levels of heterogeneity: medians, and a dot for every seed.

In 1D the results are bimodal, a seed learns the waves or does not, so there are no bands of mean and st.dev.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ..notebook.pictures import against_w1, seeds_and_median
from ..notebook.style import CLIENTS, COLORS, log_axis, panels
from ..problems.function_claims import Errors
from .functions import ordered


def error_curves(ax, at: Sequence[float], of: Errors) -> None:
    """Relative L2 error over levels of the federation, each client alone, and the centralised model."""
    for k in range(of.alone.shape[2]):
        style = dict(color=CLIENTS[k % len(CLIENTS)], ls="--", lw=1, marker="s^Dvo"[k % 5])
        seeds_and_median(ax, at, of.alone[:, :, k], f"client {k + 1} alone", **style)
    seeds_and_median(ax, at, of.federated, "federated", color=COLORS["federated"], lw=2)
    central_line(ax, of.central)


def central_line(ax, central: np.ndarray) -> None:
    """The centralised model's median error, and that of every seed [S], which does not depend on the level."""
    ax.axhline(np.median(central), color=COLORS["centralised"], label="centralised")
    for e in central:
        ax.axhline(e, color=COLORS["centralised"], lw=0.5, alpha=0.35, label="_seed")


def drift_curves(ax, at: Sequence[float], drift: Mapping[str, np.ndarray], **kwargs) -> None:
    """Relative weight divergence over levels, layer -> [S, L]. Layers have numbers: W1 is the distance here."""
    for i, (values, style) in enumerate(zip(drift.values(), ordered(len(drift)), strict=True)):
        seeds_and_median(ax, at, np.asarray(values), f"layer {i + 1}", **style | kwargs)


def with_levels(ax, w: Sequence[float], levels: Sequence[int], name: str, room: float = 0.09) -> None:
    """Logarithmic axes over W1 with the level above, as far as its ticks have room: a share of the axis."""
    shown, wide = [], np.ptp(np.log(w)) or 1.0
    for i in np.argsort(w)[::-1]:
        if not shown or np.log(w[shown[-1]] / w[i]) > room * wide:
            shown.append(i)
    against_w1(ax, [w[i] for i in shown], [levels[i] for i in shown], name)
    ax.set_xlabel("mean pairwise distance $W_1$")


def errors_and_drift(w1: Sequence[float], errors: Mapping[str, Errors], drift: Mapping[str, np.ndarray]) -> Figure:
    """Figs. 4A, B and 5A, B: title -> errors, and the drift of the weights, over W1 and the number of subdomains."""
    fig, axes = panels(1, len(errors) + 1, size=(7.8 / (len(errors) + 1), 3.0))
    for ax, (title, of) in zip(axes[0], errors.items(), strict=False):
        error_curves(ax, w1, of)
        with_levels(ax, w1, of.subdomains, f"{title}\nsubdomains")
        ax.set_ylabel("relative $L^2$ error")
    first = next(iter(errors))
    drift_curves(axes[0, -1], w1, drift)
    with_levels(axes[0, -1], w1, errors[first].subdomains, f"{first}\nsubdomains")
    axes[0, -1].set(ylabel="relative weight divergence", yscale="linear")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=4)
    fig.legend(*axes[0, -1].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return fig


def more_clients(w1: Mapping[str, Sequence[float]], errors: Mapping[int, Errors]) -> Figure:
    """Fig. 6: A to C, all ways with 3, 4, 5 clients over W1 (as far as there are so many); D, the federations.

    errors: K -> errors; w1: K as text, as in result files -> [levels].
    """
    many = [K for K in errors if K > 2]
    fig, axes = panels(1, len(many) + 1, size=(2.5, 3.0))
    for ax, K in zip(axes[0], many, strict=False):
        error_curves(ax, w1[str(K)], errors[K])
        with_levels(ax, w1[str(K)], errors[K].parts, f"K = {K}\nblocks per axis s", 0.0)
    last = axes[0, -1]
    for K, style in zip(errors, ordered(len(errors)), strict=True):
        seeds_and_median(last, errors[K].parts, errors[K].federated, f"federated, K = {K}", **style)
    central_line(last, errors[2].central)
    for axis in (last.xaxis, last.yaxis):
        log_axis(axis)
    last.set(xlabel="blocks per axis s", title="federations and centralised\n")
    axes[0, 0].set_ylabel("relative $L^2$ error")
    widest = axes[0, -2] if many else last
    fig.legend(*widest.get_legend_handles_labels(), loc="outside upper left", ncols=4)
    fig.legend(*last.get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return fig


def variants(errors: Mapping[str, np.ndarray], labels: Sequence[str]) -> Figure:
    """Errors of variants, name -> [S, levels], over five or so levels at most; labels: a name per level."""
    fig, ((ax,),) = panels(size=(6.4, 0.8 + 0.35 * len(errors)))
    bars(ax, errors, labels)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return fig


def bars(ax, values: Mapping[str, np.ndarray], labels: Sequence[str]) -> None:
    """A bar to the median of [S, levels] for every name, and a dot for each seed."""
    height = 0.8 / len(labels)
    for j, (label, style) in enumerate(zip(labels, ordered(len(labels)), strict=True)):
        at = np.arange(len(values)) + j * height
        every = np.stack([np.asarray(v)[:, j] for v in values.values()])  # [variants, S]
        ax.barh(at, np.median(every, 1), height, color=style["color"], label=label)
        ax.plot(every, at, "o", ms=3, mfc="w", mec="0.3", mew=0.6, label="_seeds")
    ax.set_yticks(np.arange(len(values)) + 0.4 - height / 2, values)
    ax.invert_yaxis()
    ax.set_xlabel("relative $L^2$ error")
    log_axis(ax.xaxis)


def starts(drift: Mapping[str, tuple[Sequence[int], Mapping[str, np.ndarray]]]) -> Figure:
    """The drift of the weights with several kinds of starts: title -> (numbers of subdomains, layer -> [S, L])."""
    fig, axes = panels(1, len(drift), size=(3.4, 2.6), sharey=True)
    for ax, (title, (at, layers)) in zip(axes[0], drift.items(), strict=True):
        drift_curves(ax, at, layers)
        log_axis(ax.xaxis)
        ax.set(xlabel="subdomains 2 p", title=title)
    axes[0, 0].set_ylabel("relative weight divergence")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
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
