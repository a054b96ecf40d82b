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


def test_picture_has_a_letter_in_every_third(picture):
    xy = letters.pixels()
    assert picture.truth.shape == (4800,) and xy.shape == (4800, 2) and picture.xi == 1312
    assert all(300 < picture.truth[t].sum() < 600 for t in picture.thirds)
    assert xy.min(0).values.tolist() == [-1, -3] and xy.max(0).values.tolist() == [1, 3]
    assert letters.overlap(picture.white, picture.white).all()


@pytest.mark.parametrize("factor", [3, 5])
def test_a_finer_picture_has_the_same_centres(factor):
    """An odd factor puts a pixel's centre where the coarse one's was: there both pictures agree exactly."""
    fine = letters.letters((40 * factor, 120 * factor))
    np.testing.assert_array_equal(fine[factor // 2 :: factor, factor // 2 :: factor], letters.letters())


def test_letters_of_the_authors_size_differ_at_the_edges_only():
    """Stretched to 253 x 501: away from edges each pixel has the colour of its place at 40 x 120."""
    coarse, fine = letters.letters(), letters.letters(letters.PAPER_SHAPE)
    assert fine.shape == (253, 501) and abs(fine.mean() - coarse.mean()) < 0.01
    i, j = np.mgrid[:253, :501]
    nearest = coarse[(i + 0.5).astype(int) * 40 // 253, (j + 0.5).astype(int) * 120 // 501]
    padded = np.pad(coarse, 1, mode="edge")
    around = np.stack([padded[a : a + 40, b : b + 120] for a in range(3) for b in range(3)])
    plain = (around.all(0) | ~around.any(0))[(i + 0.5).astype(int) * 40 // 253, (j + 0.5).astype(int) * 120 // 501]
    assert (fine == nearest)[plain].all() and 0.5 < plain.mean() < 1
    assert [len(t) for t in letters.thirds((253, 501))] == [253 * 167] * 3


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


def test_the_objective_counts_wrong_pixels(picture):
    """Eq. 41, as a sum of squares; as many are white by mistake as black, so it is even."""
    white = picture.drawn(normal(5, 4800))
    squares = ((white.double() - picture.truth.double()) ** 2).sum(-1)
    np.testing.assert_array_equal(letters.objective(white, picture.truth), squares)
    wrong = picture.wrong(white.numpy())
    np.testing.assert_array_equal(wrong, squares)
    assert (wrong % 2 == 0).all() and (wrong > 0).all()
    assert picture.wrong(picture.drawn(-picture.truth.double()).numpy()) == 2 * picture.xi  # the worst one


def test_an_empty_third_has_an_iou():
    """A reader's picture may have one: 1 where nothing is drawn there, 0 where something is."""
    white = np.zeros((2, 6), bool)
    white[0, :2] = True  # the left third
    picture = letters.Picture(white, ("left", "middle", "right"))
    overlaps = lambda scores: picture.overlaps(picture.drawn(scores).numpy()).tolist()  # noqa: E731
    assert overlaps(picture.truth.double()) == [1, 1, 1]
    assert overlaps(-picture.truth.double())[0] == 0
    assert 0 in overlaps(-picture.truth.double() - 1e-3 * torch.arange(12))[1:]
