"""Pictures of drawings show their pixels and numbers."""

import numpy as np
import pytest

from fedlib.papers.fedstnn.letters import edges, figures, picture
from fedlib.streams import stream

from .test_study import PICTURE, SEEDS, TRUTH, K, one_letter, results  # noqa: F401


def test_right_and_wrong_pixels_are_told_apart():
    white = np.array([False, True, True, False])
    np.testing.assert_array_equal(figures.codes(white, np.array([False, True, False, True])), [0, 1, 2, 3])
    fig = figures.drawings({"one": TRUTH, "other": ~TRUTH}, PICTURE)
    assert [ax.get_title() for ax in fig.axes] == [
        "one, overlap F 1.00, S 1.00, U 1.00",
        "other, overlap F 0.00, S 0.00, U 0.00",
    ]
    right, wrong = (ax.images[0].get_array() for ax in fig.axes)
    np.testing.assert_array_equal(right, PICTURE.white)
    assert (wrong >= 2).all()


def test_letters_are_those_of_the_first_client_of_each_group(results):  # noqa: F811
    fig = figures.letters(results)
    assert [ax.get_title().split(",")[0] for ax in fig.axes] == [
        "client 1 alone", "client 3 alone", "client 5 alone", "federated",
    ]  # fmt: skip
    for j, ax in enumerate(fig.axes[:3]):
        white = np.isin(ax.images[0].get_array().ravel(), (1, 2))
        np.testing.assert_array_equal(white, one_letter(j))


def test_rounds_come_in_order(results):  # noqa: F811
    assert [ax.get_title().split(",")[0] for ax in figures.rounds(results).axes] == ["round 1", "round 2"]


def test_overlaps_show_every_client_of_every_seed(results):  # noqa: F811
    left, right = figures.overlaps(results).axes
    S = len(SEEDS)
    assert [len(line.get_ydata()) for line in right.lines] == [S * K, 2 * S * K, 3 * S]
    assert {*right.lines[0].get_ydata()} == {*right.lines[2].get_ydata()} == {1.0}
    assert len(left.lines) == 3 and all(line.get_ydata()[-1] == 1 for line in left.lines)


def test_edges_show_a_sharp_and_a_blurred_picture():
    """The true picture lies on the step; one with random faults a fifth away from it."""
    truth = picture.letters()
    faulty = truth ^ (stream(0, "faults").uniform(size=(3, *truth.shape)) < 0.2)
    measured = {
        "federated": edges.measured(faulty, truth),
        "one model with all pixels": edges.measured(truth[None], truth),
    }
    (ax,) = figures.edges(measured, truth).axes
    step, blurred, sharp = (line.get_ydata() for line in ax.lines)
    np.testing.assert_array_equal(step, sharp)
    assert abs(blurred - np.where(step, 0.8, 0.2)).max() < 0.1


def test_levels_show_means_over_seeds(results):  # noqa: F811
    (ax,) = figures.levels(results).axes
    for j, line in enumerate(ax.lines):
        np.testing.assert_allclose(line.get_ydata(), [PICTURE.overlaps(one_letter(0))[j], 1])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["100", "400"]


@pytest.mark.parametrize("shape", [(40, 120), (20, 50), (50, 20)])
def test_the_thirds_are_the_picture_side_by_side(shape):
    """Of any size: also where three do not divide the columns, and of another shape."""
    goal = picture.Picture(picture.letters(shape), ("left", "middle", "right"))
    whole, *parts = figures.thirds(goal).axes
    np.testing.assert_array_equal(whole.images[0].get_array(), goal.white)
    np.testing.assert_array_equal(np.hstack([ax.images[0].get_array() for ax in parts]), goal.white)
    assert parts[0].get_title() == "sub-image 1: left (Fig. 13)"


def test_owners_show_what_a_client_knows():
    shards = {"a": np.arange(0, 4800, 7), "b": np.arange(3)}
    _, *others = figures.owners(PICTURE, shards).axes
    for ax, shard in zip(others, shards.values(), strict=True):
        pixels = ax.images[0].get_array().ravel()
        np.testing.assert_array_equal(np.flatnonzero(pixels != 4), shard)
        np.testing.assert_array_equal(pixels[shard], TRUTH[shard])
