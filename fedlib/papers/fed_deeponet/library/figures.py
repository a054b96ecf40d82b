"""Figures and tables of notebook 03, functions of labelled arrays."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ....notebook.pictures import curves
from ....notebook.style import CLIENTS, COLORS, OTHERS, panels, shards
from ....numerics.metrics import in_percent
from ..trainings import joined, last
from .problem import DEALT
from .study import Results


def blind(x: np.ndarray) -> np.ndarray:
    """One answer [..., m] for all pendulums [..., K, m] of a family: their mean."""
    return x.mean(-2)


def blind_error(x: np.ndarray) -> np.ndarray:
    """Mean error (%) of that answer over the pendulums [..., K, m] -> [...]."""
    off = np.linalg.norm(x - blind(x)[..., None, :], axis=-1) / np.linalg.norm(x, axis=-1)
    return 100 * off.mean(-1)


def families(x: Mapping[float, np.ndarray]) -> Figure:
    """Seconds T -> angles [K, m] of one torque and K pendulums, the last one the stiffest; and the one curve for all
    that whoever is not told the stiffness has to draw."""
    fig, (axes,) = panels(1, len(x), size=(3.4, 2.5))
    for ax, (T, angles) in zip(axes, x.items(), strict=True):
        t = np.linspace(0, T, angles.shape[-1])
        for i, angle in enumerate(angles):
            label = {0: "softest", len(angles) - 1: "stiffest"}.get(i, "_family")
            ax.plot(t, angle, color=str(0.8 - 0.6 * i / (len(angles) - 1)), lw=1, label=label)
        ax.plot(t, blind(angles), "--", color=OTHERS[0], lw=3, label="one curve for all")
        ax.set(xlabel="t (s)", title=f"{T:g} s: one curve is off by {in_percent(blind_error(angles))}")
    axes[0].set_ylabel("angle $x_1$ (rad)")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


def stiffness(dealt: Mapping[str, tuple[np.ndarray, Sequence[np.ndarray]]]) -> Figure:
    """Stiffnesses of ten clients; dealt: "mixed" or "own" -> k of each triplet, and the triplets of each client."""
    fig, (axes,) = panels(1, len(dealt), size=(3.2, 2.2), sharex=True, sharey=True)
    for ax, (name, (k, owners)) in zip(axes, dealt.items(), strict=True):
        some = np.linspace(0, len(owners) - 1, min(len(owners), 10)).round().astype(int)
        shards([k[owners[c]] for c in some], ax, "stiffness k (1/s$^2$)", ms=8)
        title = "every example has its k" if name == "mixed" else "every client has its k"
        ax.set(title=f"{name}: {title}", ylabel="", yticks=range(len(some)), yticklabels=some + 1)
    axes[0].set_ylabel("client")
    return fig


LOOKS = {
    "federated, told": {"color": COLORS["federated"]},
    "federated, hidden": {"color": COLORS["federated"], "mfc": "none", "ls": "--"},
    "client 1 alone": {"color": CLIENTS[0], "marker": "s"},
    "one place": {"color": COLORS["centralised"], "marker": "d"},
    "floor, k hidden": {"color": OTHERS[4], "ls": ":", "marker": "_"},
}


def told_or_not(results: Results) -> Figure:
    """Error (%) where stiffnesses are mixed, and where each client has its own, a panel for each number of seconds: the
    federation, told k or not, client 1 alone, one model with all triplets, the floor of whoever is not told k."""
    seconds, cases = results.cases.level.values, last(results.cases)
    mixed_or_own = {
        f"federated, {what}": joined({dealt: cases.sel(case=f"{dealt}, {what}") for dealt in DEALT}, "dealt")
        for what in ("told", "hidden")
    }
    if results.alone:
        mixed_or_own["client 1 alone"] = last(results.alone).expand_dims(dealt=["own"])
    if results.centralised:
        mixed_or_own["one place"] = last(results.centralised).sel(work="same passes").expand_dims(dealt=["mixed"])
    mixed_or_own["floor, k hidden"] = results.floor
    errors = joined(mixed_or_own, "who").rename(None)
    errors["dealt"].attrs["long_name"] = "stiffnesses: an example's, or a client's"
    errors = errors.assign_attrs(long_name="error")
    panels = {f"pendulums swing for {T:g} s": errors.sel(level=T, drop=True) for T in seconds}
    return curves(panels, "dealt", "who", looks=LOOKS.get, size=(3.9, 2.9), share=True)


TOLD_HEADER = ("seconds", "told", "hidden", "times worse", "floor (%)")


def told_rows(results: Results, dealt: str = "mixed") -> list[list[str]]:
    """Rows of TOLD_HEADER: median errors (%), and the effect of hiding k, seed by seed: median and its range."""
    errors, rows = last(results.cases), []
    for T in errors.level.values:
        with_k, without = (errors.sel(case=f"{dealt}, {what}", level=T).dropna("seed") for what in ("told", "hidden"))
        ratio = (without / with_k).dropna("seed")
        cells = (f"{values.median().item():.2f}" for values in (with_k, without))
        worse = f"{ratio.median().item():.2f} ({ratio.min().item():.2f} to {ratio.max().item():.2f})"
        rows.append([f"{T:g}", *cells, worse, f"{results.floor.sel(level=T).item():.2f}"])
    return rows
