"""Who owns what under label-sorted shards and two random fields, and how far apart that is."""

from functools import partial
from itertools import combinations, pairwise

import numpy as np
import ot
import pytest
import torch

from fedlib.federated.federation import Federation, centralised
from fedlib.federated.mixing import equal
from fedlib.numerics.heterogeneity import debiased_w1, mean_pairwise_w1
from fedlib.numerics.spaces import gaussian_kernel
from fedlib.papers.fed_deeponet.physics import pendulum_triplets
from fedlib.problems.skewed_pendulum import distances, levels_of, skewed, torque_distance, torque_distances
from fedlib.streams import stream

SEEDS, LEVEL = [3, 1], 0.2


@pytest.fixture(scope="module")
def data():
    """60 triplets with 8 sensors of each seed and of two length scales, five clients."""
    return skewed(60, 8, LEVEL, [0.0, 1.0], 5, SEEDS)


def test_the_pool_has_the_triplets_of_every_seed_and_scale(data):
    assert len(data.pool["s"]) == 240
    for seed in SEEDS:
        for j, scale in enumerate((LEVEL, LEVEL + 1)):
            expected = pendulum_triplets(60, 8, scale, stream(seed, "train", j))
            torch.testing.assert_close(data.pool["u"][data.everything(seed, scale)], expected["u"])


@pytest.mark.parametrize("per_client", [1, 4])
def test_shards_are_narrow_ranges_of_a_seeds_targets(data, per_client):
    own = data.shards(1, per_client)
    np.testing.assert_array_equal(np.sort(np.concatenate(own)), data.everything(1, LEVEL))
    assert {len(shard) for shard in own} == {12}
    for shard, targets in zip(own, data.targets("shards", per_client, 1), strict=True):
        np.testing.assert_array_equal(targets, data.pool["s"][shard])
    if per_client == 1:
        ranges = sorted((t.min(), t.max()) for t in data.targets("shards", 1, 1))
        assert all(a[1] <= b[0] for a, b in pairwise(ranges))


def test_uneven_blocks_have_sizes_1_2_to_C(data):
    assert sorted(map(len, data.owned("uneven", 1, 3))) == [4, 8, 12, 16, 20]


def test_fields_move_the_same_clients_to_the_longer_scale(data):
    shards, second = data.sources(3)
    assert 0 < second.sum() < 5
    here, there = (data.two_fields(3, delta) for delta in (0.0, 1.0))
    for own, a, b, moved in zip(shards, here, there, second, strict=True):
        np.testing.assert_array_equal(a, data.everything(3, LEVEL)[own % 60])
        np.testing.assert_array_equal(b, data.everything(3, LEVEL + moved)[own % 60])


def test_samples_are_those_of_the_client_with_u_as_a_function(data):
    x = data.samples("shards", 2, 1, 5)
    assert [cloud.shape for cloud in x] == [(5, 10)] * 5
    for cloud, shard in zip(x, data.shards(1, 2), strict=True):
        rows = torch.cat([data.pool["u"] / 8**0.5, data.pool["y"], data.pool["s"][:, None]], 1)[shard].tolist()
        assert {tuple(row) for row in cloud.tolist()} <= {tuple(row) for row in rows}


def test_distances_are_those_between_the_clients(data):
    found = distances(data, "shards", [1, 12], SEEDS, 6)
    assert found.sel(what="s", seed=1, level=12).item() == mean_pairwise_w1(data.targets("shards", 12, 1))
    assert found.sel(what="(u, y, s)", seed=3, level=1).item() == debiased_w1(data.samples("shards", 1, 3, 6))
    assert (found.sel(what="s", level=12) < found.sel(what="s", level=1)).all()


def test_distance_of_two_random_fields_is_that_of_pot_where_pot_has_one():
    """POT's closed form takes the root of a covariance: with five sensors it is regular enough."""
    t = np.linspace(0, 1, 5)
    A, B = (gaussian_kernel(t, t, l) / 5 for l in (0.2, 0.7))
    expected = ot.gaussian.bures_wasserstein_distance(np.zeros(5), np.zeros(5), A, B)
    assert torque_distance(0.2, 0.7, 5) == pytest.approx(expected, rel=1e-9)
    assert torque_distance(0.2, 0.7, 5) == pytest.approx(torque_distance(0.7, 0.2, 5), rel=1e-9)
    assert torque_distance(0.3, 0.3, 50) == pytest.approx(0, abs=1e-6)
    longest = [torque_distance(0.2, l, 50) for l in (0.5, 1.0, 4.0)]
    assert (np.diff(longest) > 0).all()


def test_only_pairs_of_different_fields_are_apart(data):
    found = torque_distances(data, [0.0, 1.0], SEEDS)
    second = data.sources(1)[1]
    share = np.mean([a != b for a, b in combinations(second, 2)])
    np.testing.assert_allclose(found[1], [0, share * torque_distance(LEVEL, LEVEL + 1, 8)], atol=1e-6)


def test_federations_own_what_their_case_says(data):
    cases = {"shards 2": ("shards", 2, {"lr": 0.5}), "weights equal": ("uneven", 1, {"mixing": equal})}
    feds = data.federations(cases, SEEDS, partial(Federation, fraction=0.5))
    assert list(feds) == [(case, seed) for seed in SEEDS for case in cases]
    fed = feds["shards 2", 1]
    assert (fed.lr, fed.seed, fed.fraction, fed.name) == (0.5, 1, 0.5, "shards 2")
    for a, b in zip(fed.shards, data.shards(1, 2), strict=True):
        np.testing.assert_array_equal(a, b)
    alike = feds["weights equal", 3]
    np.testing.assert_allclose(alike.mixing(alike.p, np.ones(5, bool)), 0.2)


def test_a_centralised_model_owns_what_all_clients_own(data):
    cases = {f"{kind} {v}": (kind, v, {"lr": 0.5}) for kind, v in (("shards", 1), ("shards", 2), ("fields", 1.0))}
    feds = data.federations(cases, SEEDS, centralised)
    assert {len(fed.shards) for fed in feds.values()} == {1}
    one, two = (feds[f"shards {v}", 1].shards[0] for v in (1, 2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(feds["fields 1.0", 1].shards[0], np.unique(np.concatenate(data.two_fields(1, 1.0))))


def test_levels_of_a_kind_rise():
    errors = {"a": {"shards 10": 1, "shards 2": 2, "fields 0.5": 3, "weights size": 4}, "b": {"fields 1.0": 5}}
    assert levels_of(errors, "shards") == {"a": {2.0: 2, 10.0: 1}}
    assert list(levels_of(errors, "shards")["a"]) == [2.0, 10.0]
    assert levels_of(errors, "fields") == {"a": {0.5: 3}, "b": {1.0: 5}}
