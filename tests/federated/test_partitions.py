"""Partitions are disjoint covers with the stated order and sizes, or refused."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedlib.federated.partitions import (
    checkerboard,
    deal,
    dirichlet,
    focused,
    hammersley,
    index_rule,
    owned,
    pick_sources,
    slices,
    sorted_shards,
)
from fedlib.numerics.heterogeneity import mean_pairwise_w1
from fedlib.streams import stream


def is_cover(shards, n):
    np.testing.assert_array_equal(np.sort(np.concatenate(shards)), np.arange(n))


@given(st.integers(1, 60), st.integers(1, 60))
def test_deal_is_a_disjoint_cover_of_equal_sizes(n, K):
    shards = deal(n, min(n, K), stream(0, "deal"))
    is_cover(shards, n)
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 40), st.integers(0, 3))
def test_sorted_shards_are_a_disjoint_cover(C, per_client, extra, seed):
    values = stream(seed, "values").normal(size=C * per_client + extra)
    shards = sorted_shards(values, C * per_client, C, stream(seed, "deal"))
    is_cover(shards, len(values))
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


@given(st.integers(2, 12), st.integers(5, 60), st.integers(0, 5))
def test_every_client_uses_one_source_and_both_are_used(C, n, seed):
    shards, source = pick_sources(n, min(C, n), stream(seed, "sources"))
    assert set(source) == {0, 1}
    for shard, s in zip(shards, source, strict=True):
        assert (shard // n == s).all()
    is_cover([shard % n for shard in shards], n)


@given(st.integers(1, 6), st.integers(1, 12), st.integers(0, 90))
def test_index_rule_is_a_disjoint_cover_of_almost_equal_sizes(K, p, extra):
    n = K * p + extra
    shards = index_rule(n, K, p)
    is_cover(shards, n)
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


def test_index_rule_deals_the_remainder_to_the_right():
    a, b = index_rule(11, 2, 2)  # q = 2, pieces 01 23 45 67, the last three points one by one
    assert a.tolist() == [0, 1, 4, 5, 8, 10]
    assert b.tolist() == [2, 3, 6, 7, 9]


@given(st.integers(2, 5), st.integers(1, 6), st.integers(0, 20))
def test_slices_and_checkerboard_are_disjoint_covers(K, p, seed):
    points = stream(seed, "points").uniform(-2, 3, (4000, 2))
    is_cover(slices(points[:, 0], -2, 3, K, p), 4000)
    is_cover(checkerboard(*points.T, (-2, 3), K, max(K, p)), 4000)


def test_the_last_block_owns_its_upper_edge():
    a, b = slices(np.array([0.0, 0.5, 1.0]), 0, 1, 2, 1)
    assert (a.tolist(), b.tolist()) == ([0], [1, 2])


RNG, HALVES = stream(0, "refused"), np.split(np.arange(20), 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: deal(4, 5, RNG), "5 clients cannot share 4 points"),
        (lambda: sorted_shards(np.arange(10.0), 5, 3, RNG), "multiple of the number of clients"),
        (lambda: sorted_shards(np.arange(10.0), 20, 4, RNG), "at most one shard per point"),
        (lambda: sorted_shards(np.arange(10.0), 2, 2, RNG, sizes=[1, 1000]), "1 of 2 shards would be empty"),
        (lambda: pick_sources(10, 1, RNG), "at least 2 clients"),
        (lambda: focused(HALVES, 20, 4, 11, 0, RNG), "ask for fewer"),
        (lambda: focused(HALVES, 20, 4, 2, 11, RNG), "ask for fewer"),
        (lambda: focused(HALVES, 20, 3, 1, 1, RNG), "equally many"),
        (lambda: index_rule(10, 2, 6), "at most 5 pieces per client"),
        (lambda: owned(np.array([0, 1, 3]), 2), r"owner has 3; expected the client of each point, 0..1"),
        (lambda: slices(np.zeros(4), 0, 1, 2, 1), "client 1 of 2 gets no point"),
        (lambda: slices(np.array([2.0]), 0, 1, 2, 1), r"outside the domain \[0, 1\]"),
        # 2 x 2 blocks have the sums 0, 1, 2: the authors' scripts left clients 4 (and 5) empty
        (lambda: checkerboard(*hammersley(400).T, (0, 1), 4, 2), "client 3 of 4 gets no point"),
    ],
)
def test_what_cannot_be_dealt_out_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_hammersley_points_of_the_fact_page():
    np.testing.assert_array_equal(hammersley(6)[:, 0], [0.5, 0, 0.5, 0.25, 0.75, 0.125])
    np.testing.assert_allclose(hammersley(6)[:, 1], np.arange(6) / 6)
    np.testing.assert_array_equal(hammersley(1), [[0.5, 0.0]])


MISSING = {
    "NaN": (np.array([0.0, 1.0, np.nan, 1.0]), 2),
    "None": (np.array(["a", None, "b", None], object), 1),
    "NaN among texts": (np.array(["a", "b", "a", float("nan")], object), 3),
    "NaT": (np.array(["2024-01-01", "NaT", "2024-01-02", "2024-01-02"], "datetime64[D]"), 1),
    "masked": (np.ma.array([0, 1, 0, 1], mask=[0, 0, 0, 1]), 3),
}


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("name", MISSING)
def test_what_has_no_label_is_dealt_out_by_no_label(name):
    values, first = MISSING[name]
    for rule in (
        lambda values: dirichlet(values, 2, 1.0, RNG),
        lambda values: sorted_shards(values, 2, 2, RNG),
        lambda values: owned(values, 2),
    ):
        with pytest.raises(ValueError, match=rf"of 4 (labels|values|owners) are missing, the first at point {first}"):
            rule(values)


@pytest.mark.fault("clear error")
def test_a_point_without_a_place_lies_in_no_block():
    x = np.array([0.1, np.nan, 0.9])
    for call in (lambda: slices(x, 0, 1, 2, 1), lambda: checkerboard(x, np.full(3, 0.5), (0, 1), 2, 2)):
        with pytest.raises(ValueError, match="1 of 3 coordinates are missing, the first at point 1"):
            call()
    with pytest.raises(ValueError, match="of which some are not finite"):
        mean_pairwise_w1([x[:, None], np.ones((3, 1))])


def test_a_seed_for_a_generator_is_refused():
    for call in (
        lambda rng: deal(9, 3, rng),
        lambda rng: sorted_shards(np.arange(9), 3, 3, rng),
        lambda rng: dirichlet(np.arange(9) % 2, 3, 1.0, rng),
        lambda rng: pick_sources(9, 3, rng),
        lambda rng: focused([np.arange(3)] * 3, 9, 3, 1, 1, rng),
    ):
        with pytest.raises(ValueError, match=r"rng = 0: expected a generator of numpy, np.random.default_rng\(0\)"):
            call(0)


def test_every_client_has_the_least_number_of_points():
    labels = np.repeat([0, 1], 100)
    with pytest.raises(ValueError, match=r"client \d of 10 gets 0 points with alpha = 0.1; .*least=1, which draws"):
        dirichlet(labels, 10, 0.1, stream(3, "labels"))
    for least in (1, 3):
        shards = dirichlet(labels, 10, 0.4, stream(3, "labels"), least=least)
        is_cover(shards, 200)
        assert min(map(len, shards)) >= least
    once, again = (dirichlet(labels, 3, 1.0, stream(0, "labels"), least=n) for n in (0, 1))
    assert all((a == b).all() for a, b in zip(once, again, strict=True)), "a draw that will do is the first one"
    with pytest.raises(ValueError, match="a smaller least than 1"):
        dirichlet(labels, 10, 1e-3, stream(0, "labels"), least=1, draws=20)
    with pytest.raises(ValueError, match="least = 30 points for each of 10 clients: there are 200 points"):
        dirichlet(labels, 10, 1.0, stream(0, "labels"), least=30)
