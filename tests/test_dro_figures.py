"""FedDRO's pictures show what they are given, and answer a slider within 200 ms."""

import numpy as np
import pytest

from fedlib import dro_figures
from fedlib.dro_figures import World, draw_digits, draw_fedwad, tiles
from fedlib.pages import png
from fedlib.streams import stream
from fedlib.transport import fedwad, uniform

from .conftest import assert_redraws_fast


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
    for draw in (lambda: draw_digits(worlds, 0.5, 0.3, 4), lambda: draw_fedwad(*two_clouds, 5)):
        assert_redraws_fast(lambda draw=draw: png(draw()))


def test_explorers_redraw(worlds, two_clouds):
    for box, name in ((dro_figures.digits_explorer(worlds), "t"), (dro_figures.fedwad_explorer(*two_clouds), "round")):
        controls, picture = box.children[:-2], box.children[-1]
        before = bytes(picture.value)
        slider = next(c for c in controls if c.description == name)
        slider.value = slider.max
        assert bytes(picture.value) != before
