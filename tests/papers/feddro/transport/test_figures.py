"""Pictures of transport show the clouds and the gap, and answer a slider within 200 ms."""

import numpy as np
import pytest

from fedlib.numerics.transport import fedwad, interpolant, uniform
from fedlib.plots import transport as draw
from fedlib.plots.transport import draw_fedwad
from fedlib.streams import stream

from ..conftest import assert_redraws_fast, every_move
from .test_digits import assert_a_move_redraws, assert_same_axes


@pytest.fixture(scope="module")
def two_clouds():
    x, y = stream(0, "clouds").normal(size=(2, 200, 2))
    X, Y = uniform(x), uniform(y + 4)
    return X, Y, fedwad(X, Y, 2 + 0.01 * x, 8)


def test_the_plane_shows_the_geodesic_and_the_barycenter(two_clouds):
    X, Y, _ = two_clouds
    left, right = draw.draw_plane(X, Y, [X.x, Y.x], 3 * Y.x).axes
    assert [line.get_label() for line in left.get_lines()] == [f"t = {t}" for t in ("0", "0.25", "0.5", "0.75", "1")]
    np.testing.assert_allclose(left.get_lines()[1].get_xydata(), interpolant(X, Y, 0.25).x)
    for line, points in zip(right.get_lines(), (X.x, Y.x, 3 * Y.x), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), points)
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["client 1", "client 2", "barycenter Q"]


def test_fedwad_view_shows_the_gap(two_clouds):
    ax = draw_fedwad(*two_clouds, 3).axes[1]
    gap = ax.get_lines()[0].get_ydata()
    assert (np.diff(gap) < 0).all()
    assert (gap > 0).all()
    assert ax.get_lines()[1].get_ydata()[0] == gap[2]


def test_a_round_that_was_not_run_is_refused(two_clouds):
    with pytest.raises(ValueError, match=r"expected 1..8"):
        draw_fedwad(*two_clouds, 9)


def test_gaps_are_logarithmic_while_they_are_positive():
    falling = {"p = 1": 10.0 ** -np.arange(4), "p = 2": 2.0 ** -np.arange(4)}
    fig = draw.draw_gaps({"falls": falling, "ends": {"exact": np.array([1.0, 0.5, 0.0])}, "one": {"r": np.ones(1)}})
    assert [ax.get_yscale() for ax in fig.axes[:3]] == ["log", "linear", "log"]
    assert fig.axes[0].get_lines()[0].get_xdata().tolist() == [1, 2, 3, 4]


def test_moves_are_fast_and_keep_the_axes(two_clouds):
    """Ticks, limits and labels do not depend on the round, so a redraw need not make them anew."""
    box = draw.fedwad_explorer(*two_clouds)
    assert_redraws_fast(every_move(box))
    assert_same_axes(draw_fedwad(*two_clouds, 1), draw_fedwad(*two_clouds, 8))


def test_the_explorer_redraws(two_clouds):
    assert_a_move_redraws(draw.fedwad_explorer(*two_clouds), "round")
