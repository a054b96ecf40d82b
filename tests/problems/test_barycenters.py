"""Class-wise barycenters undo translations, weigh clients by their samples, and say who took no part."""

import warnings

import numpy as np
import pytest

from fedlib.numerics.transport import federated_barycenter, uniform
from fedlib.problems.barycenters import (
    World,
    class_barycenters,
    class_means_apart,
    noise_start,
    owned,
    sample_start,
    world,
    worlds,
)
from fedlib.problems.digits import Clients
from fedlib.problems.shifts import shifted
from fedlib.streams import stream


def test_a_class_that_a_client_lacks_is_skipped_and_an_empty_one_refused():
    rng = stream(4, "skip")
    x, y = rng.normal(size=(30, 2)), np.tile([0, 1, 2], 10)
    shards = [np.flatnonzero(y < 2), np.flatnonzero(y == 2)]
    with pytest.warns(UserWarning, match=r"\(0, 1\), \(1, 1\), \(2, 0\)"):
        moved = class_barycenters(x, y, shards, 5, 2, noise_start(2, rng))
    assert moved.skipped == [(0, 1), (1, 1), (2, 0)]
    assert moved.Q.shape == (15, 2)
    assert moved.labels.tolist() == [0] * 5 + [1] * 5 + [2] * 5
    with pytest.raises(ValueError, match="class 1 of 3 has no sample at any client"):
        class_barycenters(x[y != 1], y[y != 1], [np.arange(20)], 5, 2, noise_start(2, rng))


def test_transport_undoes_translations_of_a_class():
    """Clients see translates of one cloud per class: after the maps they agree, and sit at the mean translation."""
    rng = stream(6, "translates")
    base, shifts = rng.normal(size=(2, 40, 2)), np.array([[0.0, 0], [3, 0], [0, 3]])
    x = np.concatenate([c + 10 * v + s for s in shifts for v, c in enumerate(base)])
    y, shards = np.tile(np.repeat([0, 1], 40), 3), np.split(np.arange(240), 3)
    moved = class_barycenters(x, y, shards, 40, 25, noise_start(2, rng))
    means = np.array([[moved.mapped[s][y[s] == v].mean(0) for v in (0, 1)] for s in shards])
    expected = base.mean(1) + np.array([[0.0], [10.0]]) + shifts.mean(0)
    np.testing.assert_allclose(means, np.broadcast_to(expected, (3, 2, 2)), atol=0.02)


def test_label_skew_does_not_put_the_clients_translations_into_the_classes():
    """Clients far apart with unequal shares of the classes: the classes' barycenters stay as far apart as they are."""
    x = np.concatenate(
        [v + 100.0 * i + np.zeros((m, 1)) for i, v, m in ((0, 0, 30), (0, 1, 10), (1, 0, 5), (1, 1, 35))]
    )
    y, shards = np.repeat([0, 1, 0, 1], [30, 10, 5, 35]), [np.arange(40), np.arange(40, 80)]
    moved = class_barycenters(x, y, shards, 5, 60, noise_start(1, stream(0, "start")))
    np.testing.assert_allclose([moved.Q[moved.labels == v].mean() for v in (0, 1)], [50, 51], atol=1e-3)


def test_a_client_weighs_its_share_of_the_samples():
    """30 and 10 samples at 0 and at 4: the barycenter sits at 1."""
    x, y = np.repeat([[0.0], [4.0]], [30, 10], 0), np.zeros(40, int)
    moved = class_barycenters(x, y, [np.arange(30), np.arange(30, 40)], 5, 40, noise_start(1, stream(0, "start")))
    np.testing.assert_allclose(moved.Q, 1, atol=1e-3)


def test_sample_start_takes_turns_at_the_first_client_that_has_the_class():
    x, y = np.arange(6.0)[:, None], np.array([0, 0, 1, 1, 1, 0])
    start = sample_start(x, y, [np.array([2, 3]), np.array([1, 0, 4, 5])])
    assert start(0, 5)[:, 0].tolist() == [1, 0, 5, 1, 0]
    assert start(1, 3)[:, 0].tolist() == [2, 3, 2]


@pytest.fixture
def three():
    """Two classes of points of the plane at three clients, the last without class 1."""
    y = np.array([0, 1, 0, 1, 0, 0])
    return Clients(stream(0, "three").normal(size=(6, 2)) + 3 * y[:, None], y, np.split(np.arange(6), 3))


def test_a_world_is_what_the_class_barycenters_are(three):
    start = noise_start(2, stream(1, "start"))
    with warnings.catch_warnings(action="error"):
        here = world(three, 4, 3, start)
    with pytest.warns(UserWarning, match="skipped"):
        found = class_barycenters(*three, 4, 3, noise_start(2, stream(1, "start")))
    assert here.seen is three
    np.testing.assert_array_equal(here.mapped.x, found.mapped)
    np.testing.assert_array_equal(here.Q.x, found.Q)
    assert here.Q.y.tolist() == [0] * 4 + [1] * 4
    assert [own.tolist() for own in here.Q.shards] == [list(range(8))] * 3
    assert here.skipped == [(1, 2)]


def test_worlds_start_from_noise_or_from_samples(three):
    """One round with the first client's samples as atoms: Q is what the barycenter makes of that start."""
    noise, samples = (worlds(three, [0.5, 2.0], 0, "flra", 1, 1, from_samples=f) for f in (False, True))
    assert list(noise) == [0.5, 2.0]
    for level, here in samples.items():
        seen = shifted(three, level, 0)
        np.testing.assert_array_equal(here.seen.x, seen.x)
        clouds = [uniform(seen.x[own[three.y[own] == 0]]) for own in three.shards]
        expected = federated_barycenter(clouds, seen.x[:1], 1, [1 / 3] * 3).Q
        np.testing.assert_allclose(here.Q.x[:1], expected)
        assert np.abs(noise[level].Q.x - here.Q.x).max() > 1e-3


def test_ways_own_what_their_field_says(three):
    a, b = World(three, *three[:1], None, []), World(None, three, None, [])
    found = owned({"way 1": "seen", "way 2": "mapped"}, {0.5: a, 2.0: b})
    assert list(found) == [("way 1", 0.5), ("way 2", 0.5), ("way 1", 2.0), ("way 2", 2.0)]
    assert found["way 1", 0.5] is three
    assert found["way 2", 2.0] is three


def test_class_means_apart():
    """Clients 1 and 2 share class 0, at (0, 0) and (3, 4): 5 over two pixels; client 3 has a class of its own."""
    x = np.array([[0.0, 1.0], [0.0, -1.0], [3.0, 4.0], [9.0, 9.0]])
    clients = Clients(x, np.array([0, 0, 0, 1]), [np.array([0, 1]), np.array([2]), np.array([3])])
    assert class_means_apart(clients) == pytest.approx(12.5**0.5)
    assert np.isnan(class_means_apart(clients._replace(shards=[np.array([0, 1]), np.array([3])])))
