"""What an "MSE" of samples could mean, and whether samples are like data: against sums and laws known beforehand."""

import numpy as np
import pytest
import torch

from fedlib.federated.stack import stack
from fedlib.models.stochastic import SNN, init_snn
from fedlib.problems import noisy_curve, noisy_readings
from fedlib.problems.fedstnn import curve_grid, surface, surface_grid
from fedlib.streams import stream

F = surface(*surface_grid().T)


@pytest.fixture(scope="module")
def perfect():
    """Two seeds of a path and observations that differ from f by a noise of 0.1 each."""
    return [F + 0.1 * stream(0, name).standard_normal((2, len(F))) for name in ("path", "observations")]


def test_all_pairs_are_the_mean_over_both_indices():
    p, z = (stream(0, name).standard_normal((3, 40)) + 2 for name in "pz")
    np.testing.assert_allclose(noisy_readings.all_pairs(p, z), ((p[:, :, None] - z[:, None]) ** 2).mean((1, 2)))
    np.testing.assert_allclose(noisy_readings.aligned(p, z), [((a - b) ** 2).mean() for a, b in zip(p, z, strict=True)])


def test_only_a_broadcast_or_a_sum_makes_two_out_of_a_perfect_model(perfect):
    of = noisy_readings.readings(*perfect, 0.1)
    assert {name: values.shape for name, values in of.items() if "50 points" in name} == {
        name: (400,) if "good model" not in name else (1,) for name in of if "50 points" in name
    }
    means = {name: values.mean() for name, values in of.items()}
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
    by_hand = np.mean([noisy_readings.all_pairs(f[s], f[s]) for s in subsets])
    assert noisy_readings.pairs_of(2, f, 0) == pytest.approx(by_hand) == pytest.approx((1 + 25 + 16) / 6)


def test_shapes_that_would_broadcast_are_refused():
    for p, z in ((np.ones((50, 1)), np.ones(50)), (np.ones((1, 9)), np.ones((5, 9)))):
        with pytest.raises(ValueError, match="would broadcast"):
            noisy_readings.aligned(p, z)


def test_draws_of_points_have_no_repetition():
    where = noisy_readings.some(100, 50, 20)
    assert where.shape == (20, 50) and all(len(set(draw)) == 50 for draw in where)
    assert len(np.unique(where)) == 100


def test_likeness_is_zero_for_the_data_and_the_mean_noise_for_a_model_without_any(perfect):
    path, z = perfect
    like = noisy_readings.likeness(path, z, F)
    assert (like["W1"] < 0.01).all()
    np.testing.assert_allclose([like["st.dev. of sampled"], like["st.dev. of observed"]], 0.1, rtol=0.05)
    silent = noisy_readings.likeness(np.tile(F, (2, 1)), z, F)
    np.testing.assert_allclose(silent["W1"], silent["W1 of a model without noise"])
    np.testing.assert_allclose(silent["W1"], 0.1 * np.sqrt(2 / np.pi), rtol=0.05)
    np.testing.assert_allclose(noisy_readings.likeness(z + 0.3, z, F)["W1"], 0.3)


def test_a_sample_is_one_path_per_point():
    net = SNN(1, 3, 5)
    theta, x = stack(net, [(0,)], init_snn)[0], torch.linspace(-1, 1, 30)[:, None]
    once, again, other = (noisy_readings.sample(net, theta, x, key) for key in "aab")
    assert once.shape == (30,)
    np.testing.assert_array_equal(once, again)
    assert (once != other).all()


def test_samples_of_the_curve_stand_beside_its_observations():
    setting = noisy_curve.Setting(10, 0.1, levels=[0.4])
    data, rows = noisy_curve.observe(setting, [3, 1]), stack(SNN(1, 3, 5), [(0,), (1,)], init_snn)

    class Trained:
        def model(self, name, seed, client):
            assert (name, client) == ("alone", 2)
            return rows[seed // 3]

    path, y = noisy_readings.on_curve(SNN(1, 3, 5), Trained(), "alone", setting, data, client=2)
    x = curve_grid()
    for at, seed in enumerate((3, 1)):
        e = stream(seed, "noise of the data").standard_normal(len(x))
        np.testing.assert_allclose(y[at], np.sin(x) + 0.1 * e, atol=1e-9)
        np.testing.assert_array_equal(
            path[at], noisy_readings.sample(SNN(1, 3, 5), rows[seed // 3], noisy_curve.inputs(x))
        )
