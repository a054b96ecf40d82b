"""Participation and mini-batches: own stream per client, every point once in a pass."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedlib.federated.batches import Local, batches, n_steps, participants


@given(st.integers(1, 40), st.floats(0.01, 1), st.integers(0, 20))
def test_fixed_fraction(K, alpha, r):
    active = participants(3, r, K, alpha)
    assert active.shape == (K,)
    assert active.sum() == max(1, int(alpha * K + 0.5))


def test_fraction_is_drawn_anew_each_round_from_its_interval():
    counts = [int(participants(0, r, 20, (0.1, 1.0)).sum()) for r in range(200)]
    assert min(counts) == 2
    assert max(counts) == 20
    assert len(set(counts)) > 15


def test_everybody_takes_part_equally_often():
    share = np.mean([participants(1, r, 20, 0.25) for r in range(2000)], axis=0)
    np.testing.assert_allclose(share, 0.25, atol=0.04)  # 4 standard errors


@given(st.integers(1, 60), st.integers(1, 4), st.integers(1, 70))
def test_an_epoch_visits_every_point_once(n, epochs, size):
    at = batches(0, 2, 5, n, Local(epochs, "epochs", size))
    assert at.shape == (n_steps(n, Local(epochs, "epochs", size)), min(size, n))
    for one in np.split(at, epochs):
        np.testing.assert_array_equal(np.sort(one[one >= 0]), np.arange(n))


def test_steps_are_the_first_batches_of_the_same_sequence():
    epochs = batches(0, 1, 0, 50, Local(3, "epochs", 16))
    np.testing.assert_array_equal(batches(0, 1, 0, 50, Local(9, "steps", 16)), epochs[:9])


def test_with_replacement_every_point_of_every_batch_is_drawn_from_all():
    """A batch may be larger than the client; each of 5 points has a share of 1/5, and pairs are independent."""
    local = Local(4000, "steps", 8, replacement=True)
    at = batches(0, 1, 0, 5, local)
    assert at.shape == (4000, local.points(5)) == (4000, 8)
    np.testing.assert_allclose(np.bincount(at.ravel()) / at.size, 0.2, atol=4 * (0.16 / at.size) ** 0.5)
    assert abs((at[:, 0] == at[:, 1]).mean() - 0.2) < 4 * (0.16 / 4000) ** 0.5
    np.testing.assert_array_equal(local.points(np.array([3, 90])), [8, 8])


def test_full_batch_is_everything_in_order():
    np.testing.assert_array_equal(batches(0, 1, 0, 5, Local(3, "epochs")), np.tile(np.arange(5), (3, 1)))


@pytest.mark.parametrize("changed", [{"seed": 1}, {"client": 3}, {"round": 4}])
def test_streams_differ_by_seed_client_and_round(changed):
    key = {"seed": 0, "client": 2, "round": 5}
    rest = {"n": 40, "local": Local(1, "epochs", 8)}
    assert (batches(**key, **rest) != batches(**(key | changed), **rest)).any()
    np.testing.assert_array_equal(batches(**key, **rest), batches(**key, **rest))
