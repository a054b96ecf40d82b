"""Fig. 11 of FedSciML as we see it: errors and weight divergence of all seeds against W1, and what k and u look like.

Results are bimodal where clients are far apart, so lines are medians and every seed is a dot; no bands.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ..federated.history import History
from ..notebook.pictures import SHAPES, against_w1, seeds_and_median
from ..notebook.style import CLIENTS, COLORS, panels
from .inverse import MARKERS, blues


def fields_panel(ax, x: np.ndarray, truth: np.ndarray, models: Mapping[str, np.ndarray], name: str) -> None:
    """The truth [x] with every seed of the federation and of the centralised model, and one of each client alone.

    models: "federated", "centralised" [seeds, x], "isolated" [clients, x].
    """
    for j, u in enumerate(models["isolated"]):
        ax.plot(x, u, "--", lw=1, color=CLIENTS[j], label=f"client {j + 1} alone")
    for kind in ("centralised", "federated"):
        for s, u in enumerate(models[kind]):
            ax.plot(x, u, lw=1, alpha=0.6, color=COLORS[kind], label=f"{kind}, each seed" if s == 0 else "_seed")
    ax.plot(x, truth, ":", color=COLORS["truth"], lw=2, label="truth", zorder=4)
    spread = np.ptp(truth)
    ax.set(xlabel="x", ylabel=name, ylim=(truth.min() - 0.5 * spread, truth.max() + 0.5 * spread))


def figure_11(
    w: Sequence[float], levels: Sequence[int], errors: Mapping, divergence: Mapping[str, np.ndarray],
    x: np.ndarray, truth: Mapping[str, np.ndarray], fields: Mapping[int, Mapping[str, Mapping]],
) -> Figure:  # fmt: skip
    """Row A: k, row B: u; errors, weight divergence, the coarsest and the finest level.

    Args:
        w, levels: W1 falls as levels rise. errors: kind -> "u", "k" -> [seeds, levels] (%). divergence: "u", "k" ->
            [seeds, levels, matrices]. x [n]; truth: "u", "k" -> [n]; fields: level -> "u", "k" -> kind -> [.., n].
    """
    fig, axes = panels(2, 4, size=(2.9, 2.5))
    for row, name in zip(axes, "ku", strict=True):
        for kind in [kind for kind in SHAPES if kind in errors]:
            seeds_and_median(row[0], w, errors[kind][name], kind, color=COLORS[kind], marker=SHAPES[kind])
        layers = np.moveaxis(np.maximum(divergence[name], 1e-6), -1, 0)
        for j, (values, color) in enumerate(zip(layers, blues(len(layers)), strict=True)):
            seeds_and_median(row[1], w, values, f"matrix {j + 1}", color=color, marker=MARKERS[j % 5])
        for ax, ylabel in zip(row, (f"error of {name} (%)", f"divergence, network for {name}"), strict=False):
            against_w1(ax, w, levels, "subdomains n" * (name == "k"))
            ax.set_ylabel(ylabel)
        for ax, n in zip(row[2:], (levels[0], levels[-1]), strict=True):
            fields_panel(ax, x, truth[name], fields[n][name], name)
            ax.set_title(f"n = {n}" if name == "k" else "")
    handles = [h for ax in axes[0, :3] for h in zip(*ax.get_legend_handles_labels(), strict=True)]
    fig.legend(*zip(*handles, strict=True), loc="outside lower center", ncols=6)
    return fig


def by_points(w: Sequence[float], levels: Sequence[int], errors: Mapping[str, Mapping], name: str = "k") -> Figure:
    """Errors of k against W1, a panel for each choice of residual points; all share the axis of errors.

    errors: title -> kind -> "u", "k" -> [seeds, levels] (%), of the kinds that were trained.
    """
    fig, (axes,) = panels(1, len(errors), size=(2.9, 2.7), sharey=True)
    for ax, (title, of) in zip(axes, errors.items(), strict=True):
        for kind in [kind for kind in SHAPES if kind in of]:
            seeds_and_median(ax, w, of[kind][name], kind, color=COLORS[kind], marker=SHAPES[kind])
        ax.axhline(5, color="0.6", lw=0.8, ls=":", label="5 %")
        ax.set_title(title)
    for ax in axes:
        against_w1(ax, w, levels, "subdomains n")
    axes[0].set_ylabel(f"error of {name} (%)")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return fig


def fields_of(history: History, levels: Sequence[int], seed: int) -> dict[int, dict[str, dict[str, np.ndarray]]]:
    """What ``figure_11`` draws, of a history of ``problems.reaction.federations``: all seeds, of the isolated one."""
    found = {}
    for n in levels:
        found[n] = {}
        for name in "uk":
            of = {kind: history.last(name, kind=kind, n=level, client=0).transpose("seed", ...).values
                  for kind, level in (("federated", n), ("centralised", None))}  # fmt: skip
            alone = history.last(name, kind="isolated", n=n, seed=seed).transpose("client", ...).values
            found[n][name] = of | {"isolated": alone}
    return found
