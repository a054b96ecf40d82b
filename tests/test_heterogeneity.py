"""Partitions are disjoint covers with the stated order; W1 against closed forms and scipy."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.stats import wasserstein_distance

from fedlib.federated.heterogeneity import mean_pairwise_w1, w1
from fedlib.federated.partitions import deal, pick_sources, sorted_shards
from fedlib.streams import stream


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 40), st.integers(0, 3))
def test_sorted_shards_are_a_disjoint_cover(C, per_client, extra, seed):
    values = stream(seed, "values").normal(size=C * per_client + extra)
    shards = sorted_shards(values, C * per_client, C, stream(seed, "deal"))
    np.testing.assert_array_equal(np.sort(np.concatenate(shards)), np.arange(len(values)))
    assert max(map(len, shards)) - min(map(len, shards)) <= per_client


def test_one_shard_per_client_is_sorted():
    values = stream(0, "values").normal(size=100)
    shards = sorted_shards(values, 5, 5, stream(0, "deal"))
    ranges = sorted((values[s].min(), values[s].max()) for s in shards)
    assert all(a[1] <= b[0] for a, b in pairwise(ranges))
    assert [len(s) for s in shards] == [20] * 5


def test_sizes_of_shards():
    shards = sorted_shards(np.arange(100.0), 4, 4, stream(0, "deal"), sizes=[1, 2, 3, 4])
    assert sorted(map(len, shards)) == [10, 20, 30, 40]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.arange(10.0), 5, 3), "multiple of the number of clients"),
        ((np.arange(10.0), 20, 4), "at most one shard per point"),
        ((np.arange(10.0), 2, 4), "multiple"),
    ],
)
def test_impossible_shards_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        sorted_shards(*arguments, stream(0, "deal"))


def test_empty_shard_is_refused():
    with pytest.raises(ValueError, match="1 of 2 shards would be empty"):
        sorted_shards(np.arange(10.0), 2, 2, stream(0, "deal"), sizes=[1, 1000])


def test_as_many_shards_as_points_are_iid_like():
    """Sorted blocks of one point each, dealt at random: W1 falls to that of a random deal, far below one shard."""
    values = stream(1, "values").normal(size=1000)

    def heterogeneity(deal_out):
        return np.mean([mean_pairwise_w1([values[s] for s in deal_out(stream(i, "deal"))]) for i in range(8)])

    one, many = (heterogeneity(lambda rng, n=n: sorted_shards(values, n, 10, rng)) for n in (10, 1000))
    iid = heterogeneity(lambda rng: deal(1000, 10, rng))
    assert 0.8 * iid < many < 1.2 * iid
    assert many < 0.2 * one


def test_mean_pairwise_w1_of_sorted_uniform_values_is_h_times_K_plus_1_over_3():
    """K slabs of width h: W1(i, j) = |i - j| h, mean h (K + 1) / 3."""
    K, values = 8, np.linspace(0, 1, 4000)
    shards = sorted_shards(values, K, K, stream(0, "deal"))
    assert mean_pairwise_w1([values[s] for s in shards]) == pytest.approx((K + 1) / (3 * K), rel=2e-3)


@given(st.integers(2, 12), st.integers(5, 60), st.integers(0, 5))
def test_every_client_uses_one_source_and_both_are_used(C, n, seed):
    shards, source = pick_sources(n, min(C, n), stream(seed, "sources"))
    assert set(source) == {0, 1}
    for shard, s in zip(shards, source, strict=True):
        assert (shard // n == s).all()
    np.testing.assert_array_equal(np.sort(np.concatenate(shards) % n), np.arange(n))


def test_one_client_cannot_use_two_sources():
    with pytest.raises(ValueError, match="at least 2 clients"):
        pick_sources(10, 1, stream(0, "sources"))


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


def test_w1_of_a_shift_is_its_length_and_of_a_cloud_with_itself_zero():
    x = stream(0, "clouds").normal(size=(40, 3))
    assert w1(x, x + np.array([3, 4, 0])) == pytest.approx(5)
    assert w1(x, x[::-1]) == pytest.approx(0, abs=1e-12)


def test_clouds_of_two_dimensions_or_without_points_are_refused():
    with pytest.raises(ValueError, match="one dimension"):
        w1(np.zeros((3, 2)), np.zeros((3, 3)))
    with pytest.raises(ValueError, match="non-empty"):
        w1(np.zeros((0, 2)), np.zeros((3, 2)))
    with pytest.raises(ValueError, match="at least 2"):
        mean_pairwise_w1([np.zeros(3)])
