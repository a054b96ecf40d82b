"""Views of what is measured on drawn letters: their lines are the numbers that were measured."""

import numpy as np
import pytest

from fedlib.plots import letters_measures as draw
from fedlib.problems import letters, letters_edges
from fedlib.streams import stream


@pytest.fixture
def truth():
    return letters.letters()


def test_edges_view_shows_a_sharp_and_a_blurred_picture(truth):
    """The true picture lies on the step; of one with random faults as many are near the edge as of all pixels."""
    drawn = truth ^ (stream(0, "faults").uniform(size=(3, *truth.shape)) < 0.2)
    found = {
        "federation": letters_edges.measured(drawn, truth),
        "one model with all pixels": letters_edges.measured(truth[None], truth),
    }
    left, right = draw.edges_view(found, truth).axes
    step, blurred, sharp = (line.get_ydata() for line in left.lines)
    np.testing.assert_array_equal(step, sharp)
    assert abs(blurred - np.where(step, 0.8, 0.2)).max() < 0.1
    all_of, faults, none, _ = (line.get_ydata() for line in right.lines)
    assert abs(faults - all_of).max() < 0.03 and (none == 0).all()


def test_bins_have_names():
    assert draw.bin_names()[:5] == ["below -3", "-3 to -2", "-2 to -1", "-1 to 0", "0 to 1"]
    assert draw.bin_names()[-1] == "above 10" and len(draw.bin_names()) == len(letters_edges.BINS) - 1
    assert ((draw.distance_of_bins() < 0) == (np.asarray(letters_edges.BINS[1:]) <= 0)).all()


def test_sweep_view_shows_means_over_seeds():
    right, ious = np.array([[0.8, 0.9], [0.6, 0.9]]), np.full((2, 2, 3), 0.5)
    ious[:, 1, 2] = 0.2
    left, other = draw.sweep_view([50, 100], right, ious, 0.7).axes
    np.testing.assert_allclose(left.lines[0].get_ydata(), [0.7, 0.9])
    np.testing.assert_allclose(other.lines[0].get_ydata(), [0.5, 0.4])
    np.testing.assert_allclose(other.lines[1].get_ydata(), [0.5, 0.2])
    assert [t.get_text() for t in left.get_xticklabels()] == ["50", "100"]
