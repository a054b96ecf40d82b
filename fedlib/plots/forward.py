"""Pictures of federated solutions of differential equations: who owns which points, and where which model errs."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import ipywidgets
import numpy as np
import torch
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from ..notebook.style import CLIENTS, COLORS, growth, owners, panels
from ..notebook.widgets import explore
from ..numerics.metrics import percent
from ..problems.forward import Problem, solve
from ..problems.forward_study import heterogeneity


class Solved(NamedTuple):
    """A problem and what models of several levels make of it, ready to be drawn.

    truth [T]: u on the test points. limits: of absolute errors, the same for all levels. clouds: level -> each client's
    points [n, d]. w1: level -> distance of the clients. models: level -> label -> u [T].
    """

    problem: Problem
    truth: np.ndarray
    limits: tuple[float, float]
    clouds: Mapping[int, Sequence[np.ndarray]]
    w1: Mapping[int, float]
    models: Mapping[int, Mapping[str, np.ndarray]]


def solved(problem: Problem, rows: Mapping[int, Mapping[str, Tensor]]) -> Solved:
    """Evaluate models, level -> label -> parameters [P], on the problem's test points."""
    truth = problem.solution(torch.as_tensor(problem.test)).numpy()
    models = {n: {label: solve(problem, row) for label, row in of.items()} for n, of in rows.items()}
    gaps = [np.abs(u - truth) for of in models.values() for u in of.values()]
    top = max(gap.max() for gap in gaps)
    clouds = {}
    for n in rows:
        x, own = problem.points(n)
        clouds[n] = [x[s] for s in own]
    limits = (max(top / 1e6, min(np.median(gap) for gap in gaps) / 3), top)
    return Solved(problem, truth, limits, clouds, {n: heterogeneity(problem, n) for n in rows}, models)


def blocks(problem: Problem, n: int) -> str:
    """A level in words."""
    return f"{n} x {n} blocks" if problem.cut == 2 else f"{n} subdomains"


def alt(of: Solved, level: int) -> str:
    """What ``picture`` shows, for those who cannot see it."""
    return (
        f"{of.problem.name}, {blocks(of.problem, level)}: who owns which points, the exact solution, and where the "
        "isolated clients, the federation and the centralised model err"
    )


def picture(of: Solved, level: int) -> Figure:
    """``solution_view`` of one level."""
    title = f"{of.problem.name}: {blocks(of.problem, level)}, W₁ = {of.w1[level]:.3f}"
    return solution_view(
        of.problem.coordinates, of.clouds[level], of.problem.test, of.truth, of.models[level], of.limits, title
    )


def explorer(studies: Mapping[str, Solved]) -> ipywidgets.VBox:
    """Choose an equation and its number of subdomains (blocks per axis)."""
    options = [(of.problem.name, name) for name, of in studies.items()]
    equation = ipywidgets.SelectionSlider(options=options, description="equation")
    n = ipywidgets.SelectionSlider(options=list(studies[equation.value].models), description="subdomains n")

    def follow(_=None):  # before the picture hears of a new equation, so that it and n always belong together
        of = studies[equation.value]
        n.options, n.description = list(of.models), "blocks per axis" if of.problem.cut == 2 else "subdomains n"

    follow()
    equation.observe(follow, "value")
    words = "who owns which points, the exact solution, and where the isolated clients and the federation err"
    return explore(lambda equation, n: picture(studies[equation], n), words, equation=equation, n=n)


def solution_view(
    coordinates: str,
    clouds: Sequence[np.ndarray],
    test: np.ndarray,
    truth: np.ndarray,
    models: Mapping[str, np.ndarray],
    limits: tuple[float, float],
    title: str = "",
) -> Figure:
    """Points, exact solution and absolute errors.

    Args:
        coordinates: "x", "xy" or "xt". clouds: each client's own points [n, d].
        test [T, d], truth [T]: where and what u is; for d = 2 a tensor grid, first coordinate slowest.
        models: label -> u [T]; the label starts with "isolated", "federated" or "centralised".
        limits: of the errors that are shown.
    """
    if len(coordinates) not in (1, 2):
        raise ValueError(f"{len(coordinates)} coordinates {coordinates!r}: pictures exist for one and two")
    view = _curves if len(coordinates) == 1 else _maps
    return view(coordinates, clouds, test, truth, models, limits, title)


def own_points(ax: Axes, clouds: Sequence[np.ndarray], coordinates: str) -> None:
    """The clients' points [n, d] in their colours: marks below the axis for d = 1, dots for d = 2."""
    if len(coordinates) == 2:
        owners(clouds, ax, ms=dot(clouds))
        return
    for k, x in enumerate(clouds):
        ax.plot(x[:, 0], np.full(len(x), -0.04 * (k + 1)), "|", ms=6, color=CLIENTS[k % len(CLIENTS)],
                label=f"client {k + 1}", clip_on=False, transform=ax.get_xaxis_transform())  # fmt: skip
    ax.tick_params(axis="x", pad=4 + 5 * len(clouds))


def _curves(coordinates, clouds, test, truth, models, limits, title) -> Figure:
    fig, ((left, right),) = panels(1, 2, size=(4, 3.4))
    fig.set_layout_engine(None)  # places that do not depend on what is drawn: no jumps behind a slider
    fig.subplots_adjust(left=0.09, right=0.99, bottom=0.2, top=0.76, wspace=0.25)
    fig.suptitle(title, fontsize=rcParams["axes.titlesize"], y=0.99)
    left.plot(test[:, 0], truth, color=COLORS["truth"], lw=2.5, alpha=0.5, label="exact")
    alone = 0
    for label, u in models.items():
        kind = label.split()[0]
        dash = ("--", ":", "-.")[alone % 3] if kind == "isolated" else "-"
        alone += kind == "isolated"
        style = dict(color=COLORS[kind], ls=dash, lw=1.5)
        left.plot(test[:, 0], u, **style)
        right.plot(test[:, 0], np.abs(u - truth), label=f"{label}: e = {percent(u, truth):.3g} %", **style)
    own_points(left, clouds, coordinates)
    low, high = truth.min(), truth.max()
    left.set(xlabel=coordinates, ylabel="u", ylim=(low - 0.5 * (high - low), high + 0.5 * (high - low)))
    right.set(xlabel=coordinates, ylabel="|u - exact|", yscale="log", ylim=(limits[0] / 3, 2 * limits[1]))
    for ax, side, columns in ((left, 0, 1 + len(clouds)), (right, 1, 2)):
        ax.set_xlim(test[0, 0], test[-1, 0])
        ax.legend(loc=f"lower {('left', 'right')[side]}", bbox_to_anchor=(side, 1), ncols=columns, columnspacing=1)
    return fig


TILE = np.array([0.92, 0.76])  # width and height of a map; the rest of its unit square is for the title


def _maps(coordinates, clouds, test, truth, models, limits, title) -> Figure:
    """Above points and isolated clients, below exact solution, federated and centralised.

    All maps are tiles of ONE axes, for making an axes takes longer than drawing a map.
    """
    low, size = test[0], np.ptp(test, 0)
    shape = [len(np.unique(test[:, i])) for i in (0, 1)]
    rows = [[label for label in models if label.startswith("isolated") != below] for below in (True, False)]
    columns = 1 + max(map(len, rows))
    fig = Figure((8 * growth(), (5.4 if columns < 4 else 4.4) * growth()))
    fig.subplots_adjust(left=0.08, right=0.89, bottom=0.1, top=0.95)
    ax = fig.subplots()
    errors = ScalarMappable(LogNorm(*limits), "magma")

    def tile(column, row, u, name, **colours):
        extent = (column, column + TILE[0], row, row + TILE[1])
        kind = dict(origin="lower", aspect="auto", interpolation="nearest")
        ax.text(column + TILE[0] / 2, row + TILE[1] + 0.02, name, ha="center", va="bottom")
        ax.imshow(u.reshape(*shape, *u.shape[1:]).swapaxes(0, 1), extent=extent, **kind, **colours)

    ax.text(TILE[0] / 2, 1.02 + TILE[1], "who owns which points", ha="center", va="bottom")
    owners([(x - low) / size * TILE + (0, 1) for x in clouds], ax, ms=dot(clouds))
    tile(0, 0, truth, f"exact u: {truth.min():.2g} (dark)\nto {truth.max():.2g} (bright)", cmap="cividis")
    for row, labels in enumerate(rows):
        for k, label in enumerate(labels):
            gap, e = np.clip(np.abs(models[label] - truth), *limits), percent(models[label], truth)
            tile(1 + k, row, errors.to_rgba(gap, bytes=True), f"{label}\ne = {e:.3g} %")
    for i, (axis, count) in enumerate(((ax.xaxis, columns), (ax.yaxis, 2))):
        ticks = [v for v in MaxNLocator(4).tick_values(low[i], low[i] + size[i]) if 0.1 < (v - low[i]) / size[i] < 0.9]
        places = [n + (v - low[i]) / size[i] * TILE[i] for n in range(count) for v in ticks]
        axis.set_ticks(places, [f"{v:g}" for v in ticks] * count)
        axis.set_label_text(coordinates[i])
    ax.yaxis.labelpad = 0
    ax.spines[:].set_visible(False)
    ax.set(xlim=(-0.02, columns), ylim=(-0.02, 2), title=title)
    fig.colorbar(errors, cax=fig.add_axes((0.905, 0.1, 0.02, 0.73)), label="|u - exact|")
    return fig


def dot(clouds: Sequence[np.ndarray]) -> float:
    """Size of a dot, so that many points do not run together and few are seen."""
    return np.clip(45 / sum(map(len, clouds)) ** 0.5, 1, 4)


def first_look(line: Problem, plane: Problem, level: int = 2) -> Figure:
    """What is asked for and who knows what, on a line and in the plane."""
    fig, ((left, middle, right),) = panels(1, 3, size=(2.7, 2.5))
    of = [[x[s] for s in own] for x, own in (line.points(level), plane.points(level))]
    left.plot(line.test[:, 0], line.solution(torch.as_tensor(line.test)), color=COLORS["truth"])
    own_points(left, of[0], line.coordinates)
    left.set(xlabel="x", ylabel="u(x)", title=f"{line.name}: solution, points of two clients")
    truth = plane.solution(torch.as_tensor(plane.test)).numpy()
    n = len(np.unique(plane.test[:, 0]))
    extent = (*plane.test[[0, -1], 0], *plane.test[[0, -1], 1])
    middle.imshow(truth.reshape(n, -1).T, cmap="cividis", origin="lower", extent=extent, aspect="auto")
    middle.set(xlabel=plane.coordinates[0], ylabel=plane.coordinates[1], title=f"{plane.name}: solution u(x, y)")
    own_points(right, of[1], plane.coordinates)
    right.set(xlabel=plane.coordinates[0], title="points of two clients")
    return fig
