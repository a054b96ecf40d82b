"""Notebook 08's numbers and facts, from metrics that are known by hand."""

import numpy as np
import pytest

from fedlib.problems import noisy_study


def row(rmse, std=0.1, coverage=0.95, band=0.9):
    """Two seeds around these means."""
    means = {"RMSE": rmse, "std": std, "coverage": coverage, "in band": band}
    return {name: np.array([0.9, 1.1]) * mean for name, mean in means.items()}


@pytest.fixture
def metrics():
    return {
        "one_d": {
            "non-IID 110, energy": row(0.03),
            "non-IID 60, energy": row(0.04),
            "non-IID 110, squared error": row(0.02, 0.01, 0.2, 0.99),
        },
        "two_d": {
            "federated, whole grid": row(0.05, 0.12),
            "federated, slice x = -0.64": row(0.07, band=0.8),
            "federated, slice y = 0.96": row(0.07, band=0.7),
            "client 1 alone, own quadrant": row(0.01),
            "client 1 alone, elsewhere": row(0.6),
            "client 2 alone, own quadrant": row(0.02),
            "client 2 alone, elsewhere": row(0.5),
        },
        "likeness": {
            "5.1": {"st.dev. of sampled": [1], "W1": [1]},
            "5.2": {"st.dev. of sampled": [0.1, 0.3], "W1": [0.02, 0.04]},
        },
        "trained": {"a": row(0.1), "b": row(0.12), "common": row(0.1), "own": row(0.3)},
        "alone_rmse": {"own": np.full((2, 5), 0.02), "elsewhere": np.full((2, 5), 0.4)},
        "learnt_std": {
            "energy score": {0.05: [0.05, 0.07], 0.4: [0.4, 0.4]},
            "squared error": {0.05: [0.01, 0.01], 0.4: [0.02, 0.02]},
        },
    }


def test_numbers_are_means_over_seeds(metrics):
    n = noisy_study.numbers(metrics)
    assert n[:4] == pytest.approx((0.03, 0.1, 0.95, 0.9))
    assert (n.rmse_60, n.std_squared, n.coverage_squared, n.in_band_squared) == pytest.approx((0.04, 0.01, 0.2, 0.99))
    assert (n.std_60, n.residual, n.w1) == pytest.approx((0.1, 0.2, 0.03))
    assert (n.rmse_surface, n.std_surface, n.coverage_surface) == pytest.approx((0.05, 0.12, 0.95))
    assert (n.in_band_surface, n.at_home_surface, n.elsewhere_surface) == pytest.approx((0.7, 0.02, 0.5))
    assert n.elsewhere == pytest.approx(0.4)
    np.testing.assert_allclose(n.whole**2, np.full((2, 5), 0.1 * 0.02**2 + 0.9 * 0.4**2))
    assert (n.index, n.starts) == pytest.approx((1.2, 3))
    np.testing.assert_allclose(n.spreads, [0.06, 0.4])


def test_all_facts_hold(metrics):
    found = noisy_study.facts(metrics)
    assert len(found) == 8 and {str(fact) for fact in found.values()} == {"True", "True True"}


@pytest.mark.parametrize(
    ("where", "name", "worse", "fact"),
    [
        ("learnt_std", "energy score", {0.05: [0.4], 0.4: [0.4]}, "energy score: spread grows with sigma"),
        ("one_d", "non-IID 110, squared error", row(0.02, band=0.1), "and yet its paths are in the band more often"),
        ("alone_rmse", "own", np.full((2, 5), 0.5), "every client alone is worse elsewhere than at home"),
        ("alone_rmse", "elsewhere", np.eye(2, 5) + 0.01, "every client alone is worse elsewhere than at home"),
        ("one_d", "non-IID 110, energy", row(0.39), "5.1: the federation beats every client alone"),
        ("two_d", "client 1 alone, elsewhere", row(0.04), "5.2: the same"),
        ("trained", "own", row(0.09), "own starts are worse than a common start"),
    ],
)
def test_a_fact_can_fail(metrics, where, name, worse, fact):
    metrics[where][name] = worse
    assert not noisy_study.facts(metrics)[fact]


def test_facts_of_two_losses_say_which_one_fails(metrics):
    metrics["learnt_std"]["squared error"][0.4] = [0.3, 0.3]
    metrics["one_d"]["non-IID 110, energy"] = row(0.03, coverage=0.7)
    found = noisy_study.facts(metrics)
    assert [fact for fact in found.values() if isinstance(fact, str)] == ["True False", "True False"]
    metrics["learnt_std"] = {loss: {0.1: [0.1]} for loss in metrics["learnt_std"]}
    assert noisy_study.facts(metrics)["energy score: spread grows with sigma"] == "not run"
