"""Figures and tables of notebook 10b, functions of the arrays of ``study.Results``."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....notebook.pictures import against_level, legend_above, panels_of
from ....notebook.style import COLORS, band, panels, set_ticks
from ....numerics.metrics import mean_and_interval, mean_sd, plus_minus
from .handwriting import SIDE
from .study import FOUR, STRONG, at_own_rate, gain
from .ways import AFFINE, FEDAVG, MAPPED, MEANS, WAYS

LEVEL = r"size of the shift $|\Lambda|$"

STYLES = {
    FEDAVG: {"color": COLORS["federated"]},
    MEANS: {"color": COLORS["light"], "ls": "--", "marker": "^", "lw": 2.5},
    AFFINE: {"color": COLORS["other"], "ls": "-.", "marker": "D", "lw": 2},
    MAPPED: {"color": "#7A1F3D", "marker": "s"},
    "barycenter Q": {"color": "0.5", "ls": ":", "marker": "v"},
}
"""All are federations: FedAvg in their blue, what the digits become in other colours."""

FIG1 = (FEDAVG, MAPPED, "barycenter Q")


def size_of(level: float) -> str:
    """The size of a shift, as a title."""
    return rf"$|\Lambda|$ = {level:g}"


# digits


def tiles(rows: np.ndarray, low: float, high: float, gap: int = 2) -> np.ndarray:
    """Digits [R, C, 784] as one picture, on one scale from black (low) to white (high), with white gaps."""
    square = np.clip((rows - low) / (high - low), 0, 1).reshape(*rows.shape[:2], SIDE, SIDE)
    square = np.pad(square, [(0, 0), (0, 0), (0, gap), (0, gap)], constant_values=1)
    return square.transpose(0, 2, 1, 3).reshape(len(rows) * (SIDE + gap), -1)[:-gap, :-gap]


def digit_grid(ax: Axes, rows: np.ndarray, names: Sequence[str], low: float = -0.5, high: float = 2.8) -> None:
    """A grid of digits [R, C, 784] with a name for every row; black at low, white at high, as written ones are."""
    ax.imshow(tiles(rows, low, high), cmap="gray", vmin=0, vmax=1)
    ax.set_xticks([])
    ax.set_yticks(np.arange(len(names)) * (SIDE + 2) + SIDE / 2, names)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


def digit_panels(
    grids: Mapping[str, np.ndarray], names: Sequence[str], scale: tuple[float, float] = (-0.5, 2.8)
) -> Figure:
    """title -> digits [R, C, 784], a panel each, black and white at the same values in all; rows are named at the left.

    A place of NaN is black: nobody has such a digit.
    """
    fig, (axes,) = panels(1, len(grids), size=(2.5, 0.35 + 0.43 * len(names)))
    for i, (ax, (title, rows)) in enumerate(zip(axes, grids.items(), strict=True)):
        digit_grid(ax, np.nan_to_num(rows, nan=scale[0]), () if i else names, *scale)
        ax.set_title(title)
    return fig


def seen_rows(pictures: xarray.Dataset) -> tuple[np.ndarray, list[str]]:
    """Digits [1 + K, C, 784] as they are written, and as each client sees them; and the rows' names."""
    rows = np.concatenate([pictures.written.isel(client=0).values[None], pictures.seen.values])
    return rows, ["written", *(f"client {k} sees" for k in range(1, len(rows)))]


def lenses(pictures: xarray.Dataset) -> Figure:
    """Five digits as they are written, and as each client sees them: a panel for each size of the shift."""
    rows = {size_of(level): seen_rows(pictures.sel(level=level))[0] for level in pictures.level.values}
    return digit_panels(rows, seen_rows(pictures.isel(level=0))[1])


def made_of(pictures: xarray.Dataset) -> Figure:
    """What averages and maps make of digits: what client 1 sees, its picture carried, the class means, those of Q.

    From each picture the mean over the shown digits of its row is taken off, for the client's translation is the same
    in all of them and hides the rest.
    """
    kinds = {"client 1 sees": "seen", "carried": "carried", "class means": "mean", "class means of Q": "mean in Q"}
    grids = {}
    for level in pictures.level.values:
        rows = [pictures[name].sel(level=level) for name in kinds.values()]
        rows = np.array([row.isel(client=0) if "client" in row.dims else row for row in rows])
        grids[size_of(level)] = rows - np.nanmean(rows, 1, keepdims=True)
    return digit_panels(grids, [*kinds], (-1.5, 1.5))


# accuracies


def table_1(table: xarray.DataArray, printed: Mapping[str, Mapping[float, float]]) -> Figure:
    """Clean digits read (%) [way, level, seed], FedAvg and mapped, beside the printed table; right the gains."""
    fig, (axes,) = panels(1, 3, size=(2.7, 2.8))
    levels = table.level.values
    for ax, way, name in zip(axes, (FEDAVG, MAPPED), ("FedAvg", "theirs"), strict=False):
        against_printed(ax, levels, table.sel(way=way), printed[name], way)
        ax.set(title=f"{way} (printed: {name})", ylim=(0, 100))
    difference = {level: printed["theirs"][level] - printed["FedAvg"][level] for level in printed["FedAvg"]}
    against_printed(axes[2], levels, gain(table), difference, MAPPED)
    axes[2].axhline(0, color="0.6", lw=0.8)
    axes[2].set_title("gain: theirs less FedAvg")
    axes[0].set_ylabel("clean digits read (%)")
    axes[2].set_ylabel("points")
    legend_above(fig, axes[0], 2)
    return fig


def against_printed(ax: Axes, levels, values: xarray.DataArray, printed: Mapping[float, float], way: str) -> None:
    """Values of the seeds [level, seed] as dots and their mean, beside the printed ones."""
    ax.plot([*printed], [*printed.values()], "s", ms=7, mfc="none", mew=1.5, color=COLORS["paper"], label="printed")
    values = values.transpose("seed", "level")
    ax.plot(levels, values.values.T, "o", ms=3, mew=0, alpha=0.5, color=STYLES[way]["color"], label="_seeds")
    ax.plot(levels, values.mean("seed"), "-", color=STYLES[way]["color"], label="ours, each seed and their mean")
    set_ticks(ax.xaxis, levels, [f"{level:g}" for level in levels])
    ax.set_xlabel(LEVEL)


def over_rounds(values: xarray.DataArray, ylabel: str, ways: Sequence[str] = FOUR, mark: int = 0) -> Figure:
    """Values [way, round, level, seed] over the rounds, with st.dev. over seeds; a panel for each size of the shift.

    mark: a round that is marked.
    """
    fig, axes = panels_of([*values.level.values.tolist()], (2.4, 2.5), most=4)
    for level, ax in axes.items():
        for way in [way for way in ways if way in values.way.values]:
            curves = values.sel(way=way, level=level).dropna("seed", how="all").dropna("round", how="any")
            curves = curves.transpose("seed", "round")
            if curves.size:
                band(ax, curves["round"], curves.values, label=way, **{"ms": 3, "marker": "o"} | STYLES[way])
        if mark:
            ax.axvline(mark, color="0.6", ls=":", lw=1)
        ax.set(xlabel="round", title=size_of(level))
        ax.xaxis.get_major_locator().set_params(integer=True)
    first, *_ = axes.values()
    first.set_ylabel(ylabel)
    legend_above(fig, first, 5)
    return fig


ALIKE = "ten means, no network"


def controls(table: xarray.DataArray, means: xarray.Dataset | None = None) -> Figure:
    """A row for each way to train, and one for ``by_means``; a panel for each size: seeds as dots, their mean as a
    line; dotted is guessing."""
    if means is not None:
        table = xarray.concat([table, means["all"].expand_dims(way=[ALIKE])], "way", join="outer")
    ways = [way for way in (FEDAVG, ALIKE, *WAYS[1:]) if way in table.way.values]
    fig, axes = panels(1, table.sizes["level"], size=(2.2, 2.8), sharey=True)
    for ax, level in zip(axes[0], table.level.values, strict=True):
        for j, way in enumerate(ways):
            seen = table.sel(way=way, level=level).dropna("seed").values
            color = STYLES.get(way, {"color": "0.4"})["color"]
            ax.plot(seen, np.full(len(seen), j), "o", ms=4, mfc="none", color=color)
            ax.plot([seen.mean()] * 2, [j - 0.3, j + 0.3], "-", lw=2.5, color=color)
        ax.axvline(10, color="0.5", lw=0.8, ls=":")
        ax.set(title=size_of(level), ylim=(len(ways) - 0.5, -0.5))
        ax.set_yticks(range(len(ways)), ways)
        ax.grid(axis="y", lw=0.4)
    fig.supxlabel("clean digits read (%)", fontsize=9)
    return fig


VIEWS = {"clean": "clean", "own": "clients' own shifts (mean)", "fresh": "fresh shifts (worst)"}


def ascents(shifted: xarray.DataArray) -> Figure:
    """Dots over the size of the shift [way, view, level, seed]: with the ascent hollow, a panel for each view."""
    fig, (axes,) = panels(1, len(VIEWS), size=(2.7, 2.7), sharey=True)
    ways = [way for way in shifted.way.values.tolist() if STRONG not in way]
    levels = shifted.level.values
    for ax, (view, title) in zip(axes, VIEWS.items(), strict=True):
        for j, way in enumerate(ways):
            mean, sd = mean_sd(shifted.sel(way=way, view=view).transpose("seed", "level").values)
            place = np.arange(len(levels)) + 0.12 * (j - (len(ways) - 1) / 2)
            color = STYLES[way.split(" +")[0]]["color"]
            ax.errorbar(place, mean, sd, fmt="o", ms=5, color=color, mfc="white" if "+" in way else color, label=way)
        ax.axhline(10, color="0.5", lw=0.8, ls=":")
        ax.set(title=title, xlabel=LEVEL)
        set_ticks(ax.xaxis, range(len(levels)), [f"{level:g}" for level in levels])
    axes[0].set_ylabel("digits read (%)")
    legend_above(fig, axes[0], 4)
    return fig


def answer(accuracy: xarray.DataArray, pictures: xarray.Dataset, level: float = 0.5) -> Figure:
    """Left what clients see of five digits; then the digits read (%) against the size of the shift, early and late."""
    fig, ((left, *others),) = panels(1, 3, size=(2.9, 2.9))
    rows, names = seen_rows(pictures.sel(level=level))
    digit_grid(left, np.nan_to_num(rows), names)
    left.set_title(size_of(level))
    for ax, place in zip(others, (0, -1), strict=True):
        reached(ax, accuracy.isel(round=place).sortby("level"))
        ax.set_ylim(0, 100)
    others[1].legend(loc="lower left")
    return fig


def reached(ax: Axes, accuracy: xarray.DataArray) -> None:
    """Digits read (%) [way, level, seed] after a round against the size of the shift, every seed a dot."""
    for way in [way for way in FOUR if way in accuracy.way.values]:
        values = accuracy.sel(way=way).transpose("seed", "level")
        style = STYLES[way]
        ax.plot(values.level, values.values.T, ".", ms=3, alpha=0.5, color=style["color"], label="_seeds")
        ax.plot(values.level, values.mean("seed"), label=way, **{"ms": 4, "marker": "o"} | style)
    against_level(ax, accuracy.assign_attrs(level=LEVEL))
    ax.set_title(f"read after {accuracy['round'].item()} rounds (%)")


def rows_of(values: xarray.DataArray, digits: int = 1) -> list[list[str]]:
    """A table's rows of values [way, level, seed], with st.dev. over the seeds that were trained."""
    return [
        [way, *(plus_minus(values.sel(way=way, level=level).dropna("seed").values, digits) for level in values.level)]
        for way in values.way.values.tolist()
    ]


def mean_rows(means: xarray.Dataset) -> list[list[str]]:
    """Rows of ``study.by_means``."""
    return rows_of(means.rename(one="client 1's alone").to_dataarray("way"))


def change_rows(table: xarray.DataArray) -> list[list[str]]:
    """Rows of what changes by how many points, seed by seed."""
    pairs = {
        "gain of the maps on FedAvg": (MAPPED, FEDAVG),
        "of it: class means, without any transport": (MEANS, FEDAVG),
        "maps less class means": (MAPPED, MEANS),
        "affine maps less maps": (AFFINE, MAPPED),
        **{f"{way} less maps": (way, MAPPED) for way in WAYS if way not in FOUR},
    }
    trained = {name: pair for name, pair in pairs.items() if {*pair} <= {*table.way.values}}
    changes = [gain(table, *pair).expand_dims(way=[name]) for name, pair in trained.items()]
    return [row for change in changes for row in rows_of(change)]


def reading_rows(readings: xarray.DataArray, printed: Mapping[str, Mapping[float, float]]) -> list[list[str]]:
    """Rows: a reading and its pixels, FedAvg and mapped at each level, mean distance (points) to Table 1; the nearest
    first."""
    rows = []
    for reading in readings.reading.values.tolist():
        mean = readings.sel(reading=reading).mean("seed")
        cells = [" / ".join(f"{mean.sel(way=w, level=v).item():.1f}" for w in (FEDAVG, MAPPED)) for v in mean.level]
        far = [
            abs(mean.sel(way=way, level=level).item() - value)
            for way, name in ((FEDAVG, "FedAvg"), (MAPPED, "theirs"))
            for level, value in printed[name].items() if level in mean.level
        ]  # fmt: skip
        rows.append((np.mean(far) if far else np.nan, [reading, *cells]))
    return [[*row, f"{far:.1f}"] for far, row in sorted(rows)]


def level_rows(table: xarray.Dataset) -> list[list[str]]:
    """Rows of numbers against the level."""
    return [[name, *(f"{value:.3f}" for value in table[name].values)] for name in table.data_vars]


RATE_HEADER = ("size of the shift", "rounds", "FedAvg (%)", "rate", "mapped (%)", "rate", "mapped less FedAvg (points)")


def rate_rows(rates: xarray.Dataset, rounds: Sequence[int]) -> list[list[str]]:
    """Rows of RATE_HEADER: each way at the rate that digits held out chose (``study.at_own_rate``), mean ± st.dev. over
    seeds, and the gain seed by seed with its 95 % interval."""
    best, rows = at_own_rate(rates), []
    for level, r in product(best.level.values.tolist(), rounds):
        one = best.sel(level=level, round=r)
        cells = [cell for way in (FEDAVG, MAPPED)
                 for cell in (plus_minus(one.sel(way=way).values, 1), f"{one.lr.sel(way=way).item():g}")]  # fmt: skip
        mean, low, high = mean_and_interval(gain(one).values)
        rows.append([f"{level:g}", str(r), *cells, f"{mean:.1f} [{low:.1f}, {high:.1f}]"])
    return rows


def followed_rows(followed: xarray.DataArray) -> list[list[str]]:
    """A row for each way and rate, a column for each of ``study.VIEWS``: after the last round, each seed."""
    last = followed.isel(round=-1).squeeze("level", drop=True)
    return [
        [f"{way}, {lr:g}", *(seeds(last.sel(way=way, lr=lr, view=view).values) for view in last.view.values)]
        for way, lr in product(last.way.values.tolist(), last.lr.values.tolist())
    ]


def seeds(values: np.ndarray) -> str:
    """Values of the seeds, one after the other."""
    return " / ".join(f"{value:.2f}" if value < 5 else f"{value:.0f}" for value in values)
