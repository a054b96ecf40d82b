"""Distances from the letters' edges and holes, on pictures made by hand."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from fedlib.problems import letters, letters_edges
from fedlib.streams import stream


def from_text(text: str) -> np.ndarray:
    return np.array([[c == "#" for c in line] for line in text.split()])


def test_the_distance_is_that_to_the_nearest_pixel_of_the_other_colour():
    """All pairs of pixels by hand; negative inside."""
    white = stream(0, "blots").uniform(size=(40, 30)) < 0.1
    at = np.argwhere(np.ones_like(white))
    far = cdist(at, at)
    far[white.ravel()[:, None] == white.ravel()] = np.inf
    expected = far.min(1).reshape(white.shape) * np.where(white, -1, 1)
    np.testing.assert_allclose(letters_edges.edge_distance(white), expected, rtol=1e-12)


def test_the_distance_does_not_depend_on_the_size():
    """Every pixel as nine: half a pixel more or less at the edge, in the same unit."""
    coarse = letters_edges.edge_distance(letters.letters())
    fine = letters_edges.edge_distance(np.kron(letters.letters(), np.ones((3, 3), bool)))[1::3, 1::3]
    assert (np.sign(coarse) == np.sign(fine)).all() and abs(abs(coarse) - abs(fine)).max() < 1.4 * 0.5
    assert abs(coarse).min() == 1 and 4 < -coarse.min() < 6


def test_a_picture_of_one_colour_has_no_edge():
    for white in (True, False):
        with pytest.raises(ValueError, match="all white" if white else "all black"):
            letters_edges.edge_distance(np.full((40, 120), white))


def test_every_wrong_pixel_is_in_one_bin():
    truth, rng = letters.letters(), stream(0, "wrong")
    distance, wrong = letters_edges.edge_distance(truth), rng.uniform(size=(2, 3, *truth.shape)) < 0.1
    found = letters_edges.counts(wrong, distance)
    assert found.shape == (2, 3, len(letters_edges.BINS) - 1)
    np.testing.assert_array_equal(found.sum(-1), wrong.sum((-2, -1)))
    inside = np.asarray(letters_edges.BINS[1:]) <= 0
    np.testing.assert_array_equal(found[..., inside].sum(-1), (wrong & truth).sum((-2, -1)))


def test_a_bin_has_its_farther_end():
    distance = np.array([[-3.5, -3, -2, -1, 1, 2, 2.5, 3, 11]])
    each = [letters_edges.counts(distance == d, distance).tolist() for d in distance[0]]
    bins = letters_edges.BINS
    limits = [(bins[one.index(1)], bins[one.index(1) + 1]) for one in each]
    inf = np.inf
    assert limits == [(-inf, -3), (-3, -2), (-2, -1), (-1, 0), (0, 1), (1, 2), (2, 3), (2, 3), (10, inf)]


def test_share_of_a_set_near_the_edge():
    distance = np.array([[-3.0, -2.0, -1.0, 1.0, 2.0, 3.0]])
    everything = np.ones((1, 6), bool)
    np.testing.assert_allclose(letters_edges.within(everything, distance, [0.5, 1, 2, 3]), [0, 2 / 6, 4 / 6, 1])
    assert letters_edges.within(distance < 0, distance, [1]) == pytest.approx(1 / 3)
    assert letters_edges.within(np.zeros((2, 1, 6), bool), distance, [1]).tolist() == [[0], [0]]


def test_the_picture_itself_is_sharp_and_solid():
    truth = letters.letters()
    found = letters_edges.measured(truth[None], truth)
    inside = np.asarray(letters_edges.BINS[1:]) <= 0
    np.testing.assert_array_equal(found.white[0], inside)
    assert [x.item() for x in found[2:]] == [0, 0, 0, 1, 0, 0] and (found.wrong == 0).all()


def test_what_is_measured_on_a_drawing_with_known_faults():
    """A hole of one pixel in the middle of a stroke, one bite at an edge, one blot far away."""
    truth = letters.letters()
    distance = letters_edges.edge_distance(truth)
    faults = [np.argwhere(distance < -3)[0], np.argwhere(distance == -1)[0], np.argwhere(distance > 10)[0]]
    drawn = truth.copy()
    for i, j in faults:
        drawn[i, j] ^= True
    found = letters_edges.measured(np.stack([drawn, truth]), truth)
    near = (abs(distance) <= 2).sum()
    assert found.wrong[0] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 2 / 3, 2 / 3, 2 / 3])
    assert found.near[0] == pytest.approx(1 / 3)
    assert found.at[0] == pytest.approx(1 / near) and found.away[0] == pytest.approx(2 / (4800 - near))
    assert found.solid[0] == pytest.approx(1 - 1 / (distance < -2).sum())
    assert found.holes.tolist() == [1, 0] and found.area.tolist() == [1, 0]


def test_no_pixel_at_the_edge_is_no_share():
    """Two rows: a pixel is 20 of the unit."""
    truth = np.array([[True, False, False], [True, False, False]])
    found = letters_edges.measured(truth, truth)
    assert found.at == 0 and found.away == 0 and found.solid == 1


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
    assert letters_edges.holes(from_text(text)) == expected


def test_the_letters_have_no_hole():
    for shape in (letters.SHAPE, letters.PAPER_SHAPE):
        white = letters.letters(shape)
        assert letters_edges.holes(white) == (0, 0)
        i, j = np.argwhere(letters_edges.edge_distance(white) < -3)[0]
        white[i, j] = False
        assert letters_edges.holes(white) == (1, 1)
