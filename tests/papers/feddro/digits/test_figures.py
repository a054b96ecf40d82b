"""Pictures of digits show what they are given, and answer a slider within 200 ms."""

import numpy as np
import pytest
from fedlib.plots.digits import Examples, draw_digits, tiles
from fedlib.problems.barycenters import World
from fedlib.problems.digits import Clients

from fedlib.live.redraw import frame
from fedlib.plots import digits as draw
from fedlib.streams import stream

from ..conftest import assert_redraws_fast, every_move


@pytest.fixture(scope="module")
def examples():
    return {lam: Examples(*stream(0, "worlds").normal(size=(4, 5, 10, 784))) for lam in (0.5, 2.0)}


def assert_same_axes(one, other):
    """Ticks, limits and labels of two figures are the same."""
    assert [frame(ax.xaxis) for ax in one.axes] == [frame(ax.xaxis) for ax in other.axes]
    assert [frame(ax.yaxis) for ax in one.axes] == [frame(ax.yaxis) for ax in other.axes]
    assert [names_of_ticks(ax) for ax in one.axes] == [names_of_ticks(ax) for ax in other.axes]


def names_of_ticks(ax):
    """``frame`` does not see names given with ``set_xticks``: they would stay as they were first drawn."""
    return [label.get_text() for label in (*ax.get_xticklabels(), *ax.get_yticklabels())]


def assert_a_move_redraws(box, name):
    """The picture is another one after the slider of this name went to its end."""
    controls, picture = box.children[:-2], box.children[-1]
    before = bytes(picture.value)
    slider = next(c for c in controls if c.description == name)
    slider.value = slider.values[-1]
    assert bytes(picture.value) != before


def test_tiles_put_every_digit_in_its_place():
    rows = np.zeros((2, 3, 784))
    rows[:, :, 1] = 5.0  # every picture has its own range
    rows[1, 2, 28 * 27] = 10.0
    picture = tiles(rows)
    assert picture.shape == (58, 88)
    assert picture[0, 1] == 1
    assert picture[30, 61] == 0.5
    assert picture[30 + 27, 60] == 1


def test_examples_are_the_first_of_each_class_and_its_nearest_atom():
    """Client 1 owns two points of class 0 and one of 1, client 0 one of class 1: its class 0 is empty."""
    x, y = np.arange(8.0).reshape(4, 2), np.array([1, 0, 0, 1])
    clients = Clients(x, y, [np.array([0]), np.array([2, 1, 3])])
    Q = Clients(np.array([[0.0, 0.0], [41.0, 49.0]]), np.array([0, 1]), [np.arange(2)] * 2)
    found = draw.examples(clients, World(clients._replace(x=-x), clients._replace(x=10 * x), Q, Q, []))
    assert found.original.shape == (2, 10, 2)
    for pictures in found:
        assert np.isnan(pictures[0, 0]).all()
    np.testing.assert_array_equal(found.shifted[1, :2], [[-4, -5], [-6, -7]])
    np.testing.assert_array_equal(found.mapped[0, 1], [0, 10])
    np.testing.assert_array_equal(found.atom[:, 1], [[0, 0], [41, 49]])


def test_class_means_are_those_above_the_mean_of_all():
    means = draw.class_means(np.array([[1.0, 0.0], [3.0, 0.0], [8.0, 6.0]]), np.array([0, 0, 4]))
    np.testing.assert_array_equal(means[[0, 4]], [[-2, -2], [4, 4]])
    assert np.isnan(means[1:4]).all()


def test_t_walks_from_the_shifted_to_the_mapped_digit(examples):
    def column(t, j):
        image = draw_digits(examples, 2.0, t, 3).axes[0].images[0].get_array()
        return np.asarray(image)[:, 30 * j : 30 * j + 28]

    np.testing.assert_array_equal(column(0, 2), column(0, 1))
    np.testing.assert_allclose(column(1, 2), column(1, 3))
    assert not np.allclose(column(0.5, 2), column(0, 2))


def test_bad_values_are_refused(examples):
    with pytest.raises(ValueError, match=r"computed: 0.5, 2.0"):
        draw_digits(examples, 3.0, 0.5, 0)
    with pytest.raises(ValueError, match=r"a digit 0..9"):
        draw_digits(examples, 2.0, 0.5, 10)


def test_redraws_are_fast(examples):
    assert_redraws_fast(every_move(draw.digits_explorer(examples)))


def test_moves_keep_the_axes(examples):
    """Ticks, limits and labels do not depend on the sliders, so a redraw need not make them anew."""
    assert_same_axes(draw_digits(examples, 0.5, 0.1, 0), draw_digits(examples, 2.0, 0.9, 9))


def test_a_class_that_a_client_lacks_stays_empty(examples):
    world = Examples(*(v.copy() for v in examples[0.5]))
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


def test_clients_have_a_row_each_and_a_panel_for_each_view():
    x, y = stream(0, "clients").normal(size=(6, 784)), np.array([0, 1, 0, 1, 1, 0])
    clients = Clients(x, y, [np.array([4, 2]), np.array([0, 3]), np.array([5, 1])])
    fig = draw.draw_clients({"as they are": clients, "moved": clients._replace(x=-x)}, classes=2)
    assert [ax.get_title() for ax in fig.axes] == ["as they are", "moved"]
    assert [label.get_text() for label in fig.axes[0].get_yticklabels()] == ["client 1", "client 2", "client 3"]
    drawn = [np.asarray(ax.images[0].get_array()) for ax in fig.axes]
    np.testing.assert_array_equal(drawn[0], tiles(x[[[2, 4], [0, 3], [5, 1]]]))
    np.testing.assert_array_equal(drawn[1], tiles(-x[[[2, 4], [0, 3], [5, 1]]]))


def test_barycenters_show_client_1_and_the_class_means(examples):
    """Rows 1 to 3 are the examples less a mean, rows 4 and 5 the class means; a class that is not there stays empty."""
    x = stream(0, "x").normal(size=(3, 784))
    seen = Clients(x, np.array([0, 1, 0]), [np.array([0, 1]), np.array([2])])
    Q = Clients(stream(0, "Q").normal(size=(3, 784)), np.array([0, 0, 1]), [np.arange(3)] * 2)
    fig = draw.draw_barycenters({level: World(seen, seen, Q, Q, []) for level in examples}, examples)
    assert [ax.get_title() for ax in fig.axes] == [draw.size_of(0.5), draw.size_of(2.0)]
    picture = np.asarray(fig.axes[1].images[0].get_array())
    some, middle = examples[2.0], Q.x.mean(0)
    rows = some.shifted[0] - x[:2].mean(0), some.mapped[0] - middle, some.atom[0] - middle
    for row, own in enumerate(rows):
        np.testing.assert_array_equal(picture[30 * row : 30 * row + 28], tiles([own]))
    for row, (points, labels) in ((3, (x[:2], [0, 1])), (4, (Q.x, [0, 0, 1]))):
        means = draw.class_means(points, np.array(labels))
        np.testing.assert_array_equal(picture[30 * row : 30 * row + 28, :58], tiles([means[:2]]))
    assert np.isnan(picture[90:118, 60:88]).all()


def test_the_explorer_redraws(examples):
    assert_a_move_redraws(draw.digits_explorer(examples), "t")
