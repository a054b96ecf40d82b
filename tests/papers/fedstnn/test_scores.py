"""Scores against the law of the data."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from fedlib.papers.fedstnn.scores import energy_score, gaussian_nll
from fedlib.streams import torch_stream


def normal(*shape, key=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch_stream(0, "test", key), dtype=torch.float64).to(dtype)


def test_energy_score_is_the_crps_of_a_gaussian():
    """E of the score over paths is the closed form of Gneiting & Raftery (2007), Eq. 21, for every M."""
    y = torch.tensor([-1.0, 0.3, 2.0], dtype=torch.float64)
    for M in (2, 5):
        values = energy_score(normal(200_000, 3, M, key=M), y)
        z = y.numpy()
        crps = z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.pi**0.5
        error = values.std(0) / 200_000**0.5
        assert (abs(values.mean(0).numpy() - crps) < 4 * error.numpy()).all()


def test_corrected_likelihood_is_smallest_at_the_true_variance():
    """Without the factor (M - 3) / (M - 1) eight paths would prefer a variance 7 / 5 too large."""
    paths, y = normal(100_000, 8, key=3), 0.3 * normal(100_000, key=4)
    scales = np.array([0.25, 0.28, 0.3, 0.32, 0.355])
    values = [float(gaussian_nll(s * paths, y).mean()) for s in scales]
    assert scales[int(np.argmin(values))] == 0.3


@pytest.mark.parametrize(("score", "M"), [(energy_score, 1), (gaussian_nll, 3)])
def test_too_few_paths_are_refused(score, M):
    with pytest.raises(ValueError, match=r"draw M >= 2|use M >= 8"):
        score(torch.zeros(4, M), torch.zeros(4))
