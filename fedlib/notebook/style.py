"""One style, colours that everybody can tell apart, and what several pictures share."""

import os
from collections.abc import Sequence
from itertools import cycle

import numpy as np
from matplotlib import colormaps, rcdefaults, rcParams
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter, NullLocator, StrMethodFormatter

from ..numerics.metrics import mean_sd

COLORS = {
    "truth": "#000000",
    "paper": "#CC79A7",
    "federated": "#0072B2",
    "centralised": "#009E73",
    "isolated": "#D55E00",
    "sums": "#999933",
}
"""Role -> colour, the same in every figure of every notebook, in what moves, and on the site (tests/legible.py looks).

After Okabe & Ito, so that everybody can tell them apart. paper: what it prints. centralised: all data in one place.
isolated: of clients alone the mean, the best, or one of many; a curve of client 1 alone has client 1's colour. sums:
what the clients' sums give.
"""


CLIENTS = ["#882E72", "#663300", "#5522DD", "#224422", "#CC00FF"]
DASHES = ["--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 3))]
MARKERS = "osD^v"
"""Clients 1, 2, ...: purple, brown, violet, dark green, magenta; told apart from the roles and from each other, also by
who sees no red and green; and by a dash or a marker."""


OTHERS = ["#E69F00", "#56B4E9", "#882255", "#888888", "#444444"]
"""Orange, light blue, dark red, grey, dark grey: of what has no role (rules, losses, rates, ways of a paper). The first
two are faint on white: lines in them have markers or lw=2.5. What has an order (levels, steps) has shades, see
``ordered``."""


STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.5,
    "svg.hashsalt": "fedlib",  # the same SVG from the same data
}


PROJECTOR = STYLE | {"font.size": 13, "axes.titlesize": 13, "legend.fontsize": 11, "lines.linewidth": 2.5}


STYLES = {"page": STYLE, "projector": PROJECTOR}


def use(name: str | None = None) -> None:
    """Make a style of STYLES (or the one that FEDLIB_STYLE names; else "page") matplotlib's default in this process.

    A call and no context around drawing functions: legends and titles take their style when they are made, and
    readers make theirs long after the axes. ``matplotlib.rc_context()`` around it takes it back. A matplotlibrc of the
    user's own counts for its backend only: a figure has the project's style, and needs no LaTeX.
    """
    name = name or os.environ.get("FEDLIB_STYLE", "page")
    if name not in STYLES:
        raise ValueError(f"style {name!r} (an argument, or FEDLIB_STYLE): expected one of {', '.join(STYLES)}")
    rcdefaults()
    rcParams.update(STYLES[name])


def growth() -> float:
    """The factor by which the sides of a figure grow with today's letters, compared with the style "page"."""
    return (rcParams["font.size"] / STYLE["font.size"]) ** 0.5


def panels(rows: int = 1, columns: int = 1, size: tuple[float, float] = (3.2, 2.6), **kwargs):
    """(figure, axes [rows, columns]) without pyplot, so that a widget's redraw leaves no figure behind."""
    fig = Figure((size[0] * columns * growth(), size[1] * rows * growth()), layout="constrained")
    return fig, fig.subplots(rows, columns, squeeze=False, **kwargs)


def band(ax, x: Sequence[float], values: np.ndarray, color: str, label: str, **kwargs) -> None:
    """Mean over the first axis (seeds) of values [seeds, len(x)] with a band of one st.dev.; none for one seed.

    The band ends at the smallest value: on a logarithmic axis mean - st.dev. may be negative.
    """
    mean, sd = mean_sd(values)
    ax.plot(x, mean, color=color, label=label, **({"marker": "o", "ms": 3} | kwargs))
    if len(values) > 1:
        ax.fill_between(x, np.maximum(mean - sd, np.min(values, 0)), mean + sd, color=color, alpha=0.2, lw=0)


def set_ticks(axis, places: Sequence[float], names: Sequence[str] | None = None) -> None:
    """As matplotlib's, which makes all ticks at once, a fifteenth of a slider's move; these are made when drawn."""
    axis.set_major_locator(FixedLocator(list(places)))
    if names is not None:
        axis.set_major_formatter(FixedFormatter(list(names)))


def log_axis(axis) -> None:
    """Logarithmic axis with plain numbers (20, not 2 x 10^1) where it spans about a decade or less.

    It stays linear where no value is positive (a divergence that is exactly 0 at all levels).
    """
    if axis.axes.has_data() and not np.isfinite(getattr(axis.axes.dataLim, f"minpos{axis.axis_name}")):
        return
    getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    low, high = axis.get_view_interval()
    axis.set_minor_formatter(NullFormatter())
    if high / low < 50:
        digits = next(d for span, d in LOG_DIGITS.items() if high / low > span)
        ticks = [d * 10.0**e for e in range(-9, 9) for d in digits if low <= d * 10.0**e <= high]
        axis.set_major_locator(FixedLocator(ticks or [(low * high) ** 0.5]))
        axis.set_major_formatter(StrMethodFormatter("{x:.3g}"))
        axis.set_minor_locator(NullLocator())


LOG_DIGITS = {5: (1, 2, 5), 3: (1, 2, 3, 5), 1.5: range(1, 10), 0: np.arange(1, 10, 0.1)}
"""Which digits get a tick on a logarithmic axis that spans more than a factor."""


def ordered(n: int) -> list[dict]:
    """Colours and markers of n choices that have an order (clients, layers, steps), none of them a role's colour."""
    colors = colormaps["magma"](np.linspace(0.15, 0.75, n))
    return [{"color": color, "marker": marker} for color, marker in zip(colors, cycle("os^Dv"), strict=False)]


def shards(values: Sequence[np.ndarray], ax, label: str, **style) -> None:
    """What each client owns: the values of its points as a strip, one row per client."""
    for k, shard in enumerate(values):
        style_of = {"ms": 5, "alpha": 0.4, "rasterized": True, "color": CLIENTS[k % len(CLIENTS)]} | style
        ax.plot(shard, np.full(len(shard), k), "|", **style_of)
    ax.set(xlabel=label, ylabel="client")


def owners(clouds: Sequence[np.ndarray], ax, ms: float = 2, labels: bool = False) -> None:
    """Points of the plane [n, 2] of each client, in its colour and with its marker."""
    for k, cloud in enumerate(clouds):
        label = f"client {k + 1}" if labels else None
        ax.plot(
            *cloud.T,
            MARKERS[k % len(MARKERS)],
            ms=ms,
            mew=0,
            color=CLIENTS[k % len(CLIENTS)],
            label=label,
            rasterized=True,
        )


def around(*values: np.ndarray) -> tuple[float, float]:
    """Limits (-b, b) with b = ... 0.5, 1, 2, 3, 5 ...: they rarely change, so a slider need not draw the ticks anew."""
    largest = max(np.abs(v).max() for v in values)
    bounds = [d * 10.0**e for e in range(-4, 4) for d in (1, 2, 3, 5)]
    b = 1.05 * next((b for b in bounds if b >= largest), largest)
    return -b, b
