"""Controls of FedDRO's gain: means are means, and affine maps undo affine shifts."""

import numpy as np
import pytest

from fedlib.papers.feddro.digits import ways
from fedlib.papers.feddro.digits.barycenters import class_barycenters, converging, moments_start
from fedlib.papers.feddro.digits.handwriting import Clients, deal_digits, small_digits
from fedlib.papers.feddro.digits.shifts import shifted
from fedlib.streams import stream


@pytest.fixture
def three():
    """Ten classes at three clients, who own 10, 10 and 20 samples; translates of one cloud by (0, 30, 60)."""
    rng = stream(0, "three")
    y = np.concatenate([np.arange(10), np.arange(10), np.repeat(np.arange(10), 2)])
    own = np.repeat([0, 1, 2], [10, 10, 20])
    return Clients(
        5.0 * y[:, None] + rng.normal(size=(40, 2)) + 30 * own[:, None], y, np.split(np.arange(40), [10, 20])
    )


def test_class_means_are_means_of_the_clients_means(three):
    x, y, shards = three
    found = ways.class_means(three, 4)
    for v in range(10):
        per_client = np.array([x[own][y[own] == v].mean(0) for own in shards])
        expected = np.array([0.25, 0.25, 0.5]) @ per_client
        for own in found.shards:
            atoms = found.x[own][found.y[own] == v]
            np.testing.assert_allclose(atoms, np.tile(expected, (4, 1)))
    assert [len(own) for own in found.shards] == [40, 40, 40] and len(found.x) == 40


def test_a_class_that_a_client_lacks_is_averaged_over_the_others(three):
    keep = ~((three.y == 3) & (np.arange(40) < 10))
    x, y = three.x[keep], three.y[keep]
    shards = [np.arange(9), np.arange(9, 19), np.arange(19, 39)]
    mean = ways.mean_of_classes(ways.moments(Clients(x, y, shards)))
    np.testing.assert_allclose(mean[3], (10 * x[9:19][y[9:19] == 3].mean(0) + 20 * x[19:][y[19:] == 3].mean(0)) / 30)


def test_affine_maps_undo_symmetric_affine_shifts():
    """x -> A_i x + b_i with A_i = s_i I: all clients see the same cloud afterwards, of the mean st.dev. (Bures)."""
    rng = stream(1, "affine")
    y, base = np.repeat(np.arange(10), 30), rng.normal(size=(300, 4)) + np.repeat(rng.normal(size=(10, 4)), 30, 0)
    scales = (1.0, 2.0, 4.5)
    x = np.concatenate([s * base + 7 * s for s in scales])
    seen = Clients(x, np.tile(y, 3), np.split(np.arange(900), 3))
    found = ways.affine(seen, 200, shrink=0.0).x.reshape(3, 300, 4)
    np.testing.assert_allclose(found[0], found[1], atol=2e-3)
    np.testing.assert_allclose(found[0], found[2], atol=2e-3)
    np.testing.assert_allclose(found[0].std(0), np.mean(scales) * base.std(0), rtol=2e-3)


@pytest.fixture(scope="module")
def seen():
    return shifted(deal_digits(small_digits()["train"], 2, 100, seed=0), 0.5, 0, "client")


def test_all_ways_take_as_many_steps(seen):
    for way in ways.WAYS:
        made = ways.material(way, seen, 10, 3, 1, 0)
        assert [len(shard) for shard in made.shards] == [100, 100], way
        assert made.x.shape[1] == 784, way
    assert ways.material(ways.FEDAVG, seen, 10, 3, 1, 0) is seen
    with pytest.raises(ValueError, match="way = 'maps': expected one of FedAvg"):
        ways.material("maps", seen, 10, 3, 1, 0)


def test_ways_of_transport_are_the_maps_and_the_atoms_of_one_barycenter(seen):
    mended = class_barycenters(seen, 5, 3, moments_start(stream(4, "start")), **converging(3))
    np.testing.assert_array_equal(ways.material(ways.MAPPED, seen, 5, 3, 1, 4).x, mended.mapped.x)
    np.testing.assert_array_equal(ways.material(ways.ATOMS, seen, 5, 3, 1, 4).x, mended.Q.x)
    printed = class_barycenters(seen, 5, 3, moments_start(stream(4, "start")))
    assert np.abs(printed.mapped.x - mended.mapped.x).max() > 1e-3


def test_a_picture_is_most_like_its_own_class_whatever_is_added_to_all():
    rng = stream(0, "alike")
    means = rng.normal(size=(10, 60))
    x = means[[3, 7, 0]] + 0.1 * rng.normal(size=(3, 60))
    for pattern in (0, 50 * rng.normal(size=60)):
        assert ways.most_alike(means + pattern, x).tolist() == [3, 7, 0]
