"""Pictures of federated solutions of differential equations: who owns which points, and where which model errs."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from .figures import CLIENTS, COLORS, owners, panels, percent

MODELS = {"isolated": "isolated", "federated": "federated", "centralised": "centralised"}


def own_points(ax, clouds: Sequence[np.ndarray], coordinates: str) -> None:
    """The clients' points [n, d] in their colours: marks below the axis for d = 1, dots for d = 2."""
    if len(coordinates) == 2:
        owners(clouds, ax, ms=1, labels=True)
        ax.set(ylabel=coordinates[1], title="who owns which points")
        return
    for k, x in enumerate(clouds):
        ax.plot(x[:, 0], np.full(len(x), -0.04 * (k + 1)), "|", ms=6, color=CLIENTS[k % len(CLIENTS)],
                label=f"client {k + 1}", clip_on=False, transform=ax.get_xaxis_transform())  # fmt: skip


def solution_view(
    coordinates: str,
    clouds: Sequence[np.ndarray],
    test: np.ndarray,
    truth: np.ndarray,
    models: Mapping[str, np.ndarray],
    title: str = "",
) -> Figure:
    """Points, exact solution and absolute errors.

    Args:
        coordinates: "x", "xy" or "xt". clouds: each client's own points [n, d].
        test [T, d], truth [T]: where and what u is; for d = 2 a tensor grid, first coordinate slowest.
        models: label -> u [T]; the label starts with "isolated", "federated" or "centralised".
    """
    if len(coordinates) not in (1, 2):
        raise ValueError(f"{len(coordinates)} coordinates {coordinates!r}: pictures exist for one and two")
    titles = {label: f"{label}: e = {percent(u, truth):.3g} %" for label, u in models.items()}
    view = _curves if len(coordinates) == 1 else _maps
    fig = view(coordinates, clouds, test, truth, models, titles)
    fig.suptitle(title, fontsize=9)
    return fig


def _curves(coordinates, clouds, test, truth, models, titles) -> Figure:
    fig, ((left, right),) = panels(1, 2, size=(4.2, 2.9))
    left.plot(test[:, 0], truth, color=COLORS["truth"], label="exact")
    alone = 0
    for label, u in models.items():
        kind = label.split()[0]
        dash = ("--", ":", "-.")[alone % 3] if kind == "isolated" else "-"
        alone += kind == "isolated"
        style = dict(color=COLORS[MODELS[kind]], ls=dash, lw=1.2)
        left.plot(test[:, 0], u, **style)
        right.plot(test[:, 0], np.maximum(np.abs(u - truth), 1e-12), label=titles[label], **style)
    own_points(left, clouds, coordinates)
    left.tick_params(axis="x", pad=4 + 5 * len(clouds))
    low, high = truth.min(), truth.max()
    left.set(xlabel=coordinates, ylabel="u", ylim=(low - 0.5 * (high - low), high + 0.5 * (high - low)))
    left.legend(loc="best")
    right.set(xlabel=coordinates, ylabel="|u - exact|", yscale="log")
    right.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return fig


def _maps(coordinates, clouds, test, truth, models, titles) -> Figure:
    shape = [len(np.unique(test[:, i])) for i in (0, 1)]
    extent = (*test[[0, -1], 0], *test[[0, -1], 1])
    wide = dict(origin="lower", extent=extent, aspect="auto")
    n = 2 + len(models)
    columns = n if n <= 4 else -(-n // 2)
    fig, axes = panels(-(-n // columns), columns, size=(2.5, 2.2), sharex=True, sharey=True)
    points, exact, *rest = axes.ravel()
    own_points(points, clouds, coordinates)
    shown = exact.imshow(truth.reshape(shape).T, cmap="cividis", **wide)
    exact.set_title("exact u")
    fig.colorbar(shown, ax=exact)
    gaps = {label: np.abs(u - truth).reshape(shape).T for label, u in models.items()}
    top = max(gap.max() for gap in gaps.values())
    norm = LogNorm(top / 1e4, top)
    for ax, (label, gap) in zip(rest, gaps.items(), strict=False):
        shown = ax.imshow(np.maximum(gap, top / 1e4), cmap="magma", norm=norm, **wide)
        ax.set_title(titles[label])
    fig.colorbar(shown, ax=rest[: len(gaps)], label="|u - exact|").minorticks_off()  # they cost a sixth of a redraw
    points.locator_params(nbins=3)  # of all maps: the axes are shared
    for ax in rest[len(gaps) :]:
        ax.set_axis_off()
    for column in axes.T:
        column[-1].set_xlabel(coordinates[0])
    return fig
