"""The picture of three letters at any size, its pixels of a given number, and how right a drawing of it is."""

import numpy as np
import pytest
import torch

from fedlib.papers.fedstnn.letters import picture as letters
from fedlib.streams import torch_stream


def normal(*shape, key=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch_stream(0, "test", key), dtype=torch.float64).to(dtype)


@pytest.fixture
def picture():
    return letters.Picture(letters.letters())


def test_psi_has_exactly_xi_white_pixels():
    """Property 15: also among ties; strictly increasing maps change nothing."""
    scores = normal(3, 4800)
    for xi in (0, 1, 1332, 4800):
        assert (letters.psi(scores, xi).sum(-1) == xi).all()
        assert letters.psi(torch.zeros(4800), xi).sum() == xi
        assert (letters.psi(scores, xi) == letters.psi(scores.exp() - 3, xi)).all()
    assert letters.psi(torch.tensor([3.0, 1.0, 2.0]), 2).tolist() == [True, False, True]
    with pytest.raises(ValueError, match="5 white pixels"):
        letters.psi(torch.zeros(4), 5)


def test_a_finer_picture_has_the_same_centres(factor=3):
    """An odd factor puts a pixel's centre where the coarse one's was: there both pictures agree exactly."""
    fine = letters.letters((40 * factor, 120 * factor))
    np.testing.assert_array_equal(fine[factor // 2 :: factor, factor // 2 :: factor], letters.letters())


def test_pixels_of_any_size_are_square():
    xy = letters.pixels((20, 90)).reshape(20, 90, 2)
    assert xy[0, 0].tolist() == [-1, -4.5] and xy[-1, -1].tolist() == [1, 4.5]
    assert (xy[..., 0] == xy[:, :1, 0]).all() and (xy[..., 1] == xy[:1, :, 1]).all()


def test_drawings_are_judged_letter_by_letter(picture):
    truth, thirds = picture.white.ravel(), picture.thirds
    flipped = picture.truth.clone()
    flipped[thirds[1]] = False  # no S: psi has to find as many white pixels elsewhere
    scores = torch.stack(
        [picture.truth.double(), flipped.double() - 1e-3 * torch.arange(4800), normal(4800) + 100 * picture.truth]
    )
    white = picture.drawn(scores).numpy()
    assert (white.sum(-1) == picture.xi).all()
    np.testing.assert_array_equal(picture.overlaps(white)[[0, 2]], 1)
    np.testing.assert_array_equal(picture.right(white)[[0, 2]], 1)
    both, either = (white[1] & truth)[thirds[1]].sum(), (white[1] | truth)[thirds[1]].sum()
    assert picture.overlaps(white)[1, 1] == pytest.approx(both / either) and picture.overlaps(white)[1, 1] < 0.7
    assert picture.right(white)[1] == pytest.approx(1 - (white[1] ^ truth).sum() / 4800)


def test_an_empty_third_has_an_iou():
    """A reader's picture may have one: 1 where nothing is drawn there, 0 where something is."""
    white = np.zeros((2, 6), bool)
    white[0, :2] = True  # the left third
    picture = letters.Picture(white, ("left", "middle", "right"))
    overlaps = lambda scores: picture.overlaps(picture.drawn(scores).numpy()).tolist()  # noqa: E731
    assert overlaps(picture.truth.double()) == [1, 1, 1]
    assert overlaps(-picture.truth.double())[0] == 0
    assert 0 in overlaps(-picture.truth.double() - 1e-3 * torch.arange(12))[1:]
