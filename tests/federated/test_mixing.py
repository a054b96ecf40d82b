"""Laws of communication: a rule returns a row-stochastic matrix, and averaging is linear."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedlib.federated.mixing import check_stochastic, equal, fedavg, isolated, ring


@st.composite
def clients(draw):
    K = draw(st.integers(1, 9))
    n = np.array(draw(st.lists(st.integers(1, 50), min_size=K, max_size=K)), float)
    active = np.array(draw(st.lists(st.booleans(), min_size=K, max_size=K)))
    active[draw(st.integers(0, K - 1))] = True
    return n / n.sum(), active


@pytest.mark.parametrize("rule", [fedavg, isolated, ring])
@given(clients())
def test_row_stochastic(rule, who):
    p, active = who
    A = check_stochastic(rule(p, active), len(p), "test")
    np.testing.assert_allclose(A.sum(1), 1)
    assert (A >= 0).all()


@given(clients())
def test_weights_are_renormalised_over_the_active(who):
    p, active = who
    for rule, weights in ((fedavg, p * active), (equal, active)):
        np.testing.assert_allclose(rule(p, active), np.tile(weights / weights.sum(), (len(p), 1)))


@given(clients())
def test_ring_is_doubly_stochastic_and_leaves_absentees_alone(who):
    p, active = who
    A = ring(p, active)
    np.testing.assert_allclose(A.sum(0), 1)
    np.testing.assert_array_equal(A[~active], np.eye(len(p))[~active])


def test_ring_of_five_is_a_circulant():
    A = ring(np.full(5, 0.2), np.ones(5, bool))
    for i in range(5):
        np.testing.assert_allclose(np.roll(A[i], -i), [1 / 3, 1 / 3, 0, 0, 1 / 3])


@pytest.mark.parametrize(
    ("A", "message"),
    [
        (np.eye(3), "shape"),
        (np.broadcast_to(np.full(2, 0.2), (2, 2)), r"row 0 is .* with sum 0\.4"),
        (np.array([[1, 0], [-0.5, 1.5]]), "row 1"),
        (np.array([[np.nan, 1], [0, 1]]), "row 0"),
    ],
)
def test_non_stochastic_matrix_is_refused(A, message):
    with pytest.raises(ValueError, match=message):
        check_stochastic(A, 2, "test")
