"""The picture of three letters, and its pixels of a given number."""

import pytest
import torch

from fedlib.problems import letters
from fedlib.streams import torch_stream


def normal(*shape, key=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch_stream(0, "test", key), dtype=torch.float64).to(dtype)


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


def test_picture_has_a_letter_in_every_third():
    picture, xy = torch.as_tensor(letters.letters().ravel()), letters.pixels()
    assert picture.shape == (4800,) and xy.shape == (4800, 2)
    assert all(300 < picture[t].sum() < 600 for t in letters.thirds())
    assert xy.min(0).values.tolist() == [-1, -3] and xy.max(0).values.tolist() == [1, 3]
    assert letters.iou(picture, picture) == 1 and letters.iou(picture, ~picture) == 0
