"""What pictures of the digits compute: a grey scale, differences, leads."""

import numpy as np
import pytest
import xarray

from fedlib.papers.feddro.digits import figures, study
from fedlib.streams import stream


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


def test_what_averages_make_is_less_the_mean_of_its_row(pictures):
    fig = figures.made_of(pictures)
    page = fig.axes[0].images[0].get_array()
    row = pictures["mean in Q"].sel(level=0.2)
    digit = (row - row.mean("digit")).isel(digit=1).values.reshape(28, 28)
    np.testing.assert_allclose(page[90:118, 30:58], np.clip((digit + 1.5) / 3, 0, 1), rtol=1e-4, atol=1e-6)


COORDS = {"way": [*study.FOUR], "level": [0.5, 2.0], "seed": [0, 1, 2]}
TABLE = xarray.DataArray(stream(0, "table").uniform(20, 90, (4, 2, 3)), COORDS, [*COORDS])


def drawn(ax) -> dict:
    return {line.get_label(): line.get_ydata() for line in ax.get_lines()}


def test_leads_are_what_each_way_and_ten_means_read_more_than_fedavg():
    lines, fedavg = drawn(figures.leads(TABLE, TABLE.sel(way="mapped", drop=True) - 1).axes[0]), TABLE.sel(way="FedAvg")
    more = (TABLE.sel(way="mapped", drop=True) - fedavg).median("seed")
    np.testing.assert_allclose(lines["mapped"], more)
    np.testing.assert_allclose(lines[figures.ALIKE], more - 1)
    assert "FedAvg" not in lines


def test_the_printed_table_stands_beside_ours_and_its_gain_beside_our_gain():
    printed = {"FedAvg": {0.5: 87.4, 2.0: 55.9}, "mapped": {0.5: 90.9, 2.0: 75.1}}
    *_, gain = figures.table_1(TABLE, printed).axes
    np.testing.assert_allclose(drawn(gain)["mapped"], study.gain(TABLE).median("seed"))
    np.testing.assert_allclose(drawn(gain)["printed, federated"], [3.5, 19.2])


def test_readings_are_ranked_by_how_far_they_are_from_the_printed_table():
    printed = {"FedAvg": {0.5: 87.4, 2.0: 55.9}, "mapped": {0.5: 90.9, 2.0: 75.1}}
    coords = {"way": ["FedAvg", "mapped"], "level": [0.5, 2.0]}
    exact = xarray.DataArray([[87.4, 55.9], [90.9, 75.1]], coords, [*coords]).expand_dims(seed=[0])
    readings = xarray.concat([exact - 30, exact], xarray.Variable("reading", ["far", "found"]))
    first, last = figures.reading_rows(readings, printed)
    assert first == ["found", "87.4 / 90.9", "55.9 / 75.1", "0.0"] and (last[0], last[-1]) == ("far", "30.0")
