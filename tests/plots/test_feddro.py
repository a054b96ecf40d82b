"""Pictures of FedDRO's training: curves and bars are the numbers that they are given."""

import numpy as np
import pytest
import xarray

from fedlib.plots import feddro as draw
from fedlib.plots.digits import size_of
from fedlib.streams import stream


@pytest.fixture
def curves():
    """[partition, level, way, seed, round]; the third seed was trained with the second partition only."""
    labels = {"partition": ["iid", "dirichlet"], "level": [0.5, 2.0], "way": list(draw.METHODS), "seed": [3, 1, 2]}
    values = stream(0, "curves").uniform(size=(2, 2, 3, 3, 5))
    values[0, :, :, 2] = np.nan
    return xarray.DataArray(values, labels | {"round": np.arange(1, 6)}, [*labels, "round"])


def test_curves_are_the_means_over_the_seeds_that_were_trained(curves):
    fig = draw.draw_rounds(curves, "loss")
    titles = [f"{p}, {size_of(v)}" for p in ("iid", "dirichlet") for v in (0.5, 2.0)]
    assert [ax.get_title() for ax in fig.axes] == titles
    for j, ax in enumerate(fig.axes):
        lines = {line.get_label(): line for line in ax.get_lines()}
        for i, way in enumerate(draw.METHODS):
            values = curves.values[j // 2, j % 2, i]
            np.testing.assert_allclose(lines[way].get_ydata(), np.nanmean(values, 0))
            assert lines[way].get_xdata().tolist() == [1, 2, 3, 4, 5]
    assert [text.get_text() for text in fig.legends[0].get_texts()] == list(draw.METHODS)
    assert [ax.get_ylabel() for ax in fig.axes] == ["loss", "", "loss", ""]


def test_one_partition_is_not_named(curves):
    fig = draw.draw_rounds(curves.sel(partition="dirichlet"), "loss")
    assert [ax.get_title() for ax in fig.axes] == [size_of(0.5), size_of(2.0)]


def test_bars_of_the_ascent_are_hatched():
    ways = ["FedAvg", "FedAvg + ascent", "mapped"]
    values = np.array([0.0, 10.0, 20.0])[:, None, None] + np.array([1.0, 2.0])[:, None]
    rows = xarray.DataArray(values, {"way": ways, "level": [0.5, 2.0], "seed": [0]}, ("way", "level", "seed"))
    ax = draw.draw_accuracy({"clean": rows}, "accuracy").axes[0]
    bars = {c.get_label(): c.patches for c in ax.containers if hasattr(c, "patches")}
    assert [bar.get_height() for bar in bars["mapped"]] == [21, 22]
    assert {way: bool(patches[0].get_hatch()) for way, patches in bars.items()} == {w: "ascent" in w for w in ways}
    assert bars["FedAvg"][0].get_facecolor() == bars["FedAvg + ascent"][0].get_facecolor()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.5", "2"]


def test_a_note_stands_in_the_figure(curves):
    assert "MNIST" in draw.noted(draw.draw_rounds(curves, "loss"), "MNIST").texts[0].get_text()


def test_controls_have_a_row_each_with_seeds_and_their_mean(curves):
    values = curves.isel(partition=0, round=0, drop=True)  # two seeds of three
    fig = draw.draw_controls(values, "accuracy")
    assert [ax.get_title() for ax in fig.axes] == [size_of(0.5), size_of(2.0)]
    assert [label.get_text() for label in fig.axes[0].get_yticklabels()] == list(draw.METHODS)
    for ax, level in zip(fig.axes, (0.5, 2.0), strict=True):
        lines = ax.get_lines()
        for j, way in enumerate(draw.METHODS):
            seen = values.sel(way=way, level=level).values[:2]
            np.testing.assert_allclose(np.sort(lines[2 * j].get_xdata()), np.sort(seen))
            assert set(lines[2 * j].get_ydata()) == {j}
            np.testing.assert_allclose(lines[2 * j + 1].get_xdata(), [seen.mean()] * 2)
