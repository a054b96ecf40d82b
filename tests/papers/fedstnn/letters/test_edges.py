"""Distances from the letters' edges and holes, on pictures made by hand."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from fedlib.papers.fedstnn.letters import edges
from fedlib.papers.fedstnn.letters import picture as letters
from fedlib.streams import stream


def from_text(text: str) -> np.ndarray:
    return np.array([[c == "#" for c in line] for line in text.split()])


def test_the_distance_is_that_to_the_nearest_pixel_of_the_other_colour():
    """All pairs of pixels by hand; negative inside."""
    white = stream(0, "blots").uniform(size=(40, 30)) < 0.1
    places = np.argwhere(np.ones_like(white))
    far = cdist(places, places)
    far[white.ravel()[:, None] == white.ravel()] = np.inf
    expected = far.min(1).reshape(white.shape) * np.where(white, -1, 1)
    np.testing.assert_allclose(edges.edge_distance(white), expected, rtol=1e-12)


def test_a_picture_of_one_colour_has_no_edge():
    for white in (True, False):
        with pytest.raises(ValueError, match="all white" if white else "all black"):
            edges.edge_distance(np.full((40, 120), white))


def test_every_wrong_pixel_is_in_one_bin():
    truth, rng = letters.letters(), stream(0, "wrong")
    distance, wrong = edges.edge_distance(truth), rng.uniform(size=(2, 3, *truth.shape)) < 0.1
    measured = edges.counts(wrong, distance)
    assert measured.shape == (2, 3, len(edges.BINS) - 1)
    np.testing.assert_array_equal(measured.sum(-1), wrong.sum((-2, -1)))
    inside = np.asarray(edges.BINS[1:]) <= 0
    np.testing.assert_array_equal(measured[..., inside].sum(-1), (wrong & truth).sum((-2, -1)))


def test_a_bin_has_its_farther_end():
    distance = np.array([[-3.5, -3, -2, -1, 1, 2, 2.5, 3, 11]])
    each = [edges.counts(distance == d, distance).tolist() for d in distance[0]]
    bins = edges.BINS
    limits = [(bins[one.index(1)], bins[one.index(1) + 1]) for one in each]
    inf = np.inf
    assert limits == [(-inf, -3), (-3, -2), (-2, -1), (-1, 0), (0, 1), (1, 2), (2, 3), (2, 3), (3, inf)]


def test_what_is_measured_on_a_drawing_with_known_faults():
    """A hole of one pixel in the middle of a stroke, one bite at an edge, one blot far away."""
    truth = letters.letters()
    distance = edges.edge_distance(truth)
    faults = [np.argwhere(distance < -3)[0], np.argwhere(distance == -1)[0], np.argwhere(distance > 10)[0]]
    drawn = truth.copy()
    for i, j in faults:
        drawn[i, j] ^= True
    measured = edges.measured(np.stack([drawn, truth]), truth)
    near = (abs(distance) <= 2).sum()
    assert measured.near[0] == pytest.approx(1 / 3)
    assert measured.edge[0] == pytest.approx(1 / near) and measured.away[0] == pytest.approx(2 / (4800 - near))
    assert measured.solid[0] == pytest.approx(1 - 1 / (distance < -2).sum())
    assert measured.holes.tolist() == [1, 0] and measured.area.tolist() == [1, 0]


def test_no_pixel_at_the_edge_is_no_share():
    """Two rows: a pixel is 20 of the unit."""
    truth = np.array([[True, False, False], [True, False, False]])
    measured = edges.measured(truth, truth)
    assert measured.edge == 0 and measured.away == 0 and measured.solid == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("..... .###. .#.#. .###. .....", (1, 1)),  # a ring
        ("..... .###. .#... .###. .....", (0, 0)),  # open
        ("##.## #...# #####", (0, 0)),  # open at the top border, and at each other one
        ("##### #...# ##.##", (0, 0)),
        ("##### ....# #####", (0, 0)),
        ("##### #.... #####", (0, 0)),
        (".#.#. #.#.# .#.#.", (2, 2)),  # walls of corners close
        (".###### .#..#.# .####.# .######", (2, 4)),
        ("##### ##### #####", (0, 0)),
        ("..... ..... .....", (0, 0)),
    ],
)
def test_holes_of_hand_made_pictures(text, expected):
    assert edges.holes(from_text(text)) == expected
