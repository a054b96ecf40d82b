"""Pictures of coefficients on their way to the truth.

A model is called by its kind and level, ("federated", 10), as in ``problems.flow_study``.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure

from ..notebook.style import COLORS, band, log_axis, panels
from ..problems.flow_study import GAINS

MARKERS = "osD^v"


def blues(n: int) -> list[str]:
    """n colours from light to dark around the federation's blue, for several federations in one picture."""
    tints = LinearSegmentedColormap.from_list("federated", [COLORS["light"], COLORS["federated"], "#002F52"])
    return [to_hex(tints(t)) for t in (np.linspace(0, 1, n) if n > 1 else [0.5])]


def distances(levels: Mapping, w: Mapping, lengths: Mapping[str, float]) -> Figure:
    """W1 of the clients' x against the number of subdomains n, beside length / n.

    Args:
        levels, w, lengths: name of a problem -> n's, W1's, length of its interval; those of w are drawn.
    """
    fig, ((ax,),) = panels(size=(4.2, 2.5))
    for name, marker, face in zip(w, "os", ("0.2", "none"), strict=False):
        n, length = np.array(levels[name]), lengths[name]
        ax.plot(n, w[name], marker, color="0.2", mfc=face, label=name.replace("_", "-"))
        ax.plot(n, length / n, "--", color="0.6", lw=1, label=f"{length} / n")
    for axis in (ax.xaxis, ax.yaxis):
        log_axis(axis)
    ax.set(xlabel="subdomains n", ylabel="$W_1$ of the clients' x")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside right center")
    return fig


def coefficient_limits(C: Sequence[np.ndarray], truth: Sequence[float]) -> list[tuple[float, float]]:
    """Limits for curves of coefficients C [seeds, V, n]: without their first quarter, which may be far off."""
    limits = []
    for i, value in enumerate(truth):
        late = np.concatenate([v[:, v.shape[1] // 4 :, i].ravel() for v in C])
        low, high = np.clip([late.min(), late.max()], -6 * value, 6 * value)
        limits.append((min(low, 0) - 0.1 * value, max(high, 1.2 * value) + 0.1 * value))
    return limits


def coefficient_curves(
    axes,
    rounds: Sequence[int],
    C: Mapping[str, np.ndarray],
    truth: Sequence[float],
    styles: Mapping[str, Mapping],
) -> None:
    """Coefficients during training, mean over seeds with one st.dev. (FedSciML, Fig. 10).

    Args:
        axes: one per coefficient. rounds [V]; C: label -> [seeds, V, len(axes)]; styles: label -> color and
            other properties of its line.
    """
    limits = coefficient_limits(list(C.values()), truth)
    for i, ax in enumerate(axes):
        for label, values in C.items():
            band(ax, rounds, values[..., i], label=label, **({"marker": None} | styles[label]))
        ax.axhline(truth[i], color=COLORS["truth"], lw=1, ls="--", label="truth")
        ax.set(xlabel="round", ylabel=f"$C_{i + 1}$", ylim=limits[i])


def label(kind: str, n: int) -> str:
    """What a model is called in a legend."""
    return f"n = {n}{', summed C' * (kind == 'summed')}" if kind in GAINS else f"centralised, {n}"


def model_styles(models: Iterable[tuple[str, int]]) -> dict[tuple, dict]:
    """Lines of the flow's models: federations in blues with markers of their own, centralised ones in green."""
    federated, central = ([m for m in models if (m[0] in GAINS) == which] for which in (True, False))
    marked = {
        m: {"color": color, "marker": MARKERS[i % 5], "ms": 4, "markevery": (0.03 * i, 0.2)}
        for i, (m, color) in enumerate(zip(federated, blues(len(federated)), strict=True))
    }
    return marked | {m: {"color": COLORS["centralised"], "ls": ls} for m, ls in zip(central, "-:", strict=False)}


def training_view(rounds: Sequence[int], C: Mapping[tuple, np.ndarray], truth: Sequence[float]) -> Figure:
    """Both coefficients of all models during training (FedSciML, Fig. 10): C: model -> [seeds, V, 2]."""
    fig, axes = panels(1, 2, size=(3.8, 2.8))
    styles = {label(*model): style for model, style in model_styles(list(C)).items()}
    coefficient_curves(axes[0], rounds, {label(*model): c for model, c in C.items()}, truth, styles)
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return fig


def aliasing_view(rounds: Sequence[int], C: Mapping[tuple, np.ndarray], truth: Sequence[float]) -> Figure:
    """Coefficients with the mean and with the sum of the clients' steps: C: model -> [seeds, V, 2]."""
    levels = sorted(n for kind, n in C if kind == "summed")
    fig, axes = panels(2, len(levels), size=(3.9, 1.9), sharex=True)
    styles = {"mean": {"color": COLORS["federated"]}, "sum (aliased)": {"color": COLORS["other"], "lw": 2.5}}
    for column, n in zip(axes.T, levels, strict=True):
        both = dict(zip(styles, (C["federated", n], C["summed", n]), strict=True))
        coefficient_curves(column, rounds, both, truth, styles)
        column[0].set(title=f"n = {n}", xlabel="")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center")
    return fig
