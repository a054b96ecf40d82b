"""Figures and tables of notebook 10b, functions of the arrays of ``study.Results``."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....notebook.pictures import against_level, curves, seeds_and_median
from ....notebook.style import COLORS, OTHERS, panels
from ....numerics.metrics import mean_and_interval, plus_minus
from .handwriting import SIDE
from .study import FOUR, TWO, VIEWS, at_own_rate, gain
from .ways import AFFINE, ATOMS, FEDAVG, MAPPED, MEANS

ALIKE = "ten means, no network"

STYLES = {
    FEDAVG: {"color": COLORS["federated"]},
    MEANS: {"color": OTHERS[1], "ls": "--", "marker": "^", "lw": 2.5},
    AFFINE: {"color": OTHERS[0], "ls": "-.", "marker": "D", "lw": 2},
    MAPPED: {"color": OTHERS[2], "marker": "s"},
    ATOMS: {"color": OTHERS[3], "ls": ":", "marker": "v"},
    ALIKE: {"color": OTHERS[4], "ls": "", "marker": "*"},
}
"""All are federations: FedAvg in their blue, what the digits become in other colours."""


def looks(way: str) -> dict:
    """Of a way; hollow with the ascent."""
    bare, _, ascends = way.partition(" + ")
    return STYLES[bare] | ({"mfc": "white", "ls": ":"} if ascends else {})


def size_of(level: float) -> str:
    """The size of a shift, as a title; the paper's |Lambda|."""
    return f"s = {level:g}"


# digits


STEP = SIDE + 2  # from one digit to the next


def tiles(rows: np.ndarray, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """Digits [R, C, 784] as one picture, on one scale from black (low) to white (high), with white gaps."""
    gap = STEP - SIDE
    square = np.clip((rows - low) / (high - low), 0, 1).reshape(*rows.shape[:2], SIDE, SIDE)
    square = np.pad(square, [(0, 0), (0, 0), (0, gap), (0, gap)], constant_values=1)
    return square.transpose(0, 2, 1, 3).reshape(len(rows) * STEP, -1)[:-gap, :-gap]


def digit_grid(ax: Axes, rows: np.ndarray, names: Sequence[str], low: float = -0.5, high: float = 2.8) -> None:
    """A grid of digits [R, C, 784] with a name for every row; black at low, white at high, as written ones are."""
    ax.imshow(tiles(rows, low, high), cmap="gray", vmin=0, vmax=1)
    ax.set_xticks([])
    ax.set_yticks(np.arange(len(names)) * STEP + SIDE / 2, names)
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


def over_rounds(values: xarray.DataArray) -> Figure:
    """Values [way, round, level, seed] over the rounds, a panel for each size of the shift."""
    by_size = {size_of(level): values.sel(level=level) for level in values.level.values}
    return curves(by_size, "round", "way", looks=looks, size=(2.3, 2.6), most=4, share=True)


def table_1(table: xarray.DataArray, printed: Mapping[str, Mapping[float, float]]) -> Figure:
    """Clean digits read (%) [way, level, seed], FedAvg and mapped, beside the printed table; right the gains."""
    difference = {level: printed[MAPPED][level] - printed[FEDAVG][level] for level in printed[FEDAVG]}
    values = {way: table.sel(way=[way]) for way in TWO} | {"gain": gain(table).expand_dims(way=[MAPPED])}
    return curves(values, "level", "way", looks=looks, size=(2.7, 2.8), printed=printed | {"gain": difference})


def leads(table: xarray.DataArray, means: xarray.DataArray) -> Figure:
    """How many more clean digits than FedAvg's the other ways read [way, level, seed], and ten means of all."""
    whole = xarray.concat([table, means.expand_dims(way=[ALIKE])], "way", join="outer")
    more = (whole.drop_sel(way=FEDAVG) - table.sel(way=FEDAVG, drop=True)).assign_attrs(
        long_name="lead over FedAvg", units="points", scale="linear"
    )
    fig = curves({"": more}, "level", "way", looks=looks, size=(6.2, 3.0))
    fig.axes[0].axhline(0, color=STYLES[FEDAVG]["color"], lw=1.5)
    return fig


def ascents(shifted: xarray.DataArray) -> Figure:
    """Digits read (%) [way, view, level, seed]: with the ascent hollow, a panel for each view."""
    titles = dict(zip(VIEWS, ("clean", "clients' own shifts (mean)", "fresh shifts (worst)"), strict=True))
    by_view = {title: shifted.sel(view=view) for view, title in titles.items()}
    return curves(by_view, "level", "way", looks=looks, size=(2.7, 2.7), share=True)


def answer(accuracy: xarray.DataArray, pictures: xarray.Dataset, level: float = 2.0) -> Figure:
    """Left what clients see of five digits; then the digits read (%) against the size of the shift, early and late."""
    fig, ((left, *others),) = panels(1, 3, size=(2.9, 2.9))
    rows, names = seen_rows(pictures.sel(level=level))
    digit_grid(left, np.nan_to_num(rows), names)
    left.set_title(size_of(level))
    for ax, place in zip(others, (0, -1), strict=True):
        values = accuracy.isel(round=place).sortby("level").transpose("way", "seed", "level")
        for way in [way for way in FOUR if way in values.way.values]:
            seeds_and_median(ax, values.level.values, values.sel(way=way).values, way, **STYLES[way])
        against_level(ax, values)
        ax.set(title=f"read after {values['round'].item()} rounds (%)", ylim=(0, 100))
    others[1].legend(loc="lower left")
    return fig


# tables


def rows_of(values: xarray.DataArray, digits: int = 1) -> list[list[str]]:
    """A table's rows of values [way, level, seed], with st.dev. over the seeds that were trained."""
    return [
        [way, *(plus_minus(values.sel(way=way, level=level).dropna("seed").values, digits) for level in values.level)]
        for way in values.way.values.tolist()
    ]


PAIRS = {
    "mapped less FedAvg": TWO[::-1],
    "class means less FedAvg": (MEANS, FEDAVG),
    "mapped less class means": (MAPPED, MEANS),
    "affine maps less mapped": (AFFINE, MAPPED),
    "barycenter Q less mapped": (ATOMS, MAPPED),
}


def change_rows(table: xarray.DataArray) -> list[list[str]]:
    """Rows of what changes by how many points, seed by seed, of those of PAIRS that are trained."""
    trained = {name: pair for name, pair in PAIRS.items() if {*pair} <= {*table.way.values}}
    return [row for name, pair in trained.items() for row in rows_of(gain(table, *pair).expand_dims(way=[name]))]


def reading_rows(readings: xarray.DataArray, printed: Mapping[str, Mapping[float, float]]) -> list[list[str]]:
    """Rows: a reading and its pixels, FedAvg and mapped at each level, mean distance (points) to Table 1; the nearest
    first."""
    rows = []
    for reading in readings.reading.values.tolist():
        mean = readings.sel(reading=reading).mean("seed")
        cells = [" / ".join(f"{mean.sel(way=w, level=v).item():.1f}" for w in TWO) for v in mean.level]
        far = [
            abs(mean.sel(way=way, level=level).item() - value)
            for way in TWO for level, value in printed[way].items() if level in mean.level
        ]  # fmt: skip
        rows.append((np.mean(far) if far else np.nan, [reading, *cells]))
    return [[*row, f"{far:.1f}"] for far, row in sorted(rows)]


def level_rows(table: xarray.Dataset) -> list[list[str]]:
    """Rows of numbers against the level."""
    return [[name, *(f"{value:.2f}" for value in table[name].values)] for name in table.data_vars]


RATE_HEADER = ("size of the shift", "rounds", "FedAvg (%)", "rate", "mapped (%)", "rate", "mapped less FedAvg (points)")


def rate_rows(rates: xarray.Dataset, rounds: Sequence[int]) -> list[list[str]]:
    """Rows of RATE_HEADER: each way at the rate that digits held out chose (``study.at_own_rate``), mean ± st.dev. over
    seeds, and the gain seed by seed with its 95 % interval."""
    best, rows = at_own_rate(rates), []
    for level, r in product(best.level.values.tolist(), rounds):
        one = best.sel(level=level, round=r)
        cells = [cell for way in TWO
                 for cell in (plus_minus(one.sel(way=way).values, 1), f"{one.lr.sel(way=way).item():.0e}")]  # fmt: skip
        mean, low, high = mean_and_interval(gain(one).values)
        rows.append([f"{level:g}", str(r), *cells, f"{mean:.1f} [{low:.1f}, {high:.1f}]"])
    return rows


def followed_rows(followed: xarray.DataArray) -> list[list[str]]:
    """A row for each way and rate, a column for each of ``study.FOLLOWED`` after the last round, each seed; then the
    most clean digits that were read on the way."""
    paths = followed.squeeze("level", drop=True)
    rows = []
    for way, lr in product(paths.way.values.tolist(), paths.lr.values.tolist()):
        path = paths.sel(way=way, lr=lr)
        columns = [*path.isel(round=-1).transpose("view", "seed").values, path.sel(view="clean").max("round").values]
        rows.append([f"{way}, {lr:.0e}", *(" / ".join(f"{value:.0f}" for value in values) for values in columns)])
    return rows
