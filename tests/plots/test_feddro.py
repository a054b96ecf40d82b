"""FedDRO's pictures show what they are given, and answer a slider within 200 ms."""

import numpy as np
import pytest

from fedlib.numerics.transport import fedwad, uniform
from fedlib.plots import feddro as draw
from fedlib.plots.feddro import World, draw_digits, draw_fedwad, tiles
from fedlib.plots.redraw import frame
from fedlib.problems.feddro import Transported
from fedlib.streams import stream

from ..conftest import assert_redraws_fast, every_move


@pytest.fixture(scope="module")
def worlds():
    return {lam: World(*stream(0, "worlds").normal(size=(4, 5, 10, 784))) for lam in (0.5, 2.0)}


@pytest.fixture(scope="module")
def two_clouds():
    x, y = stream(0, "clouds").normal(size=(2, 200, 2))
    X, Y = uniform(x), uniform(y + 4)
    return X, Y, fedwad(X, Y, 2 + 0.01 * x, 8)


def test_tiles_put_every_digit_in_its_place():
    rows = np.zeros((2, 3, 784))
    rows[:, :, 1] = 5.0  # every picture has its own range
    rows[1, 2, 28 * 27] = 10.0
    picture = tiles(rows)
    assert picture.shape == (58, 88)
    assert picture[0, 1] == 1
    assert picture[30, 61] == 0.5
    assert picture[30 + 27, 60] == 1


def test_a_world_has_an_example_of_each_class_and_its_nearest_atom():
    """Client 1 owns two points of class 0 and one of 1, client 0 one of class 1: its class 0 is empty."""
    x, y = np.arange(8.0).reshape(4, 2), np.array([1, 0, 0, 1])
    shards = [np.array([0]), np.array([2, 1, 3])]
    found = Transported(10 * x, np.array([[0.0, 0.0], [41.0, 49.0]]), np.array([0, 1]), [])
    world = draw.world(x, -x, found, y, shards)
    assert world.original.shape == (2, 10, 2)
    assert np.isnan(world.original[0, 0]).all()
    np.testing.assert_array_equal(world.shifted[1, :2], [[-4, -5], [-6, -7]])
    np.testing.assert_array_equal(world.mapped[0, 1], [0, 10])
    np.testing.assert_array_equal(world.atom[:, 1], [[0, 0], [41, 49]])


def test_class_means_are_those_above_the_mean_of_all():
    means = draw.class_means(np.array([[1.0, 0.0], [3.0, 0.0], [8.0, 6.0]]), np.array([0, 0, 4]))
    np.testing.assert_array_equal(means[[0, 4]], [[-2, -2], [4, 4]])
    assert np.isnan(means[1:4]).all()


def test_t_walks_from_the_shifted_to_the_mapped_digit(worlds):
    def column(t, j):
        image = draw_digits(worlds, 2.0, t, 3).axes[0].images[0].get_array()
        return np.asarray(image)[:, 30 * j : 30 * j + 28]

    np.testing.assert_array_equal(column(0, 2), column(0, 1))
    np.testing.assert_allclose(column(1, 2), column(1, 3))
    assert not np.allclose(column(0.5, 2), column(0, 2))


def test_fedwad_view_shows_the_gap(two_clouds):
    ax = draw_fedwad(*two_clouds, 3).axes[1]
    gap = ax.get_lines()[0].get_ydata()
    assert (np.diff(gap) < 0).all()
    assert (gap > 0).all()
    assert ax.get_lines()[1].get_ydata()[0] == gap[2]


def test_bad_values_are_refused(worlds, two_clouds):
    with pytest.raises(ValueError, match=r"computed: 0.5, 2.0"):
        draw_digits(worlds, 3.0, 0.5, 0)
    with pytest.raises(ValueError, match=r"a digit 0..9"):
        draw_digits(worlds, 2.0, 0.5, 10)
    with pytest.raises(ValueError, match=r"expected 1..8"):
        draw_fedwad(*two_clouds, 9)


def test_redraws_are_fast(worlds, two_clouds):
    for box in (draw.digits_explorer(worlds), draw.fedwad_explorer(*two_clouds)):
        assert_redraws_fast(every_move(box))


def test_moves_keep_the_axes(worlds, two_clouds):
    """Ticks, limits and labels do not depend on the sliders, so a redraw need not make them anew."""
    for one, other in (
        (draw_digits(worlds, 0.5, 0.1, 0), draw_digits(worlds, 2.0, 0.9, 9)),
        (draw_fedwad(*two_clouds, 1), draw_fedwad(*two_clouds, 8)),
    ):
        assert [frame(ax.xaxis) for ax in one.axes] == [frame(ax.xaxis) for ax in other.axes]
        assert [frame(ax.yaxis) for ax in one.axes] == [frame(ax.yaxis) for ax in other.axes]
        assert [names_of_ticks(ax) for ax in one.axes] == [names_of_ticks(ax) for ax in other.axes]


def names_of_ticks(ax):
    """``frame`` does not see names given with ``set_xticks``: they would stay as they were first drawn."""
    return [label.get_text() for label in (*ax.get_xticklabels(), *ax.get_yticklabels())]


def test_a_class_that_a_client_lacks_stays_empty(worlds):
    world = World(*(v.copy() for v in worlds[0.5]))
    for pictures in world:
        pictures[2, 3] = np.nan
    image = draw_digits({0.5: world}, 0.5, 0.5, 3).axes[0].images[0].get_array()
    assert np.isnan(image[60:88, :28].filled(np.nan)).all()
    assert not np.isnan(image[:58].filled(np.nan)).any()


@pytest.mark.parametrize(("count", "shape"), [(1, (1, 1)), (3, (2, 2)), (4, (2, 2))])
def test_any_number_of_panels(count, shape):
    """Panels of the digits: two in a row where there are many classes, the last row may have an empty place."""
    grids = {f"panel {i}": stream(i, "grid").normal(size=(2, 10, 784)) for i in range(count)}
    fig = draw.digit_panels(grids, ["first", "second"])
    assert fig.axes[0].get_subplotspec().get_gridspec().get_geometry() == shape
    shown = [ax for ax in fig.axes if ax.axison]
    assert [ax.get_title() for ax in shown] == list(grids)
    assert [ax.get_yticklabels() != [] for ax in shown] == [i % 2 == 0 for i in range(count)]


def test_curves_end_where_their_numbers_say():
    curves = {m: stream(0, m).uniform(size=(3, 5)) for m in draw.METHODS}
    fig = draw.draw_rounds({"a": curves, "b": curves}, "loss")
    for ax in fig.axes:
        lines = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
        for method, values in curves.items():
            np.testing.assert_allclose(lines[method], values.mean(0))
    assert [text.get_text() for text in fig.legends[0].get_texts()] == list(draw.METHODS)
    assert (fig.axes[0].get_ylabel(), fig.axes[1].get_ylabel()) == ("loss", "")


def test_bars_of_the_ascent_are_hatched():
    rows = {m: np.full((2, 1), 10.0 * i) for i, m in enumerate(("FedAvg", "FedAvg + ascent", "mapped"))}
    ax = draw.draw_accuracy({"clean": rows}, [0.5, 2.0], "accuracy").axes[0]
    bars = {c.get_label(): c.patches for c in ax.containers if hasattr(c, "patches")}
    assert [bar.get_height() for bar in bars["mapped"]] == [20, 20]
    assert {m: bool(patches[0].get_hatch()) for m, patches in bars.items()} == {m: "ascent" in m for m in rows}
    assert bars["FedAvg"][0].get_facecolor() == bars["FedAvg + ascent"][0].get_facecolor()


def test_gaps_are_logarithmic_while_they_are_positive():
    falling = {"p = 1": 10.0 ** -np.arange(4), "p = 2": 2.0 ** -np.arange(4)}
    fig = draw.draw_gaps({"falls": falling, "ends": {"exact": np.array([1.0, 0.5, 0.0])}, "one": {"r": np.ones(1)}})
    assert [ax.get_yscale() for ax in fig.axes[:3]] == ["log", "linear", "log"]
    assert fig.axes[0].get_lines()[0].get_xdata().tolist() == [1, 2, 3, 4]


def test_explorers_redraw(worlds, two_clouds):
    for box, name in ((draw.digits_explorer(worlds), "t"), (draw.fedwad_explorer(*two_clouds), "round")):
        controls, picture = box.children[:-2], box.children[-1]
        before = bytes(picture.value)
        slider = next(c for c in controls if c.description == name)
        slider.value = slider.max
        assert bytes(picture.value) != before
