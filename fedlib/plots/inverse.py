"""Pictures of inverse problems: coefficients on their way to the truth, and the fields that come with them."""

from collections.abc import Mapping, Sequence

import ipywidgets
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure

from ..federated.heterogeneity import mean_pairwise_w1
from ..problems.wake import NX, NY, Wake
from .style import CLIENTS, COLORS, band, log_axis, panels, percent
from .widgets import explore

EXTENT = (1, 8, -2, 2)  # the wake's window, diameters


MARKERS = "osD^v"


def blues(n: int) -> list[str]:
    """n colours from light to dark around the federation's blue, for several federations in one picture."""
    tints = LinearSegmentedColormap.from_list("federated", [COLORS["light"], COLORS["federated"], "#002F52"])
    return [to_hex(tints(t)) for t in (np.linspace(0, 1, n) if n > 1 else [0.5])]


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


def wake_fields(fields: Mapping[str, np.ndarray], x: np.ndarray, slabs: Mapping[int, Sequence[np.ndarray]]) -> Figure:
    """Above fields of the wake, below who observes it where.

    Args:
        fields: title -> [ny, nx]. x [N, 2 or 3]: points. slabs: n -> index array of each client, as many n as fields
            at most.
    """
    fig, axes = panels(2, len(fields), size=(2.7, 1.8))
    for ax, (title, field) in zip(axes[0], fields.items(), strict=True):
        fig.colorbar(wake_map(ax, field, title), ax=ax, shrink=0.7)
    for ax in axes[1, len(slabs) :]:
        ax.set_axis_off()
    for ax, (n, own) in zip(axes[1], slabs.items(), strict=False):
        observed(ax, x, own, n)
    fig.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2, markerscale=3)
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


def model_styles(levels: Sequence[int], centralised: Sequence[str]) -> dict[str, dict]:
    """Lines of the flow's models: "n = 2", ... in blues with markers of their own, centralised ones in green."""
    marked = {
        f"n = {n}": {"color": color, "marker": MARKERS[i % 5], "ms": 4, "markevery": (0.03 * i, 0.2)}
        for i, (n, color) in enumerate(zip(levels, blues(len(levels)), strict=True))
    }
    dashes = {label: {"color": COLORS["centralised"], "ls": ls} for label, ls in zip(centralised, "-:", strict=False)}
    return marked | dashes


def pressures(truth: np.ndarray, models: Mapping[str, np.ndarray]) -> Figure:
    """The true pressure [ny, nx] and that of each model, named with its error."""
    fields = {"true p": truth} | {f"{label}: e = {percent(p, truth):.3g} %": p for label, p in models.items()}
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


def settling_times(
    tolerances: Sequence[float], times: Mapping[str, np.ndarray], printed: Mapping[str, np.ndarray], styles: Mapping
) -> Figure:
    """Epochs until each coefficient stays within each tolerance (%) of the truth, printed and ours (Table 2).

    Args:
        times, printed: label -> [2, tolerances] in thousands, NaN for never; styles: label -> properties of the line.
    """
    fig, axes = panels(1, 2, size=(3.6, 2.8), sharey=True)
    at = range(len(tolerances))
    for i, ax in enumerate(axes[0]):
        for label, ours in times.items():
            style = {"marker": "o", "ms": 5} | {k: v for k, v in styles[label].items() if k != "markevery"}
            if np.isfinite(printed[label]).any():
                ax.plot(at, printed[label][i], **(style | {"ls": "--", "lw": 0.8, "mfc": "none"}),
                        label=f"{label}, paper")  # fmt: skip
            ax.plot(at, ours[i], label=label, **style)
        ax.set(xlabel="within (%)", title=f"$C_{i + 1}$", xticks=at, xticklabels=tolerances)
        ax.set_xlim(-0.3, len(tolerances) - 0.7)
        log_axis(ax.yaxis)
    axes[0, 0].set_ylabel("epochs to stay there (thousands)")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return fig


def errors_and_divergence(w: Sequence[float], errors: Mapping, divergence: Mapping[str, np.ndarray]) -> Figure:
    """Errors of u and k against W1, and how far the weights are from the centralised ones (FedSciML, Fig. 11).

    Args:
        w [levels], rising. errors: name -> kind of model -> [seeds, levels] (%). divergence: name -> [seeds, levels,
            layers].
    """
    fig, axes = panels(2, len(errors), size=(3.8, 2.2))
    for column, name in zip(axes.T, errors, strict=True):
        for kind, marker in zip(errors[name], "sod", strict=True):
            band(column[0], w, errors[name][kind], COLORS[kind], kind, marker=marker, ms=4)
        layers = np.moveaxis(np.maximum(divergence[name], 1e-6), -1, 0)
        for j, (values, color) in enumerate(zip(layers, blues(len(layers)), strict=True)):
            band(column[1], w, values, color, f"layer {j + 1}", marker=MARKERS[j % 5], ms=4)
        column[0].set(ylabel="error (%)", title=name)
        column[1].set(xlabel="$W_1$", ylabel="weight divergence", title=f"network for {name}")
    for ax in axes.ravel():
        log_axis(ax.xaxis)
        log_axis(ax.yaxis)
    for ax in axes[:, -1]:
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
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


def draw_flow(models: Mapping[str, Mapping], truth: np.ndarray, values, model: str, at: int = -1) -> Figure:
    """The picture of ``wake_view`` for one model at the at-th recorded round; all share the limits of C1 and C2.

    Args:
        models: label -> {"rounds" [V], "C" [V, 2], "p" [V, ny, nx]}; truth [ny, nx]: pressure; values: true C1, C2.
    """
    limits = coefficient_limits([m["C"][None] for m in models.values()], values)
    m = models[model]
    return wake_view(m["rounds"], m["C"], m["p"], truth, values, range(len(m["rounds"]))[at], limits, model)


def wake_explorer(models: Mapping[str, Mapping], truth: np.ndarray, values: Sequence[float]) -> ipywidgets.VBox:
    """Scrub through the trainings of the flow; arguments as of ``draw_flow``."""
    rounds = next(iter(models.values()))["rounds"]
    return explore(
        lambda model, moment: draw_flow(models, truth, values, model, rounds.index(moment)),
        "left both coefficients on their way to the truth, right the true pressure and the model's, which it never saw",
        model=ipywidgets.Dropdown(options=list(models)),
        moment=ipywidgets.SelectionSlider(options=rounds, value=rounds[len(rounds) // 2], description="after round"),
    )


def reaction_view(
    x: np.ndarray, truth: Mapping[str, np.ndarray], models: Mapping[str, Mapping[str, np.ndarray]],
    clouds: Sequence[np.ndarray], titles: tuple[str, str] = ("u", "k"),
) -> Figure:  # fmt: skip
    """u and k of some models, and who observes u where.

    Args:
        x [n]; truth: {"u": [n], "k": [n]}; models: label -> the same; the label starts with "isolated", "federated" or
            "centralised". clouds: each client's observation points. titles: of the two panels.
    """
    fig, ((left, right),) = panels(1, 2, size=(4.2, 2.6))
    for ax, name in ((left, "u"), (right, "k")):
        ax.plot(x, truth[name], color=COLORS["truth"], lw=2.5, alpha=0.5, label="truth")
        for j, (label, fields) in enumerate(models.items()):
            kind = label.split()[0]
            dash = ("--", ":")[j % 2] if kind == "isolated" else "-"
            error = ", ".join(f"e({m}) = {error_text(fields[m], truth[m])} %" for m in "uk")
            ax.plot(x, fields[name], color=COLORS[kind], ls=dash, lw=1.5, label=f"{label}: {error}")
        spread = np.ptp(truth[name])
        ax.set(xlabel="x", ylabel=name)
        ax.set_ylim(truth[name].min() - 0.4 * spread, truth[name].max() + 0.4 * spread)
    for k, own in enumerate(clouds):
        left.plot(own, np.full(len(own), 0.05 * (k + 1)), "|", ms=8, mew=2, color=CLIENTS[k], clip_on=False,
                  transform=left.get_xaxis_transform())  # fmt: skip
    fig.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    left.set_title(titles[0])
    right.set_title(titles[1])
    return fig


def error_text(prediction: np.ndarray, truth: np.ndarray) -> str:
    """Relative error in % with three digits: 1.07, 5420."""
    return f"{float(f'{percent(prediction, truth):.3g}'):g}"


def draw_reaction(x, truth, xk, shards, histories: Mapping[int, Mapping], n: int, at: int = -1) -> Figure:
    """The picture of ``reaction_view`` for n subdomains at the at-th recorded round.

    Args:
        xk [points]; shards: n -> index array of each client. histories: n -> label -> {"rounds" [V], "u", "k" [V, x]}.
    """
    models = {label: {name: history[name][at] for name in "uk"} for label, history in histories[n].items()}
    r = next(iter(histories[n].values()))["rounds"][at]
    clouds = [xk[own] for own in shards[n]]
    titles = f"{n} subdomains, $W_1$ = {mean_pairwise_w1(clouds):.3f}", f"after round {r}"
    return reaction_view(x, truth, models, clouds, titles)


def reaction_explorer(x, truth, xk, shards, histories: Mapping[int, Mapping]) -> ipywidgets.VBox:
    """Pick a partition and scrub through its training; arguments as of ``draw_reaction``."""
    rounds = next(iter(next(iter(histories.values())).values()))["rounds"]
    return explore(
        lambda n, moment: draw_reaction(x, truth, xk, shards, histories, n, rounds.index(moment)),
        "left u, right the reaction rate k: truth, clients alone, federation and centralised model",
        n=ipywidgets.SelectionSlider(options=list(histories), description="subdomains n"),
        moment=ipywidgets.SelectionSlider(options=rounds, value=rounds[len(rounds) // 2], description="after round"),
    )
