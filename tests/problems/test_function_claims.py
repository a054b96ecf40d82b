"""Numbers of notebook 04's claims, from errors that are known by hand."""

import numpy as np
import pytest

from fedlib.problems import function_claims
from fedlib.problems.function_levels import K_ALL


class Known:
    """A sweep with these errors: federated [S, L], isolated [S, L, K], central [S]."""

    def __init__(self, federated, alone, central, between=(1, 2)):
        self.found = {"federated": federated, "isolated": alone, "central": central}
        self.counted = between

    def errors(self, kind, K=None):
        if K is None:
            return self.found[kind]
        return self.found[kind] * (K if kind == "federated" else 1)

    def ways(self):
        return tuple(self.found.values())

    def between(self):
        return self.counted


def test_numbers_are_means_over_seeds():
    fed = np.array([[0.4, 0.2, 0.1], [0.6, 0.2, 0.3]])
    alone = np.stack([fed * 3, fed * 2], -1)
    line, square = Known(fed, alone, np.array([0.1, 0.1])), Known(fed, alone, np.array([0.1, 0.1]), (3, 3))
    falling, what_if = (
        np.array([3.0, 2.0, 1.0]),
        {"as above": fed, "E = 3": fed / 9, "SGD, lr 1": fed * 5, "SGD": fed * 4},
    )
    drift = {"1D": {"$W_1$": fed}, "x": {"$W_1$": -fed}}
    sweeps = {"1D": line, "x": square, "x, printed": square, "xy": square}
    n = function_claims.numbers(sweeps, {"1D": falling, "x": falling}, drift, what_if)
    assert n.between == [(1, 2), (3, 3), (3, 3)]
    assert (n.fine, n.fine_alone, n.coarse) == pytest.approx((2, 4, 2))
    assert n.error_ranks == {"1D": 0.87, "x": 0.87, "x, printed": 0.87}  # means 0.5, 0.2, 0.2
    assert n.drift_ranks == {"1D $W_1$": 0.87, "2D $W_1$": -0.87}
    np.testing.assert_allclose(n.by_K, np.outer(K_ALL, [0.5, 0.2, 0.2]))
    np.testing.assert_allclose(n.gap_K, 2 / np.array(K_ALL)[:, None] * np.ones(3))
    assert (n.adam, n.sgd) == pytest.approx((0.2, 0.8))


def test_listed():
    assert function_claims.listed([[1, 2.25]] * 4, 1) == "; ".join(f"K = {K}: 1.0, 2.2" for K in K_ALL)


def test_percent_of_the_best_client_on_average():
    record = {
        "central": [0.01, 0.02],
        "federated": {"(2, 5)": [0.1, 0.3]},
        "isolated": {"(2, 5)": [[0.1, 0.4], [0.9, 0.4]]},
    }
    row = function_claims.in_percent(record, (2, 5))
    assert list(row) == ["federated", "best client alone", "centralised"]
    for values, expected in zip(row.values(), ([10, 30], [40, 40], [1, 2]), strict=True):
        np.testing.assert_allclose(values, expected)
