"""Pictures of client drift: the plane of two clients, rules against problems, E, what a message costs, gradients."""

from collections.abc import Mapping, Sequence
from textwrap import fill

import ipywidgets
import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..live.widgets import explore, slider, span
from ..notebook.style import CLIENTS, COLORS, band, log_axis, panels
from ..numerics.metrics import mean_sd
from ..problems.drift_plane import Quadratics, walk

NAMES = {False: "FedAvg", True: "fresh correction"}


def plane(problem: Quadratics, E: int, rounds: int, lr: float = 0.5) -> Figure:
    """Two clients and their server over some rounds of E steps: left FedAvg, right with a fresh correction."""
    fig, (axes,) = panels(1, 2, size=(3.4, 3.2), sharex=True, sharey=True)
    grid = np.stack(np.meshgrid(np.linspace(-0.2, 2.3, 60), np.linspace(-0.2, 2.3, 60)), -1)
    best, rest = problem.optimum(), problem.fixed_point(E, lr)
    for ax, correct in zip(axes, NAMES, strict=True):
        found = walk(problem, correct, E, rounds, lr)
        ax.contour(*np.moveaxis(grid, -1, 0), problem.value(grid), 12, colors="0.85", linewidths=0.8)
        for c, steps in enumerate(np.moveaxis(found.local, 1, 0)):
            for r, own in enumerate(steps):
                label = f"client {c + 1}, {E} step{'s' * (E > 1)} a round" if r == 0 else None
                ax.plot(*own.T, ".-", color=CLIENTS[c], ms=4, lw=1.2, label=label)
        ax.plot(*found.theta.T, "o--", color=COLORS["federated"], ms=5, lw=1.5, label="server")
        ax.plot(*best, "*", color=COLORS["truth"], ms=13, label="best for both")
        ax.plot(*rest, "X", color=COLORS["paper"], ms=9, label="where FedAvg rests")
        off = np.linalg.norm(found.theta[-1] - best)
        ax.set(title=f"{NAMES[correct]}: {off:.2f} from the best", xlabel=r"$\theta_1$", aspect="equal")
    axes[0].set(ylabel=r"$\theta_2$", xlim=(-0.2, 2.3), ylim=(-0.2, 2.3))
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def plane_explorer(problem: Quadratics) -> ipywidgets.GridBox:
    """The drift widget: how many local steps, how many rounds, how large a step."""
    return explore(
        lambda **chosen: plane(problem, **chosen),
        "paths of two clients and of their server in the plane; FedAvg rests beside the best point",
        E=slider(range(1, 51), 5, "E"),
        rounds=slider(range(1, 31), 6, "rounds"),
        lr=slider(span(0.1, 1.5, 0.1), 0.5, "step size"),
    )


def in_short(errors: np.ndarray, lost: float = 1000) -> str:
    """Errors (%) [S] in few letters; a mean says nothing where some seeds are beyond ``lost``."""
    if not np.isfinite(errors).all():
        return "diverged"
    if beyond := int((errors > lost).sum()):
        return f"{beyond} of {len(errors)}\n> {lost:g}"
    mean, sd = mean_sd(errors)
    return f"{float(f'{mean:.2g}'):g}" + f" ± {float(f'{sd:.1g}'):g}" * (len(errors) > 1)


def matrix(errors: Mapping[str, Mapping[str, np.ndarray]], columns: Sequence[str]) -> Figure:
    """Problem -> column -> errors (%) [S] as a table: mean ± st.dev., darker where far above the row's best.

    Many columns are narrow, with the st.dev. below the mean, or the page would shrink them until nobody can read them.
    """
    means = np.array([[np.mean(row[c]) if c in row else np.nan for c in columns] for row in errors.values()])
    ratio = np.minimum(means / np.nanmin(means, 1, keepdims=True), 300)  # what diverged is darkest
    width, height, gap = (0.72, 0.5, "\n") if len(columns) > 8 else (1.15, 0.42, " ")
    fig, ((ax,),) = panels(size=(width * len(columns) + 1.6, height * len(errors) + 1.3))
    ax.imshow(ratio, cmap="Blues", norm=LogNorm(1, 300), aspect="auto")
    for i, row in enumerate(errors.values()):
        for j, column in enumerate(columns):
            if column in row:
                color = "w" if ratio[i, j] > 50 else "k"
                text = in_short(row[column]).replace(" ±", gap + "±")
                ax.text(j, i, text, ha="center", va="center", fontsize=8, color=color)
    ax.set_xticks(range(len(columns)), [fill(c, 11) for c in columns])
    ax.set_yticks(range(len(errors)), list(errors))
    ax.tick_params(length=0)
    ax.set_title("error (%); the darker, the further above the best of its row")
    return fig


LOOKS = {
    "FedAvg": {"color": COLORS["isolated"], "marker": "s"},
    "FedProx": {"color": CLIENTS[4], "marker": "d"},
    "FedAdam": {"color": CLIENTS[2], "marker": "P"},
    "FedYogi": {"color": COLORS["paper"], "marker": "X"},
    "SCAFFOLD": {"color": "0.5", "marker": "D"},
    "averaged second moments": {"color": "0.2", "marker": "<"},
    "averaged moments": {"color": COLORS["light"], "marker": "^"},
    "fresh correction": {"color": COLORS["other"], "marker": "v"},
    "fresh correction + averaged moments": {"color": COLORS["federated"], "marker": "o"},
    "Mime": {"color": COLORS["federated"], "marker": "p", "ls": ":"},
    "centralised": {"color": COLORS["centralised"], "marker": "", "ls": "--"},
}
"""A colour and a mark for every rule."""


def lines(ax, curves: Mapping[str, tuple[Sequence, np.ndarray]]) -> None:
    """name -> (x, errors (%) [S, len(x)]), mean with a band."""
    for name, (x, values) in curves.items():
        band(ax, x, values, **{"ms": 5, "label": name, "lw": 2} | LOOKS[name])


def grids(found: Mapping[str, Mapping[str, Mapping[float, float]]], columns: int = 4) -> Figure:
    """Problem -> rule -> rate -> validation error (%), infinite where training diverged; a panel for each problem."""
    rows = -(-len(found) // columns)
    fig, axes = panels(rows, min(columns, len(found)), size=(2.3, 2.0), sharex=True)
    for ax, (name, rules) in zip(axes.flat, found.items(), strict=False):
        for rule, errors in rules.items():
            at = sorted(errors)
            ax.plot(at, [errors[lr] if np.isfinite(errors[lr]) else np.nan for lr in at], ms=4, **LOOKS[rule])
        ax.set(title=name, xscale="log")
        log_axis(ax.yaxis)
    for ax in axes.flat[len(found) :]:
        ax.set_visible(False)
    for ax in axes[:, 0]:
        ax.set_ylabel("validation error (%)")
    for ax in axes.flat[max(0, len(found) - columns) : len(found)]:  # the lowest of each column
        ax.set_xlabel("learning rate")
        ax.tick_params(labelbottom=True)
    used = dict.fromkeys(rule for rules in found.values() for rule in rules)
    handles = [Line2D([], [], **LOOKS[rule]) for rule in used]
    fig.legend(handles, list(used), loc="outside upper center", ncols=3)
    return fig


def local_steps(curves: Mapping[str, tuple[Sequence, np.ndarray]], title: str) -> Figure:
    """Errors (%) against E at the same number of local steps in all: name -> (E, errors [S, len(E)])."""
    fig, ((ax,),) = panels(size=(4.6, 3.0))
    lines(ax, curves)
    ax.set(xlabel="local steps E between two synchronisations", ylabel="error e (%)", xscale="log", title=title)
    log_axis(ax.xaxis)
    log_axis(ax.yaxis)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig


def stale(found: Mapping[str, np.ndarray]) -> Figure:
    """How stale a correction is along the local steps: name -> [K, steps], a line for each client."""
    fig, ((ax,),) = panels(size=(4.6, 2.8))
    for color, (name, clients) in zip((COLORS["federated"], COLORS["other"]), found.items(), strict=False):
        for k, own in enumerate(clients):
            ax.plot(np.arange(1, len(own)), own[1:], color=color, lw=1.2, label=name if k == 0 else None)
    ax.axhline(1, color="0.6", lw=1, ls=":")
    ax.set(xlabel="local steps since the correction was made", ylabel="error of the corrected\ngradient, relative")
    log_axis(ax.yaxis)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig


def costs(paths: Mapping[str, Sequence], title: str) -> Figure:
    """Errors (%) against rounds, steps of one client and bytes sent up by all.

    paths: name -> (rounds [R], steps [R], megabytes [R] or None, errors [S, R]).
    """
    fig, (axes,) = panels(1, 3, size=(2.8, 2.7), sharey=True)
    for ax, i in zip(axes, range(3), strict=True):
        lines(ax, {name: (path[i], path[3]) for name, path in paths.items() if path[i] is not None})
        ax.set_xscale("log")
        ax.xaxis.set_minor_formatter("")
    for ax, label in zip(axes, ("communication rounds", "steps of one client", "MB sent up, all clients"), strict=True):
        ax.set_xlabel(label)
        for line in ax.get_lines():
            line.set_markevery(0.2)
    axes[0].set_ylabel("error e (%)")
    axes[1].set_title(title)
    log_axis(axes[0].yaxis)
    fig.legend(*axes[1].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig


def scatter(
    points: Mapping[str, Mapping[str, float]], measures: Mapping[str, str], loss: Mapping[str, float]
) -> Figure:
    """What FedAvg loses against measures of heterogeneity, a panel each, a number for each problem.

    points: problem -> measure -> value. measures: key -> label. loss: problem -> error of FedAvg / centralised.
    """
    fig, (axes,) = panels(1, len(measures), size=(3.5, 2.8), sharey=True)
    for ax, (key, label) in zip(axes, measures.items(), strict=True):
        for k, (name, values) in enumerate(points.items()):
            if key in values:
                style = {"color": CLIENTS[k % len(CLIENTS)], "label": f"{k + 1}  {name}", "ms": 11, "mec": "w"}
                ax.plot(values[key], loss[name], "o", **style)
                ax.text(values[key], loss[name], str(k + 1), ha="center", va="center", fontsize=6.5)
        ax.set_xlabel(label)
        log_axis(ax.xaxis)
    log_axis(axes[0].yaxis)
    axes[0].set_ylabel("error, FedAvg / centralised")
    fig.legend(*axes[-1].get_legend_handles_labels(), loc="outside right center")
    return fig
