"""Pictures of the digits show what is stored, on one grey scale, and the printed table beside ours."""

import numpy as np
import pytest
import xarray

from fedlib.notebook.style import COLORS
from fedlib.papers.feddro.digits import figures, study, ways
from fedlib.streams import stream

LEVELS = [0.5, 2.0]
PRINTED = {"FedAvg": {0.5: 87.4, 2.0: 55.9}, "theirs": {0.5: 90.9, 2.0: 75.1}}


@pytest.fixture(scope="module")
def table():
    values = stream(0, "table").uniform(20, 90, (len(ways.WAYS), 2, 3))
    values[ways.WAYS.index(ways.SAMPLES), :, 1:] = np.nan  # one seed
    return xarray.DataArray(values, {"way": [*ways.WAYS], "level": LEVELS, "seed": [0, 1, 2]}, ("way", "level", "seed"))


@pytest.fixture(scope="module")
def accuracy(table):
    rounds = xarray.DataArray([10, 20], dims="round", name="round")
    return xarray.concat([table, table + 5], rounds).sel(way=[*study.FOUR]).transpose("way", "round", "level", "seed")


@pytest.fixture(scope="module")
def pictures():
    x = stream(0, "pictures").normal(size=(3, 2, 3, 5, 784)).astype("float32")
    dims, flat = ("level", "client", "digit", "pixel"), ("level", "digit", "pixel")
    rows = dict(zip(("written", "seen", "carried"), x, strict=True))
    means = {"mean": x[0].mean(1), "mean in Q": x[1].mean(1)}
    arrays = {name: (dims, values) for name, values in rows.items()} | {name: (flat, v) for name, v in means.items()}
    return xarray.Dataset(arrays, {"level": [0.2, 0.5]})


def test_tiles_have_one_scale_and_white_gaps():
    rows = np.array([[np.full(784, 0.0), np.full(784, 1.0)], [np.full(784, 2.0), np.full(784, 5.0)]])
    page = figures.tiles(rows, 0.0, 2.0)
    assert page.shape == (2 * 28 + 2, 2 * 28 + 2)
    assert [page[0, 0], page[0, 30], page[30, 0], page[30, 30]] == [0, 0.5, 1, 1]
    assert (page[28:30] == 1).all()


def test_lenses_show_what_is_written_and_what_each_client_sees(pictures):
    fig = figures.lenses(pictures)
    assert [ax.get_title() for ax in fig.axes] == [figures.size_of(level) for level in (0.2, 0.5)]
    assert [label.get_text() for label in fig.axes[0].get_yticklabels()] == [
        "written", "client 1 sees", "client 2 sees", "client 3 sees"
    ]  # fmt: skip
    page = fig.axes[1].images[0].get_array()
    seen = pictures.seen.sel(level=0.5).isel(client=1, digit=2).values.reshape(28, 28)
    np.testing.assert_allclose(page[60:88, 60:88], np.clip((seen + 0.5) / 3.3, 0, 1), rtol=1e-5)


def test_what_averages_make_is_less_the_mean_of_its_row(pictures):
    fig = figures.made_of(pictures)
    page = fig.axes[0].images[0].get_array()
    row = pictures["mean in Q"].sel(level=0.2)
    digit = (row - row.mean("digit")).isel(digit=1).values.reshape(28, 28)
    np.testing.assert_allclose(page[90:118, 30:58], np.clip((digit + 1.5) / 3, 0, 1), rtol=1e-4, atol=1e-6)


def test_the_figure_of_table_1_has_printed_and_ours_side_by_side(table):
    fig = figures.table_1(table, PRINTED)
    gain = {level: PRINTED["theirs"][level] - PRINTED["FedAvg"][level] for level in LEVELS}
    ours = [table.sel(way="FedAvg"), table.sel(way="mapped"), study.gain(table)]
    for ax, printed, values in zip(fig.axes, (PRINTED["FedAvg"], PRINTED["theirs"], gain), ours, strict=True):
        lines = [line for line in ax.get_lines() if len(line.get_xdata()) == 2]
        squares, *dots, mean = [line for line in lines if line.get_xdata()[1] != 1]  # no line across
        assert squares.get_color() == COLORS["paper"]
        np.testing.assert_allclose(squares.get_ydata(), [*printed.values()])
        np.testing.assert_allclose(np.array([dot.get_ydata() for dot in dots]).T, values)
        np.testing.assert_allclose(mean.get_ydata(), values.mean("seed"))


def test_curves_are_the_means_over_the_seeds_that_were_trained(accuracy):
    absent = accuracy.where((accuracy.way != "mapped") | (accuracy.seed < 2))
    fig = figures.over_rounds(absent, "read (%)", mark=10)
    for ax, level in zip(fig.axes, LEVELS, strict=True):
        lines = {line.get_label(): line for line in ax.get_lines()}
        for way in study.FOUR:
            mean = absent.sel(way=way, level=level).mean("seed")
            np.testing.assert_allclose(lines[way].get_ydata(), mean)
        assert lines["FedAvg"].get_color() == COLORS["federated"]


def test_controls_have_a_row_for_each_way_and_for_ten_means(table):
    means = xarray.Dataset({"all": (("level", "seed"), np.full((2, 3), 50.0))}, {"level": LEVELS, "seed": [0, 1, 2]})
    fig = figures.controls(table, means)
    names = [label.get_text() for label in fig.axes[0].get_yticklabels()]
    assert names[:2] == ["FedAvg", figures.ALIKE] and {*names} == {*ways.WAYS, figures.ALIKE}
    assert len(figures.controls(table).axes[0].get_yticklabels()) == len(ways.WAYS)


def test_the_first_picture_and_the_ascents(accuracy, pictures, table):
    left, early, late = figures.answer(accuracy, pictures).axes
    assert left.get_title() == figures.size_of(0.5)
    for ax, round in ((early, 10), (late, 20)):
        (mapped,) = (line for line in ax.get_lines() if line.get_label() == "mapped")
        np.testing.assert_allclose(mapped.get_ydata(), accuracy.sel(way="mapped", round=round).mean("seed"))
        assert f"{round} rounds" in ax.get_title()
    names = ["FedAvg", "FedAvg + ascent", "mapped", "mapped + ascent"]
    view = xarray.DataArray([*figures.VIEWS], dims="view", name="view")
    shifted = xarray.concat([table.isel(way=slice(4)).assign_coords(way=names)] * 3, view)
    fig = figures.ascents(shifted)
    assert [ax.get_title() for ax in fig.axes] == [*figures.VIEWS.values()]
    assert [text.get_text() for text in fig.legends[0].get_texts()] == names


def test_tables(table):
    rows = {row[0]: row[1:] for row in figures.rows_of(table)}
    assert {*rows} == {*ways.WAYS} and "±" in rows["mapped"][0] and "±" not in rows[ways.SAMPLES][0]
    changes = {row[0]: row[1:] for row in figures.change_rows(table)}
    assert "maps less class means" in changes and "mapped, Q as printed less maps" in changes
    readings = xarray.concat([table, table - 30], xarray.DataArray(["a", "b"], dims="reading", name="reading"))
    coords = {"way": ["FedAvg", "mapped"], "level": LEVELS}
    exact = xarray.DataArray([[87.4, 55.9], [90.9, 75.1]], coords, [*coords])
    one = exact.expand_dims(reading=["found"], seed=[0])
    (row,) = figures.reading_rows(one, PRINTED)
    assert row == ["found", "87.4 / 90.9", "55.9 / 75.1", "0.0"]
    far = [float(row[-1]) for row in figures.reading_rows(readings, PRINTED)]
    assert far == sorted(far)
