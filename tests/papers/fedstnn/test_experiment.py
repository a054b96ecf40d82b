"""What models of FedStNN answer, and how that is judged, against laws known beforehand."""

import numpy as np
import pytest
import torch
import xarray
from scipy.stats import norm

from fedlib.papers.fedstnn import experiment
from fedlib.papers.fedstnn.network import SNN
from fedlib.streams import stream


def test_a_model_is_judged_by_its_paths():
    """Paths f + 0.1 e: the mean is nearly f, the spread is the noise, 95 % lie in the band."""
    net, x = SNN(1, 3, 5), np.linspace(-1, 1, 50)
    known = experiment.probes(net, x[:, None], np.sin(x), 0.1, 2000, "a test")
    assert known["w_test"].shape == (50, *net.noise(2000))

    def predict(x, w):
        return torch.sin(x) + 0.1 * w[:, 0, :, 0]

    answers = experiment.evaluate(predict, known)
    np.testing.assert_allclose(answers["mean"], np.sin(x), atol=0.02)
    np.testing.assert_allclose(answers["std"], 0.1, rtol=0.1)
    assert answers["inside"].item() == pytest.approx(0.954, abs=0.01)
    found = experiment.Answers(*(answers[name].numpy()[None] for name in experiment.Answers._fields))
    row = experiment.quality(found.mean, found.std, np.sin(x), 0.1)
    assert row["RMSE"][0] < 0.01 and row["std"][0] == pytest.approx(0.1, rel=0.05)
    assert row["coverage"][0] == pytest.approx(0.954, abs=0.01)


def test_coverage_of_a_shifted_mean_is_that_of_the_normal_law():
    """A mean one sigma too high with the right spread: a new observation is in [-1, 3] sigma."""
    mean, std = np.full((1, 4), 0.2), np.full((1, 4), 0.2)
    row = experiment.quality(mean, std, np.zeros(4), 0.2)
    assert row["RMSE"] == pytest.approx(0.2) and row["coverage"] == pytest.approx(norm.cdf(3) - norm.cdf(-1))


def test_datasets_are_judged_along_x_whatever_the_order_of_axes():
    f, rng = np.zeros(7), np.random.default_rng(0)
    mean, std = (xarray.DataArray(rng.uniform(0.1, 1, (7, 2)), dims=("x", "seed")) for _ in range(2))
    inside = xarray.DataArray([0.5, 0.7], dims="seed")
    rows = experiment.judged(xarray.Dataset({"mean": mean, "std": std, "inside": inside}), f, 0.1)
    np.testing.assert_allclose(rows["RMSE"], experiment.rms(mean.values.T))
    np.testing.assert_allclose(rows["coverage"], experiment.covered(mean, std, 0, 0.1).mean(0))
    np.testing.assert_array_equal(experiment.seeds_of(rows)["in band"], [0.5, 0.7])


def test_new_observations_have_the_datas_noise():
    f = torch.linspace(0, 1, 20_000)[:, None]
    test = experiment.validation({"x_test": f, "f_test": f, "w_test": f, "sigma": torch.tensor(0.3)}, every=2)
    assert {len(test[name]) for name in ("x_test", "f_test", "w_test", "y_test")} == {10_000}
    residual = test["y_test"] - f[::2, 0]
    assert residual.std().item() == pytest.approx(0.3, rel=0.03) and abs(residual.mean()) < 0.01


def test_the_score_of_the_true_law_is_the_smallest():
    """CRPS of N(0, sigma^2) against itself is sigma / sqrt(pi); too wide, too thin and shifted laws are worse."""
    e = torch.randn(4000, 50, generator=torch.Generator().manual_seed(0))
    zero = torch.zeros(4000, 1)
    test = experiment.validation({"x_test": zero, "f_test": zero, "w_test": e, "sigma": torch.tensor(0.1)})
    laws = {"true": (0, 0.1), "wide": (0, 0.2), "thin": (0, 0.05), "shifted": (0.1, 0.1)}
    scores = {name: experiment.scored(lambda x, w, m=m, s=s: m + s * w, test) for name, (m, s) in laws.items()}
    assert min(scores, key=lambda name: scores[name]["energy score"]) == "true"
    assert scores["true"]["energy score"].item() == pytest.approx(0.1 / np.pi**0.5, rel=0.05)
    assert scores["shifted"]["RMSE"].item() == pytest.approx(0.1, rel=0.02)
    assert scores["wide"]["std"].item() == pytest.approx(0.2, rel=0.02)
    ramp = torch.linspace(-0.3, 0.3, 4000)[:, None]
    other = experiment.scored(lambda x, w: ramp + ramp * w, test)  # root mean squares of what varies
    assert [other["RMSE"].item(), other["std"].item()] == pytest.approx(2 * [0.3 / 3**0.5], rel=0.02)


def test_likeness_is_zero_for_the_data_and_the_mean_noise_for_a_model_without_any():
    f = np.sin(np.linspace(0, 6, 10_000))
    path, z = (f + 0.1 * stream(0, name).standard_normal((2, len(f))) for name in ("path", "observations"))
    std, w1 = experiment.likeness(path, z, f)
    assert (w1 < 0.01).all()
    np.testing.assert_allclose(std, 0.1, rtol=0.05)
    std, w1 = experiment.likeness(np.tile(f, (2, 1)), z, f)
    np.testing.assert_allclose(std, 0, atol=1e-12)
    np.testing.assert_allclose(w1, 0.1 * np.sqrt(2 / np.pi), rtol=0.05)
    np.testing.assert_allclose(experiment.likeness(z + 0.3, z, f)[1], 0.3)
