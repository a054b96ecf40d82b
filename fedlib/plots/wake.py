"""Pictures of the flow behind a cylinder: who observes it where, and the pressure that a model makes of it."""

from collections.abc import Mapping, Sequence

import ipywidgets
import numpy as np
from matplotlib.figure import Figure

from ..live.widgets import choice, explore, slider
from ..notebook.style import CLIENTS, COLORS, panels
from ..numerics.metrics import percent
from ..problems.flow_study import GAINS
from ..problems.wake import NX, NY, Wake
from .inverse import coefficient_limits, label

EXTENT = (1, 8, -2, 2)  # the wake's window, diameters


def wake_map(ax, field: np.ndarray, title: str, **style):
    """One field of the wake [ny, nx] as a picture."""
    shown = ax.imshow(field, origin="lower", extent=EXTENT, aspect="equal", **({"cmap": "cividis"} | style))
    ax.set(xlabel="x (diameters)", ylabel="y", title=title)
    return shown


def observed(ax, x: np.ndarray, own: Sequence[np.ndarray], n: int) -> None:
    """Where each client observes the flow: points x [N, 2 or 3], n slabs."""
    for k, mine in enumerate(own):
        ax.plot(*x[mine, :2].T, "o", ms=2, mew=0, color=CLIENTS[k], label=f"client {k + 1}", rasterized=True)
    for cut in np.linspace(1, 8, n + 1)[1:-1]:
        ax.axvline(cut, color="0.6", lw=0.6)
    ax.set(xlabel="x (diameters)", ylabel="y", xlim=(1, 8), ylim=(-2, 2), aspect="equal",
           title=f"observations, n = {n}")  # fmt: skip


def first_look(wake: Wake, x: np.ndarray, own: Sequence[np.ndarray]) -> Figure:
    """The problem: what the clients observe, points x [N, 2 or 3] over the velocity, and the pressure, never seen."""
    fig, ((left, right),) = panels(1, 2, size=(3.9, 2.2))
    u, p = (np.reshape(field[..., 0], (NY, NX)) for field in (wake.u[:, 0], wake.p))
    observed(left, x, own, len(own))
    wake_map(left, u, "velocity u, and where two clients observe it", cmap="Greys_r")
    wake_map(right, p - p.mean(), "pressure p, observed by nobody", cmap="RdBu_r", vmin=-0.4, vmax=0.4)
    fig.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=2, markerscale=3)
    return fig


def wake_fields(wake: Wake, x: np.ndarray, slabs: Mapping[int, Sequence[np.ndarray]]) -> Figure:
    """Above the fields of the wake at the middle time, below who observes it where, at three of the levels.

    Args:
        x [N, 2 or 3]: points. slabs: n -> index array of each client.
    """
    fig, axes = panels(2, 3, size=(2.7, 1.8))
    middle, levels = len(wake.t) // 2, list(slabs)
    fields = (*wake.u[..., middle].T, wake.p[:, middle])
    for ax, name, field in zip(axes[0], "uvp", fields, strict=True):
        shown = wake_map(ax, field.reshape(NY, NX), f"{name} at t = {wake.t[middle]:g}")
        fig.colorbar(shown, ax=ax, shrink=0.7)
    some = list(dict.fromkeys((levels[0], levels[len(levels) // 2], levels[-1])))
    for ax in axes[1, len(some) :]:
        ax.set_axis_off()
    for ax, n in zip(axes[1], some, strict=False):
        observed(ax, x, slabs[n], n)
    fig.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2, markerscale=3)
    return fig


def pressures(truth: np.ndarray, models: Mapping[tuple, np.ndarray]) -> Figure:
    """The true pressure [ny, nx] and that of each model, [ny nx] at the end, named with its error."""
    fields = {"true p": truth} | {
        f"{label(*model)}: e = {percent(p, truth.ravel()):.3g} %": p.reshape(truth.shape) for model, p in models.items()
    }
    columns = min(3, len(fields))
    fig, axes = panels(-(-len(fields) // columns), columns, size=(2.7, 1.9), sharex=True, sharey=True)
    top = np.abs(truth).max()
    for ax in axes.ravel()[len(fields) :]:
        ax.set_axis_off()
    for ax, (title, p) in zip(axes.ravel(), fields.items(), strict=False):
        image = wake_map(ax, p, title, cmap="RdBu_r", vmin=-top, vmax=top)
    for ax in axes.ravel():
        ax.label_outer()
    fig.colorbar(image, ax=axes, label="p (mean zero)", shrink=0.8)
    return fig


def wake_view(
    rounds: Sequence[int], C: np.ndarray, p: np.ndarray, truth: np.ndarray, values: Sequence[float], at: int,
    limits: Sequence[tuple[float, float]], title: str = "",
) -> Figure:  # fmt: skip
    """One model at one moment of its training: C1, C2 so far, and the pressure that it never saw.

    Args:
        rounds [V]; C [V, 2]; p [V, ny, nx], truth [ny, nx]: pressure, mean zero; values: true C1, C2.
        at: index into rounds. limits: of the axes of C1 and C2.
    """
    if not 0 <= at < len(rounds):
        raise ValueError(f"at = {at}: expected an index of the {len(rounds)} recorded rounds")
    fig, axes = panels(2, 2, size=(4.2, 1.8), sharex="col")
    for i, ax in enumerate(axes[:, 0]):
        ax.axhline(values[i], color=COLORS["truth"], lw=1, ls="--")
        ax.plot(rounds, C[:, i], color=COLORS["light"], lw=2.5, alpha=0.5)
        ax.plot(rounds[: at + 1], C[: at + 1, i], color=COLORS["federated"])
        ax.plot(rounds[at], C[at, i], "o", color=COLORS["federated"])
        ax.set(ylabel=f"$C_{i + 1}$", ylim=limits[i], xlim=(0, 1.03 * rounds[-1]))
        ax.set_title(f"$C_{i + 1}$ = {C[at, i]:.4g}, truth (dashed) {values[i]:g}")
    axes[1, 0].set_xlabel("round")
    top = np.abs(truth).max()
    style = {"cmap": "RdBu_r", "vmin": -top, "vmax": top}
    wake_map(axes[0, 1], truth, "true p", **style)
    shown = wake_map(axes[1, 1], p[at], f"p after round {rounds[at]}: e = {percent(p[at], truth):.3g} %", **style)
    axes[0, 1].set_xlabel("")
    fig.colorbar(shown, ax=axes[:, 1], label="p (mean zero)")
    fig.suptitle(title, fontsize=9)
    return fig


def trained_flows(
    rounds: Sequence[int], C: Mapping[tuple, np.ndarray], p: Mapping[tuple, np.ndarray], seeds: Sequence[int],
    most: int = 100,
) -> dict[str, dict]:  # fmt: skip
    """What ``draw_flow`` takes, of every model and seed: C: model -> [seeds, V, 2], p: model -> [seeds, V, ny nx].

    At most so many of the V moments, always the last one. p of one moment only, [seeds, 1, ny nx]: that at the end.
    """
    found, some = {}, range(len(rounds) - 1, -1, -max(1, -(-len(rounds) // most)))[::-1]
    rounds, C = [rounds[v] for v in some], {model: c[:, some] for model, c in C.items()}
    p = {model: of_p if of_p.shape[1] == 1 else of_p[:, some] for model, of_p in p.items()}
    for model in C:
        name = f"federated, {label(*model)}" if model[0] in GAINS else f"{label(*model)} observations"
        for s, of_C, of_p in zip(seeds, C[model], p[model], strict=False):
            found[f"{name}, seed {s}" if len(seeds) > 1 else name] = {"rounds": rounds, "C": of_C, "p": of_p}
    return found


def draw_flow(models: Mapping[str, Mapping], truth: np.ndarray, values, model: str, at: int = -1) -> Figure:
    """The picture of ``wake_view`` for one model at the at-th recorded round; all share the limits of C1 and C2.

    Args:
        models: label -> {"rounds" [V], "C" [V, 2], "p" [V, ny nx]}; truth [ny, nx]: pressure; values: true C1, C2.
    """
    limits = coefficient_limits([m["C"][None] for m in models.values()], values)
    m = models[model]
    p = m["p"].reshape(-1, *truth.shape)
    p = p if len(p) > 1 else np.broadcast_to(p, (len(m["rounds"]), *truth.shape))
    return wake_view(m["rounds"], m["C"], p, truth, values, range(len(m["rounds"]))[at], limits, model)


def wake_explorer(models: Mapping[str, Mapping], truth: np.ndarray, values: Sequence[float]) -> ipywidgets.GridBox:
    """Scrub through the trainings of the flow; arguments as of ``draw_flow``."""
    rounds = next(iter(models.values()))["rounds"]
    return explore(
        lambda model, moment: draw_flow(models, truth, values, model, rounds.index(moment)),
        "left both coefficients on their way to the truth, right the true pressure and the model's, which it never saw",
        model=choice(list(models)),
        moment=slider(rounds, rounds[len(rounds) // 2], "after round"),
    )
