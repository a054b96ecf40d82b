"""A million clients' points are one array: shards are views, and mean what a list of arrays means."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlib import Federation, Local, centralised, join, train
from fedlib.federated.checks import check_federation
from fedlib.federated.federation import Shards, points_of, sizes_of
from fedlib.federated.partitions import deal
from fedlib.streams import stream


@st.composite
def cuts(draw):
    """Some order of points, and where it is cut into clients with at least one point."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=12))
    return np.random.default_rng(draw(st.integers(0, 99))).permutation(sum(sizes)), np.cumsum([0, *sizes])


@given(cuts(), st.integers(0, 12), st.integers(0, 12))
def test_shards_are_a_list_of_arrays(cut, a, b):
    order, offsets = cut
    shards, plain = Shards(order, offsets), [order[i:j] for i, j in pairwise(offsets)]
    for some, those in ((shards, plain), (shards[a:b], plain[a:b]), (shards[a:][:b], plain[a:][:b])):
        assert len(some) == len(those)
        for mine, theirs in zip(some, those, strict=True):
            np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_array_equal(sizes_of(some), [len(one) for one in those])
        np.testing.assert_array_equal(points_of(some), np.concatenate([*those, []]))
    assert np.shares_memory(shards[-1], order)
    with pytest.raises(IndexError):
        shards[len(plain)]
    with pytest.raises(ValueError, match="expected neighbouring clients"):
        shards[::2]


@given(cuts())
def test_a_federation_of_shards_is_that_of_the_list(cut):
    shards = Shards(*cut)
    one, other = Federation(shards), Federation(list(shards))
    np.testing.assert_array_equal(one.p, other.p)
    np.testing.assert_array_equal(centralised(shards).shards[0], centralised(list(shards)).shards[0])
    _, at = join({name: {"x": torch.zeros(n)} for name, n in (("a", 9), ("b", len(shards.order)))})
    for mine, theirs in zip(at("b", shards), at("b", list(shards)), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 3))
def test_dealt_shards_are_those_of_array_split(n, K, seed):
    K = min(n, K)
    expected = np.array_split(stream(seed, "deal").permutation(n), K)
    for mine, theirs in zip(deal(n, K, stream(seed, "deal")), expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_training_on_shards_is_training_on_the_list(problem):
    net, loss, pool, plain = problem
    shards = Shards.of_sizes(np.concatenate(plain), [len(own) for own in plain])
    how = dict(rounds=3, local=Local(2, "epochs", 4), dtype=torch.float64, noise=(1,))

    def noisy(predict, batch):
        return loss(predict, batch) * (1 + (batch["w"][:, None] * batch["noise"]).sum())

    one, other = (train(net, noisy, pool, [Federation(s, fraction=0.67)], **how) for s in (shards, plain))
    assert torch.equal(one.theta, other.theta)


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    ("order", "offsets", "message"),
    [
        ([0, 1, 2], [0, 1, 1, 3], "client 1 is empty"),
        ([0, 1, 2, 9], [0, 1, 3, 4], "client 2 owns point 9, outside 0..8: its pool has 9"),
        ([0, 1, -1, 2], [0, 1, 3, 4], "client 1 owns point -1, outside 0..8"),
        ([0.0, 1.0], [0, 1, 2], "client 0's shard has shape .* whole numbers"),
    ],
)
def test_bad_shards_are_refused(order, offsets, message):
    fed = Federation(Shards(np.array(order), np.array(offsets)))
    for one in (fed, replace(fed, shards=list(fed.shards))):
        with pytest.raises(ValueError, match=message):
            check_federation(one, 9)
