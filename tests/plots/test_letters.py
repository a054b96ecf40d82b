"""Views of the picture that nobody owns: right and wrong pixels, every client, and sliders that answer in time."""

import numpy as np
import pytest

from fedlib.federated.partitions import focused
from fedlib.plots import letters as draw_letters
from fedlib.problems import letters as picture_of
from fedlib.runs.pages import png
from fedlib.streams import stream

from ..conftest import assert_redraws_fast, every_move


@pytest.fixture
def letters():
    """Three clients whose scores are: the truth, its opposite, noise; two rounds. The federation: noise, then truth."""
    truth, rng = picture_of.letters().ravel(), stream(0, "scores")
    noise = rng.uniform(size=len(truth))
    scores = {"alone": np.stack([[truth, ~truth, noise]] * 2).astype(float), "federation": np.stack([noise, truth])}
    return scores, truth, focused(picture_of.thirds(), len(truth), 3, 400, 12, rng)


def test_letters_view_knows_right_from_wrong(letters):
    scores, truth, owned = letters
    fig = draw_letters.draw_letters(scores, truth, owned, client=1, round=2)
    titles = [ax.get_title() for ax in fig.axes]
    assert titles[0] == "client 1 owns\n412 pixels"
    assert titles[1].startswith("alone, round 2\nIoU F 1.00, S 1.00, U 1.00")
    (image,) = fig.axes[1].images
    np.testing.assert_array_equal(image.get_array().ravel(), truth)  # no pixel is coloured as wrong
    seen = fig.axes[0].images[0].get_array().ravel()
    assert np.isfinite(np.ma.filled(seen, np.nan)).sum() == 412
    wrong = draw_letters.draw_letters(scores, truth, owned, client=2, round=1).axes[1].images[0].get_array()
    assert (wrong >= 2).sum() == 2 * truth.sum()  # all white ones missed, as many black ones white


@pytest.mark.parametrize("chosen", [dict(client=0, round=1), dict(client=4, round=1), dict(client=1, round=3)])
def test_unknown_client_or_round_is_refused(letters, chosen):
    with pytest.raises(ValueError, match=r"expected 1\.\.3 and 1\.\.2"):
        draw_letters.draw_letters(*letters, **chosen)


def test_iou_view_shows_every_client_of_every_seed():
    S, R, K = 2, 4, 6
    own, others = np.full((S, K), 0.9), np.full((S, K, 2), 0.1)
    left, right = draw_letters.iou_view([1, 2, 3, 4], np.full((S, R, 3), 0.5), own, others).axes
    assert [len(line.get_ydata()) for line in right.lines] == [S * K, 2 * S * K, 3 * S]
    assert [set(line.get_ydata()) for line in right.lines] == [{0.9}, {0.1}, {0.5}]
    assert len(left.lines) == 3


@pytest.mark.parametrize("n", [1, 2, 5])
def test_pictures_view_has_no_empty_panel(letters, n):
    truth = letters[1]
    fig = draw_letters.pictures_view({f"round {r}": truth for r in range(n)}, truth)
    assert [ax.get_title() for ax in fig.axes] == [f"round {r}: IoU F 1.00, S 1.00, U 1.00" for r in range(n)]


def test_the_view_is_pure(letters):
    def drawn(client):
        return png(draw_letters.draw_letters(*letters, client=client, round=1))

    assert drawn(2) == drawn(2) != drawn(3)


def test_sliders_answer_at_once():
    """With the scores of notebook 09 in its quick profile."""
    rng, truth = stream(0, "quick size"), picture_of.letters().ravel()
    scores = {
        "alone": rng.uniform(size=(10, 30, len(truth))).astype(np.float32),
        "federation": rng.uniform(size=(10, len(truth))).astype(np.float32),
    }
    owned = focused(picture_of.thirds(), len(truth), 30, 400, 12, rng)
    assert_redraws_fast(every_move(draw_letters.letters_explorer(scores, truth, owned)))
