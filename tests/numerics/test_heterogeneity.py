"""W1 against closed forms, scipy and the fact page; the bound of Theorem 3.1; what a hidden parameter costs."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.stats import wasserstein_distance

from fedlib.federated.partitions import index_rule, slices
from fedlib.models.networks import mlp
from fedlib.numerics.heterogeneity import (
    debiased_w1,
    divergence_bound,
    hidden_parameter_floor,
    mean_pairwise_w1,
    w1,
    weight_divergence,
)
from fedlib.streams import stream


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 9))
def test_w1_in_one_dimension_equals_scipy(n, m, seed):
    rng = stream(seed, "clouds")
    x, y = rng.normal(size=n), rng.normal(1, 2, size=m)
    assert w1(x, y) == pytest.approx(wasserstein_distance(x, y), abs=1e-12)


@given(st.integers(2, 20), st.integers(2, 4), st.integers(0, 9))
def test_w1_equals_the_optimal_assignment(n, d, seed):
    rng = stream(seed, "clouds")
    x, y = rng.normal(size=(n, d)), rng.normal(size=(n, d))
    cost = np.linalg.norm(x[:, None] - y[None], axis=2)
    assert w1(x, y) == pytest.approx(cost[linear_sum_assignment(cost)].mean(), abs=1e-9)


def test_clouds_of_two_dimensions_or_without_points_are_refused():
    with pytest.raises(ValueError, match="one dimension"):
        w1(np.zeros((3, 2)), np.zeros((3, 3)))
    with pytest.raises(ValueError, match="non-empty"):
        w1(np.zeros((0, 2)), np.zeros((3, 2)))
    with pytest.raises(ValueError, match="at least 2"):
        mean_pairwise_w1([np.zeros(3)])


def test_debiased_w1_is_zero_for_one_distribution_and_the_shift_between_two():
    """In ten dimensions two clouds of 20 points of one distribution are far apart; of that nothing is left."""
    rng = stream(0, "clouds")
    clouds = [[rng.normal(size=(40, 10)) for _ in range(4)] for _ in range(30)]
    same, biased = (np.mean([f(of) for of in clouds]) for f in (debiased_w1, mean_pairwise_w1))
    assert abs(same) < 0.06 < 2 < biased
    far = [[a, b + 30.0 / 10**0.5] for a, b, *_ in clouds]  # W1 of far clouds is nearly the distance of their means
    assert np.mean([debiased_w1(of) for of in far]) == pytest.approx(30 - 3, abs=0.6)  # less half a self-distance each
    with pytest.raises(ValueError, match="a cloud of 1 point has no halves"):
        debiased_w1([np.zeros((3, 2)), np.zeros((1, 2))])


def w1_of_pieces(x, p, K=2):
    return mean_pairwise_w1([x[s] for s in index_rule(len(x), K, p)])


@pytest.mark.parametrize(
    ("x", "values"),
    [
        (np.linspace(-1, 1, 200), {1: 1.0050, 5: 0.2010, 10: 0.1005, 50: 0.0201, 100: 0.0101}),  # Gramacy & Lee
        (np.linspace(0, np.pi, 32), {1: 1.6215, 2: 0.8107, 3: 0.4814, 4: 0.4054, 5: 0.2914, 8: 0.2027, 16: 0.1013}),
        # Allen-Cahn's 80 lines: 16 left-over lines make p = 16 less heterogeneous than p = 20
        (np.linspace(-1, 1, 80), {1: 1.0127, 3: 0.3215, 5: 0.2025, 10: 0.1013, 16: 0.0456, 20: 0.0506}),
    ],
)
def test_w1_of_the_papers_levels(x, values):
    for p, expected in values.items():
        assert w1_of_pieces(x, p) == pytest.approx(expected, abs=6e-5), p


@pytest.mark.parametrize("K", [2, 3, 4, 5])
def test_w1_of_K_slabs_is_h_times_K_plus_1_over_3_and_eq_4_is_right_only_for_4(K):
    x, p = np.linspace(0, 1, 600 * K), 3
    clouds = [x[s] for s in slices(x, 0, 1, K, p)]
    right = (K + 1) / (3 * K * p)
    assert mean_pairwise_w1(clouds) == pytest.approx(right, rel=2e-3)
    printed = mean_pairwise_w1(clouds, printed=True)
    factor = {2: np.inf, 3: 1.5, 4: 1.0, 5: 5 / 6}[K]
    assert printed == pytest.approx(factor * right, rel=2e-3)


def test_weight_divergence_is_relative_per_matrix_and_leaves_biases_out():
    net = mlp((2, 3, 1), torch.nn.Tanh)
    central = {k: v.detach() for k, v in net.named_parameters()}
    federated = {k: 1.5 * v if k == "0.weight" else v + 1 for k, v in central.items()}
    divergence = weight_divergence(federated, central)
    assert set(divergence) == {"0.weight", "2.weight"}
    assert divergence["0.weight"].item() == pytest.approx(0.5)
    expected = 3**0.5 / central["2.weight"].norm()
    torch.testing.assert_close(divergence["2.weight"], expected)


@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 50))
def test_no_prediction_goes_below_the_floor(K, m, seed):
    rng = stream(seed, "floor")
    x = rng.normal(size=(1, K, m)) + 0.1
    floor = hidden_parameter_floor(x)[0]
    candidates = [x[0].mean(0), np.zeros(m), np.median(x[0], axis=0), *x[0], *rng.normal(size=(20, m))]
    for p in candidates:
        error = np.mean(np.linalg.norm(x[0] - p, axis=1) / np.linalg.norm(x[0], axis=1))
        assert error >= floor - 1e-12


def test_the_floor_of_two_opposite_answers_is_attained():
    x = np.array([[[1.0, 0.0], [-1.0, 0.0]]])
    assert hidden_parameter_floor(x)[0] == 0.5  # (0 + 1 + 1 + 0) / 4; the prediction 0 has error 1
    assert hidden_parameter_floor(np.ones((1, 4, 3)))[0] == 0


def test_the_bound_is_the_theorems():
    """2 eta M E l, with four numbers that no other product of them equals."""
    assert divergence_bound(0.01, 3.0, 5, 7) == pytest.approx(2.1, rel=1e-12)
    assert divergence_bound(0.01, 3.0, 1, 1) == pytest.approx(0.06, rel=1e-12)
