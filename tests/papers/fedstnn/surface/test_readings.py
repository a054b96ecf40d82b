"""What an "MSE" of samples could mean, against sums that are known beforehand."""

import numpy as np
import pytest

from fedlib.papers.fedstnn.plane import on_grid
from fedlib.papers.fedstnn.surface import readings
from fedlib.streams import stream

F = on_grid()


@pytest.fixture(scope="module")
def perfect():
    """Two seeds of a path and observations that differ from f by a noise of 0.1 each."""
    return [F + 0.1 * stream(0, name).standard_normal((2, len(F))) for name in ("path", "observations")]


def test_all_pairs_are_the_mean_over_both_indices():
    p, z = (stream(0, name).standard_normal((3, 40)) + 2 for name in "pz")
    np.testing.assert_allclose(readings.all_pairs(p, z), ((p[:, :, None] - z[:, None]) ** 2).mean((1, 2)))
    np.testing.assert_allclose(readings.aligned(p, z), [((a - b) ** 2).mean() for a, b in zip(p, z, strict=True)])


def test_only_a_broadcast_or_a_sum_makes_two_out_of_a_perfect_model(perfect):
    named = readings.readings(*perfect, 0.1)
    assert {name: values.shape for name, values in named.items() if "50 points" in name} == {
        name: (400,) if "good model" not in name else (1,) for name in named if "50 points" in name
    }
    means = {name: values.mean() for name, values in named.items()}
    assert means["all pairs of any good model, whole grid"] == pytest.approx(2 * F.var() + 0.02)
    assert 2 * F.var() == pytest.approx(2 * 1.0636, abs=1e-3)
    for where in ("whole grid", "50 points"):
        theory = means[f"all pairs of any good model, {where}"]
        assert means[f"aligned, {where}"] == pytest.approx(0.02, rel=0.05)
        assert means[f"(n, 1) - (n,) broadcast to all pairs, {where}"] == pytest.approx(theory, rel=0.05)
        assert means[f"zero everywhere, {where}"] == pytest.approx((F**2).mean() + 0.01, rel=0.05)
    assert means["aligned, whole grid, in percent (x 100)"] == pytest.approx(100 * means["aligned, whole grid"])
    assert means["aligned, summed over one slice of 101 points"] == pytest.approx(101 * 0.02, rel=0.3)


def test_theory_of_pairs_of_few_points():
    """Against all 3 subsets of 2 of 3 points, by hand; without noise."""
    f, subsets = np.array([0.0, 1.0, 5.0]), ([0, 1], [0, 2], [1, 2])
    by_hand = np.mean([readings.all_pairs(f[s], f[s]) for s in subsets])
    assert readings.expected_of_pairs(2, f, 0) == pytest.approx(by_hand) == pytest.approx((1 + 25 + 16) / 6)


def test_shapes_that_would_broadcast_are_refused():
    for p, z in ((np.ones((50, 1)), np.ones(50)), (np.ones((1, 9)), np.ones((5, 9)))):
        with pytest.raises(ValueError, match="would broadcast"):
            readings.aligned(p, z)


def test_draws_of_points_have_no_repetition():
    where = readings.some(100, 50, 20)
    assert where.shape == (20, 50) and all(len(set(draw)) == 50 for draw in where)
    assert len(np.unique(where)) == 100
