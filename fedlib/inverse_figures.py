"""Pictures of inverse problems: coefficients on their way to the truth, and the fields that come with them."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from .figures import CLIENTS, COLORS, band, panels, percent

EXTENT = (1, 8, -2, 2)  # the wake's window, diameters


def wake_map(ax, field: np.ndarray, title: str, **style):
    """One field of the wake [ny, nx] as a picture."""
    shown = ax.imshow(field, origin="lower", extent=EXTENT, aspect="equal", **({"cmap": "cividis"} | style))
    ax.set(xlabel="x", ylabel="y", title=title)
    return shown


def observed(ax, x: np.ndarray, own: Sequence[np.ndarray], n: int) -> None:
    """Where each client observes the flow: points x [N, 2 or 3], n slabs."""
    for k, mine in enumerate(own):
        ax.plot(*x[mine, :2].T, "o", ms=1.5, mew=0, color=CLIENTS[k], label=f"client {k + 1}", rasterized=True)
    for cut in np.linspace(1, 8, n + 1)[1:-1]:
        ax.axvline(cut, color="0.6", lw=0.6)
    ax.set(xlabel="x", ylabel="y", xlim=(1, 8), ylim=(-2, 2), aspect="equal", title=f"observations, n = {n}")


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
    for i, ax in enumerate(axes):
        for label, values in C.items():
            band(ax, rounds, values[..., i], label=label, **({"marker": None} | styles[label]))
        ax.axhline(truth[i], color=COLORS["truth"], lw=1, ls="--", label="truth")
        late = np.concatenate([v[:, v.shape[1] // 4 :, i].ravel() for v in C.values()])  # the start may be far off
        low, high = np.clip([late.min(), late.max()], -6 * truth[i], 6 * truth[i])
        ylim = min(low, 0) - 0.1 * truth[i], max(high, 1.2 * truth[i]) + 0.1 * truth[i]
        ax.set(xlabel="round (E = 1)", ylabel=f"$C_{i + 1}$", ylim=ylim)


def wake_view(
    rounds: Sequence[int], C: np.ndarray, p: np.ndarray, truth: np.ndarray, values: Sequence[float], at: int,
    title: str = "",
) -> Figure:  # fmt: skip
    """One model at one moment of its training: C1, C2 so far, and the pressure that it never saw.

    Args:
        rounds [V]; C [V, 2]; p [V, ny, nx], truth [ny, nx]: pressure, mean zero; values: true C1, C2.
        at: index into rounds.
    """
    if not 0 <= at < len(rounds):
        raise ValueError(f"at = {at}: expected an index of the {len(rounds)} recorded rounds")
    fig = Figure((8.4, 3.6), layout="constrained")
    left, right = fig.subfigures(1, 2, width_ratios=(1, 1.1))
    for i, ax in enumerate(left.subplots(2, 1, sharex=True)):
        ax.axhline(values[i], color=COLORS["truth"], lw=1, ls="--", label="truth")
        ax.plot(rounds, C[:, i], color=COLORS["light"], lw=1)
        ax.plot(rounds[: at + 1], C[: at + 1, i], color=COLORS["federated"])
        ax.plot(rounds[at], C[at, i], "o", color=COLORS["federated"], label=f"{C[at, i]:.4g}")
        low, high = np.quantile(C[:, i], [0.02, 0.98])
        low, high = min(low, 0), max(high, values[i])
        ax.set(ylabel=f"$C_{i + 1}$", ylim=(low - 0.1 * (high - low), high + 0.1 * (high - low)))
        ax.legend(loc="upper left", bbox_to_anchor=(0.5, 1.25), ncols=2)
    ax.set_xlabel("round")
    top = np.abs(truth).max()
    maps = right.subplots(2, 1, sharex=True)
    for ax, field, name in zip(
        maps, (truth, p[at]), ("true p", f"p after round {rounds[at]}: e = {percent(p[at], truth):.3g} %"), strict=True
    ):
        shown = wake_map(ax, field, name, cmap="RdBu_r", vmin=-top, vmax=top)
    maps[0].set_xlabel("")
    right.colorbar(shown, ax=maps, label="p (mean zero)")
    fig.suptitle(title, fontsize=9)
    return fig


def reaction_view(
    x: np.ndarray, truth: Mapping[str, np.ndarray], models: Mapping[str, Mapping[str, np.ndarray]],
    clouds: Sequence[np.ndarray], title: str = "",
) -> Figure:  # fmt: skip
    """u and k of some models, and who observes u where.

    Args:
        x [n]; truth: {"u": [n], "k": [n]}; models: label -> the same; the label starts with "isolated", "federated" or
            "centralised". clouds: each client's observation points.
    """
    fig, ((left, right),) = panels(1, 2, size=(4.2, 2.9))
    for ax, name in ((left, "u"), (right, "k")):
        ax.plot(x, truth[name], color=COLORS["truth"], lw=2.5, alpha=0.5, label="truth")
        alone = 0
        for label, fields in models.items():
            kind = label.split()[0]
            dash = ("--", ":", "-.")[alone % 3] if kind == "isolated" else "-"
            alone += kind == "isolated"
            error = percent(fields[name], truth[name])
            ax.plot(x, fields[name], color=COLORS[kind], ls=dash, lw=1.2, label=f"{label}: e = {error:.3g} %")
        spread = np.ptp(truth[name])
        ax.set(xlabel="x", ylabel=name)
        ax.set_ylim(truth[name].min() - 0.4 * spread, truth[name].max() + 0.4 * spread)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), fontsize=7, ncols=1)
    for k, own in enumerate(clouds):
        left.plot(own, np.full(len(own), 0.04 * (k + 1)), "|", ms=6, color=CLIENTS[k], clip_on=False,
                  transform=left.get_xaxis_transform())  # fmt: skip
    fig.suptitle(title, fontsize=9)
    return fig
