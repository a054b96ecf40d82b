"""Who owns what under label-sorted shards and two random fields, and how far apart that is."""

from itertools import combinations, pairwise

import numpy as np
import ot
import pytest
import torch

from fedlib.federated.experiment import data_of
from fedlib.numerics.heterogeneity import debiased_w1, mean_pairwise_w1
from fedlib.numerics.spaces import gaussian_kernel
from fedlib.papers.fed_deeponet.physics import pendulum_triplets
from fedlib.papers.fed_deeponet.shards import problem
from fedlib.streams import stream

SIZES = {"triplets": 60, "clients": 5, "tests": 2, "sensors": 8}


def test_shards_are_narrow_ranges_of_a_seeds_targets():
    data = data_of(problem.label_sorted(**SIZES), 1, 1)
    assert sorted(np.concatenate(data.owners)) == [*range(60)] and {len(shard) for shard in data.owners} == {12}
    ranges = sorted((t.min(), t.max()) for t in problem.targets(data))
    assert all(a[1] <= b[0] for a, b in pairwise(ranges))
    (alone,) = problem.one_alone(**SIZES).data(1, 1).owners
    np.testing.assert_array_equal(alone, data.owners[0], err_msg="who is alone is client 1")
    owners = problem.label_sorted(**SIZES, uneven=True).data(1, 3).owners
    assert sorted(map(len, owners)) == [4, 8, 12, 16, 20]


def test_fields_move_the_same_clients_to_the_longer_scale():
    experiment = problem.two_fields(**SIZES, deltas=[0.0, 0.5, 1.0])
    shards, second = problem.sources(60, 5, 3)
    assert 0 < second.sum() < 5
    here, there = (data_of(experiment, delta, 3) for delta in (0.0, 1.0))
    pools = [pendulum_triplets(60, 8, 0.2 + d, stream(3, "train", j)) for j, d in enumerate((0.0, 0.5, 1.0))]
    for shard, a, b, moved in zip(shards, here.owners, there.owners, second, strict=True):
        torch.testing.assert_close(here.pool["u"][a], pools[0]["u"][shard % 60])
        torch.testing.assert_close(there.pool["u"][b], pools[2 * moved]["u"][shard % 60])
    torch.testing.assert_close(here.test["second x1"], here.test["GRF x1"])
    assert (there.test["second x1"] - there.test["GRF x1"]).abs().max() > 1e-3


def test_rates_are_chosen_by_what_is_neither_trained_on_nor_tested_on():
    data = problem.label_sorted(**SIZES).data(1, 0)
    for others in (data.test["GRF u"], data.pool["u"]):
        assert (data.validation["GRF u"][:, None] - others[None]).abs().amax(-1).min() > 1e-3


def test_distances_are_those_between_the_clients():
    table = problem.distances([1, 12], [0.0, 1.0], [3, 1], 6, 60, 5, 8)
    data = problem.label_sorted(**SIZES).data(12, 1)
    assert table.by_shards.sel(what="s", seed=1, shards=12).item() == mean_pairwise_w1(problem.targets(data))
    clouds = []
    for shard in problem.label_sorted(**SIZES).data(1, 3).owners:
        some = stream(3, "w1 subset").permutation(shard)[:6]
        pool = problem.label_sorted(**SIZES).data(1, 3).pool
        clouds.append(torch.cat([pool["u"][some] / 8**0.5, pool["y"][some], pool["s"][some, None]], 1).numpy())
    assert table.by_shards.sel(what="(u, y, s)", seed=3, shards=1).item() == debiased_w1(clouds)
    near, far = (table.by_shards.sel(what="s", shards=n) for n in (12, 1))
    assert (near < far).all()


def test_only_pairs_of_different_fields_are_apart():
    table = problem.distances([1], [0.0, 1.0], [1], 6, 60, 5, 8)
    second = problem.sources(60, 5, 1)[1]
    share = np.mean([a != b for a, b in combinations(second, 2)])
    expected = [0, share * problem.torque_distance(0.2, 1.2, 8)]
    np.testing.assert_allclose(table.torques.sel(seed=1), expected, atol=1e-6)


def test_distance_of_two_random_fields_is_that_of_pot_where_pot_has_one():
    """POT's closed form takes the root of a covariance: with five sensors it is regular enough."""
    t = np.linspace(0, 1, 5)
    A, B = (gaussian_kernel(t, t, l) / 5 for l in (0.2, 0.7))
    expected = ot.gaussian.bures_wasserstein_distance(np.zeros(5), np.zeros(5), A, B)
    assert problem.torque_distance(0.2, 0.7, 5) == pytest.approx(expected, rel=1e-9)
    assert problem.torque_distance(0.2, 0.7, 5) == pytest.approx(problem.torque_distance(0.7, 0.2, 5), rel=1e-9)
    assert problem.torque_distance(0.3, 0.3, 50) == pytest.approx(0, abs=1e-6)
    longest = [problem.torque_distance(0.2, l, 50) for l in (0.5, 1.0, 4.0)]
    assert (np.diff(longest) > 0).all()
