"""Views of the picture that nobody owns: right and wrong pixels, every client, and sliders that answer in time."""

import numpy as np
import pytest

from fedlib.notebook.pages import png
from fedlib.plots import letters as draw_letters
from fedlib.problems import letters as problem
from fedlib.problems import letters_study as study
from fedlib.streams import stream

from ..conftest import assert_redraws_fast, every_move

ROUNDS = [3, 7]


@pytest.fixture
def picture():
    return problem.Picture(problem.letters())


@pytest.fixture
def letters(picture):
    """Three clients whose scores are: the truth, its opposite, noise; two rounds. The federation: noise, then truth."""
    truth, rng = picture.truth.numpy(), stream(0, "scores")
    noise = rng.uniform(size=len(truth))
    scores = {"alone": np.stack([[truth, ~truth, noise]] * 2).astype(float), "federation": np.stack([noise, truth])}
    return scores, picture, study.shards_of(picture, 3, 400, 12, 0), ROUNDS


def test_letters_view_knows_right_from_wrong(letters, picture):
    fig = draw_letters.draw_letters(*letters, client=1, round=7)
    titles = [ax.get_title() for ax in fig.axes]
    assert titles[0] == "client 1 owns\n412 pixels"
    assert titles[1].startswith("alone, round 7\nIoU F 1.00, S 1.00, U 1.00") and titles[2].endswith("U 1.00")
    (image,) = fig.axes[1].images
    np.testing.assert_array_equal(image.get_array(), picture.white)  # no pixel is coloured as wrong
    seen = fig.axes[0].images[0].get_array().ravel()
    assert np.isfinite(np.ma.filled(seen, np.nan)).sum() == 412
    wrong = draw_letters.draw_letters(*letters, client=2, round=3).axes[1].images[0].get_array()
    assert (wrong >= 2).sum() == 2 * picture.xi  # all white ones missed, as many black ones white


@pytest.mark.parametrize("chosen", [dict(client=0, round=3), dict(client=4, round=3), dict(client=1, round=1)])
def test_unknown_client_or_round_is_refused(letters, chosen):
    with pytest.raises(ValueError, match=r"expected 1\.\.3 and one of \[3, 7\]"):
        draw_letters.draw_letters(*letters, **chosen)


def test_iou_view_shows_every_client_of_every_seed():
    S, R, K = 2, 4, 6
    own, others = np.full((S, K), 0.9), np.full((S, K, 2), 0.1)
    left, right = draw_letters.iou_view([1, 2, 3, 4], np.full((S, R, 3), 0.5), own, others).axes
    assert [len(line.get_ydata()) for line in right.lines] == [S * K, 2 * S * K, 3 * S]
    assert [set(line.get_ydata()) for line in right.lines] == [{0.9}, {0.1}, {0.5}]
    assert len(left.lines) == 3


@pytest.mark.parametrize("n", [1, 2, 5])
def test_pictures_view_has_no_empty_panel(picture, n):
    fig = draw_letters.pictures_view({f"round {r}": picture.truth.numpy() for r in range(n)}, picture)
    assert [ax.get_title() for ax in fig.axes] == [f"round {r}: IoU F 1.00, S 1.00, U 1.00" for r in range(n)]


def test_shares_count_what_is_white(picture):
    """Also where a threshold, and no Psi, has drawn more or fewer pixels than the picture has."""
    everything = np.ones(4800, bool)
    expected = [picture.truth[t].double().mean().item() for t in picture.thirds]
    assert draw_letters.shares(everything, picture) == ", ".join(
        f"{letter} {v:.2f}" for letter, v in zip("FSU", expected, strict=True)
    )
    assert draw_letters.shares(~everything, picture) == "F 0.00, S 0.00, U 0.00"


@pytest.mark.parametrize("shape", [(40, 120), (20, 50), (50, 20)])
def test_the_thirds_are_the_picture_side_by_side(shape):
    """Of any size: also where three do not divide the columns, and of another shape."""
    picture = problem.Picture(problem.letters(shape), ("left", "middle", "right"))
    whole, *parts = draw_letters.thirds_view(picture).axes
    np.testing.assert_array_equal(whole.images[0].get_array(), picture.white)
    np.testing.assert_array_equal(np.hstack([ax.images[0].get_array() for ax in parts]), picture.white)
    assert [ax.get_title() for ax in parts] == [
        f"sub-image {i + 1}: {name} (Fig. {13 + i})" for i, name in enumerate(picture.names)
    ]


def test_owners_view_shows_who_knows_what(letters, picture):
    owned = dict(zip("abc", letters[2], strict=True))
    first, *others = draw_letters.owners_view(picture, owned).axes
    assert str(picture.xi) in first.get_title()
    for ax, own in zip(others, owned.values(), strict=True):
        seen = np.ma.filled(ax.images[0].get_array(), np.nan).ravel()
        np.testing.assert_array_equal(np.flatnonzero(np.isfinite(seen)), np.sort(own))
        np.testing.assert_array_equal(seen[own], picture.truth.numpy()[own])


def test_the_view_is_pure(letters):
    def drawn(client):
        return png(draw_letters.draw_letters(*letters, client=client, round=3))

    assert drawn(2) == drawn(2) != drawn(3)


def test_sliders_answer_at_once(picture):
    """With the scores of notebook 09 in its quick profile."""
    rng, n = stream(0, "quick size"), picture.white.size
    scores = {
        "alone": rng.uniform(size=(10, 30, n)).astype(np.float32),
        "federation": rng.uniform(size=(10, n)).astype(np.float32),
    }
    owned = study.shards_of(picture, 30, 400, 12, 0)
    assert_redraws_fast(every_move(draw_letters.letters_explorer(scores, picture, owned, list(range(1, 11)))))
