"""Who owns which points: every point in the colour of its owner, and W1 beside its closed form."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from fedlib.notebook.pages import png
from fedlib.notebook.style import CLIENTS
from fedlib.plots import function_owners as draw_owners
from fedlib.problems import function_levels

from ..conftest import assert_redraws_fast, every_move


@pytest.mark.parametrize("method", ["x", "xy"])
def test_partition_view_gives_every_point_one_owner(method):
    (ax,) = draw_owners.draw_partition(method, 3, 4).axes
    shown = np.concatenate([line.get_xydata() for line in ax.get_lines()])
    assert len(ax.get_lines()) == 3
    assert len(np.unique(shown, axis=0)) == len(shown) == 400


def test_the_explorer_answers_a_slider_within_200_ms():
    assert_redraws_fast(every_move(draw_owners.partition_explorer()))


def test_points_of_a_curve_have_the_colours_of_their_owners():
    x = np.linspace(-1, 1, 12)
    halves, turns = function_levels.line(12, [2], [1, 6]).values()
    left, right = draw_owners.curve_owners(x, x**2, {"halves": halves, "turns": turns}).axes
    for ax, shards in ((left, halves), (right, turns)):
        for k, (line, own) in enumerate(zip(ax.lines, shards, strict=True)):
            np.testing.assert_array_equal(line.get_xydata(), np.stack([x[own], x[own] ** 2], 1))
            assert to_hex(line.get_color()) == CLIENTS[k].lower()
    assert (left.get_title(), right.get_title()) == ("halves", "turns")


def test_maps_have_x_to_the_right():
    values = np.arange(6.0).reshape(3, 2) / 6
    ax, *_ = draw_owners.maps({"f": values}).axes
    np.testing.assert_array_equal(ax.images[0].get_array(), values.T)


def test_pictures_of_partitions_and_of_their_distances():
    pictures = function_levels.examples(60)
    fig = draw_owners.square_owners(pictures)
    assert [ax.get_title() for ax in fig.axes] == list(pictures)
    for ax, clouds in zip(fig.axes, pictures.values(), strict=True):
        for line, own in zip(ax.lines, clouds, strict=True):
            np.testing.assert_array_equal(line.get_xydata(), own)
    (ax,) = draw_owners.w1_curves({"line": ("p", {2: ([2, 4], [1.0, 0.4], [1.0, 0.5])})}).axes
    measured, closed = ax.lines
    assert list(measured.get_ydata()) == [1.0, 0.4] and list(closed.get_ydata()) == [1.0, 0.5]
    assert closed.get_linestyle() == ":" and ax.get_xlabel() == "p"
    assert png(draw_owners.w1_curves({"line": ("p", {2: ([2], [1.0], [1.0])})})), "a level alone"
