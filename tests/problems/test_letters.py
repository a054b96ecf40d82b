"""The picture of three letters, and its pixels of a given number."""

import numpy as np
import pytest
import torch

from fedlib.federated.mixing import isolated
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


def test_scores_are_judged_by_what_they_draw():
    truth = torch.as_tensor(letters.letters().ravel())
    flipped = truth.clone()
    flipped[letters.thirds()[1]] = False  # no S: psi has to find as many white pixels elsewhere
    scores = torch.stack([truth.double(), flipped.double() - 1e-3 * torch.arange(4800), normal(4800) + 100 * truth])
    assert (letters.drawn(scores).sum(-1) == truth.sum()).all()
    np.testing.assert_array_equal(letters.ious(scores)[[0, 2]], 1)
    np.testing.assert_array_equal(letters.accuracy(scores)[[0, 2]], 1)
    picture = letters.drawn(scores)[1]
    both, any_of = ((picture & truth)[letters.thirds()[1]].sum(), (picture | truth)[letters.thirds()[1]].sum())
    assert letters.ious(scores)[1, 1] == pytest.approx((both / any_of).item()) and letters.ious(scores)[1, 1] < 0.7
    assert letters.accuracy(scores)[1] == pytest.approx(1 - (picture ^ truth).sum().item() / 4800)


def test_three_federations_for_each_seed():
    shards = {s: [np.arange(5), np.arange(3, 9)] for s in (2, 0)}
    feds = letters.federations(shards, 0.5, lr=0.02)
    assert list(feds) == [(name, s) for s in (2, 0) for name in ("federation", "alone", "central")]
    assert [feds[name, 2].fraction for name in ("federation", "alone", "central")] == [0.5, 1, 1]
    assert feds["alone", 0].mixing is isolated and {fed.lr for fed in feds.values()} == {0.02}
    np.testing.assert_array_equal(feds["central", 2].shards[0], np.arange(9))
    assert all(fed.seed == seed for (_, seed), fed in feds.items())


def test_one_path_is_looked_at():
    test = {"x_test": torch.zeros(4, 2), "w_test": torch.zeros(4, 1, 3, 2)}
    scores = letters.evaluate(lambda x, w: torch.arange(12.0).reshape(4, 3), test)["score"]
    np.testing.assert_array_equal(scores, [0, 3, 6, 9])
