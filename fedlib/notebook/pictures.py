"""Pictures by concept, for every room: a number against another one, who owns what, where models err.

What differs from room to room is the labelled array, or the ``Experiment``. Each function returns a Figure, a panel for
each name.
"""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from numbers import Real

import numpy as np
import xarray
from matplotlib import colormaps, rcParams
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator, StrMethodFormatter

from ..federated.experiment import Experiment, data_of
from ..federated.partitions import private
from ..federated.solved import Solved, clouds_of
from ..numerics.metrics import in_percent, percent, plus_minus
from ..trainings.store import Name, in_words
from .style import CLIENTS, COLORS, DASHES, MARKERS, growth, log_axis, ordered, owners, panels, shards

SHAPES = {"isolated": "s", "federated": "o", "centralised": "d", "best client alone": "s"}


def matrix_styles(n: int) -> list[dict]:
    """Shades and markers of n weight matrices, from the first to the last: none of them means a model or a client."""
    shades = np.interp(np.linspace(0, 3, n), range(4), (0.1, 0.4, 0.6, 0.75))
    return [
        {"color": colormaps["magma"](s), "marker": marker} for s, marker in zip(shades, cycle("os^Dv"), strict=False)
    ]


def panels_of(names: Sequence[str], size: tuple[float, float] = (2.7, 2.4), most: int = 3) -> tuple[Figure, dict]:
    """(figure, {name: axes}) of panels in rows of at most ``most``."""
    columns = min(most, len(names))
    fig, axes = panels(-(-len(names) // columns), columns, size=size)
    for ax in axes.ravel()[len(names) :]:
        ax.remove()
    return fig, dict(zip(names, axes.ravel(), strict=False))


def legend_above(fig: Figure, ax: Axes, columns: int) -> None:
    """One legend for all panels."""
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=columns)


# a number against level, round, time or rate, by kind, with seeds

FEW = 12  # places on an axis that each have a tick


def curves(
    panels: Mapping[str, xarray.DataArray], x: str = "level", hue: str = "kind", *,
    looks: Callable[..., dict] | None = None, size: tuple[float, float] = (2.7, 2.7), most: int = 3,
    share: bool = False, mark: Mapping[str, tuple] = {}, printed: Mapping[str, Mapping] = {},
) -> Figure:  # fmt: skip
    """Lines through the medians of values [x, hue, seed], and a dot for every seed, for results may be bimodal; a panel
    for each array, under its name, if it has one, or the one that it is given.

    The arrays name their axes: ``long_name`` and ``units`` of the values and of x, see ``sweep.errors``. Positive
    values, and places, stand on a logarithmic axis, unless their attrs["scale"] is "linear"; many places of x only
    where it is "log". Levels, and a few places of x, have a tick each, at equal distances where one has no logarithm,
    and above them the clients' "distance", where it is a coordinate along x. What is absent (NaN of all seeds) is not
    drawn. Of values along rounds the last ones count.

    looks: label of hue -> colour, marker, ...; by default those of kinds of models, or shades in order. size: of a
    panel, most: in a row. share: one y axis for all panels, which are compared. mark: panel -> (place, words, how many
    points they stand below the federation's error there). printed: panel -> place -> what the paper prints of the
    federation.
    """
    fig, axes = panels_of([*panels], size, most)
    labels = list(dict.fromkeys(label for values in panels.values() for label in values[hue].values.tolist()))
    styles = {label: looks(label) for label in labels} if looks else default_looks(labels, hue)
    handles = {}
    for name, ax in axes.items():
        values = panels[name].sortby(x)
        if x != "round" and "round" in values.dims:
            values = values.isel(round=-1, drop=True)
        values = (values if "seed" in values.dims else values.expand_dims("seed")).transpose(hue, "seed", x)
        few = x == "level" or values.sizes[x] <= FEW
        places = dict(zip(values[x].values.tolist(), places_of(values[x]) if few else values[x].values, strict=True))
        for label in values[hue].values.tolist():
            one = values.sel({hue: label}).dropna(x, how="all")
            if one.sizes[x]:
                words, drawn = label_in_words(values[hue], label), one[x].values.tolist()
                line = seeds_and_median(ax, [places[place] for place in drawn], one.values, words, **styles[label])
                handles[words] = line
        if name in printed:
            squares = {place: value for place, value in printed[name].items() if place in places}
            look = {"color": COLORS["paper"], "mfc": "none", "ms": 7, "label": "printed, federated"}
            handles[look["label"]] = ax.plot([places[place] for place in squares], [*squares.values()], "s", **look)[0]
        ax.set(ylabel=titled_axis(values), title=values.name or name)
        if values.attrs.get("scale") != "linear":
            log_axis(ax.yaxis)
        place, words, below = mark.get(name, (None, "", 0))
        if few:
            against_level(ax, values, place, x)
        else:
            ax.set_xlabel(titled_axis(values[x]))
            if values[x].attrs.get("scale") == "log":
                log_axis(ax.xaxis)
        if place in places and values.sel({hue: "federated", x: place}).notnull().any():
            point = places[place], values.sel({hue: "federated", x: place}).median().item()
            arrow = {"arrowstyle": "->", "color": COLORS["federated"]}
            ax.annotate(
                words, point, (0, -below), textcoords="offset points", arrowprops=arrow, fontsize=8, ha="center"
            )
    if share:
        limits = [ax.get_ylim() for ax in axes.values()]
        for ax in axes.values():
            ax.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
            if ax.get_yscale() == "log":
                log_axis(ax.yaxis)
    if any(isinstance(ax.yaxis.get_major_formatter(), StrMethodFormatter) for ax in axes.values()):  # 50, and 100
        for ax in [ax for ax in axes.values() if ax.get_yscale() == "log"]:
            plain(ax.yaxis)
    columns = min(len(handles), max(2, int(fig.get_figwidth() / 1.4)))
    fig.legend(handles.values(), handles, loc="outside upper center", ncols=columns)
    return fig


def titled_axis(values: xarray.DataArray) -> str:
    """What stands at an axis: "error (%)"."""
    units = values.attrs.get("units")
    return f"{values.attrs.get('long_name', values.name)}" + f" ({units})" * bool(units)


def label_in_words(labels: xarray.DataArray, label) -> str:
    """In a legend: "alone, mean" of the kind "isolated", "matrix 2", "n = 5"."""
    if not isinstance(label, Real):
        return in_legend(label)
    name = labels.attrs.get("long_name", labels.name)
    return f"{name} = {label}" if len(name) == 1 else level_in_words(name, label)


def default_looks(labels: Sequence, hue: str) -> dict:
    """Of kinds of models those of their roles; of matrices, and of what has an order, shades."""
    if hue == "kind":
        return {label: style_of(label) for label in labels}
    return dict(zip(labels, (matrix_styles if hue == "matrix" else ordered)(len(labels)), strict=True))


def style_of(kind: str) -> dict:
    """Colour and marker of a kind of model, or of "client 2 alone"."""
    if kind.startswith("client "):
        k = int(kind.split()[1]) - 1
        color, marker, dash = (choices[k % len(choices)] for choices in (CLIENTS, MARKERS, DASHES))
        return {"color": color, "marker": marker, "ls": dash, "lw": 1}
    return {"color": COLORS["isolated" if kind == "best client alone" else kind], "marker": SHAPES[kind]}


def in_legend(kind: str) -> str:
    """A kind of model as a reader says it: "alone, mean" of "isolated", "client 2 alone" of "isolated client 2"."""
    return re.sub("^isolated (.*)", r"\1 alone", "alone, mean" if kind == "isolated" else kind)


def has_logarithm(levels: xarray.DataArray) -> bool:
    """Whether all levels are positive numbers, and their axis is not to be linear."""
    positive = all(isinstance(level, Real) and level > 0 for level in levels.values.tolist())
    return positive and levels.attrs.get("scale") != "linear"


def places_of(levels: xarray.DataArray) -> np.ndarray:
    """Where levels stand on their axis: at themselves, or at 0, 1, 2, ... where one has no logarithm."""
    as_they_are = has_logarithm(levels) or levels.attrs.get("scale") == "linear"
    return levels.values if as_they_are else np.arange(len(levels))


def against_level(ax: Axes, values: xarray.DataArray, mark: object = None, x: str = "level") -> None:
    """An axis with a tick at every place of values [..., x], called as x is, and above it the clients' distance at
    each, where it is known; logarithmic, or of equal distances where one has no logarithm. The place ``mark`` has its
    labels in any case."""
    levels = values[x].values
    places, logarithmic = places_of(values[x]), has_logarithm(values[x])
    labels = {ax: [f"{level:g}" if isinstance(level, Real) else str(level) for level in levels.tolist()]}
    if "distance" in values.coords and x in values.distance.dims:
        above = ax.twiny()
        labels[above] = [f"{distance:.2g}" for distance in values.distance.values]
        above.tick_params(length=2, pad=1)
        above.set_xlabel("$W_1$", fontsize=8)
    letter = 0.065 * ax.get_subplotspec().get_gridspec().ncols / ax.figure.get_figwidth()  # a panel's share of inches
    for axes, words in labels.items():
        axes.set_xscale("log" if logarithmic else "linear")
        low, high = min(places), max(places)
        axes.set_xlim(*((low / 1.15, high * 1.15) if logarithmic else (low - 0.5, high + 0.5)))
        axes.xaxis.set_minor_locator(NullLocator())
        shares = axes.transScale.transform([(place, 1) for place in (*axes.get_xlim(), *places)])[:, 0]
        middles = (shares[2:] - shares[0]) / (shares[1] - shares[0])
        lines = lines_of(middles, words, letter, [level == mark for level in levels])
        form = ("{}", "\n{}", "") if axes is ax else ("{}", "", "")  # above there is one line
        axes.set_xticks(places, [form[line].format(word) for line, word in zip(lines, words, strict=True)], fontsize=7)
    ax.set_xlabel((x == "level" and values.attrs.get("level")) or titled_axis(values[x]))


def lines_of(middles: Sequence[float], labels: Sequence[str], letter: float, first: Sequence[bool]) -> list[int]:
    """The line on which each label stands, so that none touches another one: 0, 1, or 2 where neither has room.

    middles: of the labels, as shares of the axis; letter: the share that a letter takes. Those that are ``first`` are
    placed before the others.
    """
    lines = [2] * len(labels)
    for i in sorted(range(len(labels)), key=lambda i: not first[i]):
        for line in (0, 1):
            others = [j for j in range(len(labels)) if lines[j] == line]
            widths = [letter * (1 + (len(labels[i]) + len(labels[j])) / 2) for j in others]
            if all(abs(middles[i] - middles[j]) >= width for j, width in zip(others, widths, strict=True)):
                lines[i] = line
                break
    return lines


def plain(axis: Axis) -> None:
    """A logarithmic axis with numbers as one says them: 0.0001, 100."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.9f}".rstrip("0").rstrip(".")))


def seeds_and_median(ax: Axes, x: Sequence[float], values: np.ndarray, label: str, **style) -> Line2D:
    """A dot for every seed of values [seeds, len(x)] and a line through their medians, of those that are no NaN."""
    shape = style.pop("marker", "o")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN", RuntimeWarning)  # nothing is drawn there, which is right
        medians = np.nanmedian(values, 0)
    (line,) = ax.plot(x, medians, marker=shape, label=label, **{"ms": 4} | style)
    ax.plot(x, np.transpose(values), shape, ms=3, mew=0, alpha=0.35, color=style["color"], label="_seeds")
    return line


# numbers and tables


HEADER = ("e (%)", "n", "federated", "isolated", "centralised", "federated / centralised")


def metrics_of(final: Mapping[Name, xarray.DataArray], divergences: Mapping[Name, xarray.DataArray]) -> dict:
    """The numbers of a run, by name in words: errors (%) [kind, level, seed], divergences, levels, W1."""
    return {
        "levels": {in_words(name): e.level.values.tolist() for name, e in final.items()},
        "w1": {in_words(name): e.distance.values.tolist() for name, e in final.items()},
        "error_percent": {
            in_words(name): {kind: e.sel(kind=kind).transpose("seed", "level").values for kind in e.kind.values}
            for name, e in final.items()
        },
        "weight_divergence": {in_words(name): values.values for name, values in divergences.items()},
    }


def error_rows(metrics: Mapping, digits: int = 2) -> list[list[str]]:
    """A row of HEADER for each problem and level: mean ± st.dev. over seeds, and the ratio of the means."""
    rows = []
    for name, error in metrics["error_percent"].items():
        for j, n in enumerate(metrics["levels"][name]):
            isolated = next(kind for kind in error if kind not in ("federated", "centralised"))
            federated, alone, central = (np.array(error[kind])[:, j] for kind in ("federated", isolated, "centralised"))
            cells = [plus_minus(e, digits) for e in (federated, alone, central)]
            rows.append([name, str(n), *cells, f"{federated.mean() / central.mean():.1f}"])
    return rows


# who owns what


def points_and_distance(
    experiments: Mapping[str, Experiment],
    distances: Mapping[str, Mapping[int, float]],
    closed_form: Mapping[str, Callable],
) -> Figure:
    """Who owns which points at the coarsest level, and the distance of the clients at all levels.

    distances: name -> level -> W1. closed_form: name -> level -> what it should be, a dashed line, where that is known.
    """
    fig, axes = panels(2, len(experiments), size=(8.2 / max(3, len(experiments)), 2.0))
    for (upper, lower), (name, experiment) in zip(axes.T, experiments.items(), strict=True):
        coarsest, letters = min(distances[name]), experiment.coordinates
        clouds = clouds_of(data_of(experiment, coarsest))
        if len(letters) == 1:
            shards([x[:, 0] for x in clouds], upper, "x", alpha=1)
            upper.set_yticks(range(len(clouds)), [str(k + 1) for k in range(len(clouds))])
        else:
            owners(clouds, upper, ms=max(1, dot(clouds) / 2))
            upper.set(xlabel=letters[0], ylabel=letters[1])
        upper.set_title(f"{experiment.name.replace(', ', ',' + chr(10))}\nn = {coarsest}")
        n = np.array(list(distances[name]), float)
        lower.plot(n, list(distances[name].values()), "o-", ms=3, color="0.3")
        if name in closed_form:
            lower.plot(n, closed_form[name](n), "--", color="0.6", lw=1)
        lower.set(xlabel=experiment.level)
        for axis in (lower.xaxis, lower.yaxis):
            log_axis(axis)
    axes[1, 0].set_ylabel("$W_1$ of the clients")
    return fig


def own_points(ax: Axes, clouds: Sequence[np.ndarray], coordinates: str) -> None:
    """The clients' points [n, d] in their colours: marks below the axis for d = 1, dots for d = 2."""
    if len(coordinates) == 2:
        owners(clouds, ax, ms=dot(clouds))
        return
    for k, x in enumerate(clouds):
        ax.plot(x[:, 0], np.full(len(x), -0.04 * (k + 1)), "|", ms=6, color=CLIENTS[k % len(CLIENTS)],
                label=f"client {k + 1}", clip_on=False, transform=ax.get_xaxis_transform())  # fmt: skip
    ax.tick_params(axis="x", pad=4 + 5 * len(clouds))


def shade(ax: Axes, x: np.ndarray, shards: Sequence[np.ndarray]) -> None:
    """Areas in the owners' colours: from point to point of x [N], in order, the half way to each neighbour."""
    whose = np.zeros(len(x), int)
    for k, shard in enumerate(shards):
        whose[shard] = k
    cuts = np.flatnonzero(np.diff(whose)) + 1
    edges = np.concatenate([x[:1], (x[cuts - 1] + x[cuts]) / 2, x[-1:]])
    for a, b, k in zip(edges[:-1], edges[1:], whose[[0, *cuts]], strict=True):
        ax.axvspan(a, b, color=CLIENTS[k % len(CLIENTS)], alpha=0.15, lw=0)


def dot(clouds: Sequence[np.ndarray]) -> float:
    """Size of a dot, so that many points do not run together and few are seen."""
    return np.clip(45 / sum(map(len, clouds)) ** 0.5, 1, 4)


# solutions, and where models err


def level_in_words(name: str, level) -> str:
    """A level, by what levels are called: "8 pieces" of "pieces", "4 x 4 blocks" of "blocks per axis", and "noise 0.1"
    of "noise", which is no plural, and counts nothing."""
    things, per_axis, _ = re.sub(r" \w$", "", name).partition(" per axis")
    if not things.endswith("s"):
        return f"{things} {level}"
    return f"{level} x {level} {things}" if per_axis else f"{level} {things}"


def solution_alt(solutions: Solved, level) -> str:
    """What ``solution`` shows, for those who cannot see it."""
    experiment = solutions.experiment
    return (
        f"{experiment.name}, {level_in_words(experiment.level, level)}: who owns which points, the truth, and where "
        "each client alone, the federation and the centralised model err"
    )


def solution(solutions: Solved, level) -> Figure:
    """Points, exact solution and absolute errors of one level; in the plane the test points are a tensor grid."""
    experiment, letters = solutions.experiment, solutions.experiment.coordinates
    if len(letters) not in (1, 2):
        raise ValueError(f"{len(letters)} coordinates {letters!r}: pictures exist for one and two")
    words = level_in_words(experiment.level, level)
    title = f"{experiment.name}: {words}, W₁ = {solutions.distances[level]:.3f}"
    return (on_a_line if len(letters) == 1 else maps)(solutions, level, title)


def alone_and_together(solutions: Solved, level) -> Figure:
    """What each client finds alone, and what all find together, over what they own on a line, shaded."""
    fig, ((ax,),) = panels(1, 1, size=(6.2, 3.0))
    x, truth, models = solutions.x[:, 0], solutions.truth, solutions.models[level]
    data = data_of(solutions.experiment, level)
    shade(ax, data.pool["x"][:, 0].numpy(), private(data.owners))
    ax.plot(x, truth, color=COLORS["truth"], lw=4, alpha=0.25, label="truth")
    alone = [label for label in models if label.startswith("isolated")]
    for k, label in enumerate(alone):
        words = f"{in_legend(label)}: off by {in_percent(percent(models[label], truth))}"
        color, dash = (choices[k % len(choices)] for choices in (CLIENTS, DASHES))
        ax.plot(x, models[label], color=color, ls=dash, lw=2, label=words)
    words = f"federated: off by {in_percent(percent(models['federated'], truth))}"
    ax.plot(x, models["federated"], color=COLORS["federated"], label=words)
    low, high = truth.min(), truth.max()
    ax.set(xlabel="x", ylabel="u(x)", xlim=(x[0], x[-1]), ylim=(low - 0.6 * (high - low), high + 0.6 * (high - low)))
    ax.set_title(f"{level_in_words(solutions.experiment.level, level)}, owned in turn (shades)")
    fig.legend(loc="outside right center")
    return fig


ALIKE = 0.04  # curves that differ by less of the solution's range cannot be told apart


def on_a_line(solutions: Solved, level, title: str) -> Figure:
    """On a line: left solutions above the clients' points, right errors; errors alone where solutions look alike."""
    x, truth, models = solutions.x[:, 0], solutions.truth, solutions.models[level]
    letter, clouds, (least, most) = solutions.experiment.coordinates, solutions.clouds[level], solutions.limits
    alike = max(np.abs(u - truth).max() for u in models.values()) < ALIKE * np.ptp(truth)
    fig, axes = panels(1, 1 if alike else 2, size=(5.5, 3.4) if alike else (4, 3.4))
    left, right = None if alike else axes[0, 0], axes[0, -1]
    fig.set_layout_engine(None)  # places that do not depend on what is drawn: no jumps behind a slider
    fig.subplots_adjust(left=0.14 if alike else 0.09, right=0.99, bottom=0.2, top=0.76, wspace=0.25)
    fig.suptitle(title, fontsize=rcParams["axes.titlesize"], y=0.99)
    alone = 0
    for label, u in models.items():
        kind = label.split()[0]
        style = dict(color=COLORS[kind], ls="-", lw=1.5)
        if kind == "isolated":
            style |= dict(color=CLIENTS[alone % len(CLIENTS)], ls=DASHES[alone % len(DASHES)])
            alone += 1
        if left:
            left.plot(x, u, **style)
        right.plot(x, np.abs(u - truth), label=f"{in_legend(label)}: e = {in_percent(percent(u, truth))}", **style)
    right.set(xlabel=letter, ylabel="|u - truth|", yscale="log", ylim=(least / 3, 2 * most))
    if left:
        low, high = truth.min(), truth.max()
        left.plot(x, truth, color=COLORS["truth"], lw=2.5, alpha=0.5, label="truth", zorder=1)
        left.set(xlabel=letter, ylabel="u", ylim=(low - 0.5 * (high - low), high + 0.5 * (high - low)))
    own_points(left or right, clouds, letter)
    for ax, side, columns in ((left, 0, 1 + len(clouds)), (right, 1, 2)):
        if ax:
            ax.set_xlim(x[0], x[-1])
            ax.legend(loc=f"lower {('left', 'right')[side]}", bbox_to_anchor=(side, 1), ncols=columns, columnspacing=1)
    return fig


TILE = np.array([0.92, 0.76])  # width and height of a map; the rest of its unit square is for the title


def maps(solutions: Solved, level, title: str) -> Figure:
    """In the plane: above points and each client alone, below the truth, federated and centralised.

    All maps are tiles of ONE axes, for making an axes takes longer than drawing a map.
    """
    clouds, models, letters = solutions.clouds[level], solutions.models[level], solutions.experiment.coordinates
    x, truth, limits = solutions.x, solutions.truth, solutions.limits
    low, size = x[0], np.ptp(x, 0)
    shape = [len(np.unique(x[:, i])) for i in (0, 1)]
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
    owners([(cloud - low) / size * TILE + (0, 1) for cloud in clouds], ax, ms=dot(clouds))
    low_high = f"truth: {truth.min():.2g} (dark)\nto {truth.max():.2g} (bright)"
    tile(0, 0, truth, low_high, cmap="cividis")
    for row, labels in enumerate(rows):
        for k, label in enumerate(labels):
            gap, e = np.clip(np.abs(models[label] - truth), *limits), percent(models[label], truth)
            tile(1 + k, row, errors.to_rgba(gap, bytes=True), f"{in_legend(label)}\ne = {in_percent(e)}")
    for i, (axis, count) in enumerate(((ax.xaxis, columns), (ax.yaxis, 2))):
        ticks = [v for v in MaxNLocator(4).tick_values(low[i], low[i] + size[i]) if 0.1 < (v - low[i]) / size[i] < 0.9]
        places = [n + (v - low[i]) / size[i] * TILE[i] for n in range(count) for v in ticks]
        axis.set_ticks(places, [f"{v:g}" for v in ticks] * count)
        axis.set_label_text(letters[i])
    ax.yaxis.labelpad = 0
    ax.spines[:].set_visible(False)
    ax.set(xlim=(-0.02, columns), ylim=(-0.02, 2), title=title)
    fig.colorbar(errors, cax=fig.add_axes((0.905, 0.1, 0.02, 0.73)), label="|u - truth|")
    return fig
