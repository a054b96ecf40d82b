"""Class-wise barycenters undo translations, weigh clients by their samples, and say who took no part."""

import numpy as np
import pytest

from fedlib.papers.feddro.algorithms import federated_barycenter
from fedlib.papers.feddro.digits.barycenters import (
    class_barycenters,
    clients_apart,
    convergence,
    moments_start,
    of_class,
    sample_start,
)
from fedlib.papers.feddro.digits.handwriting import Clients, deal_digits, small_digits
from fedlib.papers.feddro.digits.shifts import shifted
from fedlib.papers.feddro.measures import uniform
from fedlib.streams import stream


def noise_start(rng, spread=0.01):
    """Tight noise around 0, so that the start says nothing about anybody's data."""
    return lambda clouds, weights, S, wire=None: spread * rng.standard_normal((S, clouds[0].x.shape[1]))


def test_a_class_that_a_client_lacks_is_skipped_and_an_empty_one_refused():
    rng = stream(4, "skip")
    x, y = rng.normal(size=(30, 2)), np.tile([0, 1, 2], 10)
    shards = [np.flatnonzero(y < 2), np.flatnonzero(y == 2)]
    moved = class_barycenters(Clients(x, y, shards), 5, 2, noise_start(rng))
    assert moved.Q.x.shape == (15, 2)
    assert moved.Q.y.tolist() == [0] * 5 + [1] * 5 + [2] * 5
    with pytest.raises(ValueError, match="class 1 of 3 has no sample at any client"):
        class_barycenters(Clients(x[y != 1], y[y != 1], [np.arange(20)]), 5, 2, noise_start(rng))


def test_transport_undoes_translations_of_a_class():
    """Clients see translates of one cloud per class: after the maps they agree, and sit at the mean translation."""
    rng = stream(6, "translates")
    base, shifts = rng.normal(size=(2, 40, 2)), np.array([[0.0, 0], [3, 0], [0, 3]])
    x = np.concatenate([c + 10 * v + s for s in shifts for v, c in enumerate(base)])
    y, shards = np.tile(np.repeat([0, 1], 40), 3), np.split(np.arange(240), 3)
    moved = class_barycenters(Clients(x, y, shards), 40, 25, noise_start(rng))
    means = np.array([[moved.mapped.x[s][y[s] == v].mean(0) for v in (0, 1)] for s in shards])
    expected = base.mean(1) + np.array([[0.0], [10.0]]) + shifts.mean(0)
    np.testing.assert_allclose(means, np.broadcast_to(expected, (3, 2, 2)), atol=0.02)


def test_label_skew_does_not_put_the_clients_translations_into_the_classes():
    """Clients far apart with unequal shares of the classes: the classes' barycenters stay as far apart as they are."""
    x = np.concatenate(
        [v + 100.0 * i + np.zeros((m, 1)) for i, v, m in ((0, 0, 30), (0, 1, 10), (1, 0, 5), (1, 1, 35))]
    )
    y, shards = np.repeat([0, 1, 0, 1], [30, 10, 5, 35]), [np.arange(40), np.arange(40, 80)]
    moved = class_barycenters(Clients(x, y, shards), 5, 60, noise_start(stream(0, "start")))
    np.testing.assert_allclose([moved.Q.x[moved.Q.y == v].mean() for v in (0, 1)], [50, 51], atol=1e-3)


def test_a_client_weighs_its_share_of_the_samples():
    """30 and 10 samples at 0 and at 4: the barycenter sits at 1."""
    x, y = np.repeat([[0.0], [4.0]], [30, 10], 0), np.zeros(40, int)
    moved = class_barycenters(Clients(x, y, [np.arange(30), np.arange(30, 40)]), 5, 40, noise_start(stream(0, "start")))
    np.testing.assert_allclose(moved.Q.x, 1, atol=1e-3)


def test_sample_start_takes_turns_at_the_first_client_that_has_the_class():
    x, y = np.arange(6.0)[:, None], np.array([0, 0, 1, 1, 1, 0])
    clients = Clients(x, y, [np.array([2, 3]), np.array([1, 0, 4, 5])])
    assert sample_start(of_class(clients, 0), [1.0], 5)[:, 0].tolist() == [1, 0, 5, 1, 0]
    assert sample_start(of_class(clients, 1), [0.5, 0.5], 3)[:, 0].tolist() == [2, 3, 2]


def test_moments_start_has_the_pooled_moments_and_sends_no_sample():
    """Weighted means of means and of the clients' own covariances: the distance between the clients is in neither."""
    rng, wire = stream(0, "moments"), []
    mix = np.array([[1.0, 0.8], [0.0, 0.6]])
    clouds = [uniform(rng.normal(size=(50, 2)) @ mix * s + m) for s, m in ((1.0, 0.0), (3.0, 40.0))]
    atoms = moments_start(rng)(clouds, np.array([0.75, 0.25]), 20000, wire)
    mean, cov = [c.x.mean(0) for c in clouds], [np.cov(c.x.T, bias=True) for c in clouds]
    np.testing.assert_allclose(atoms.mean(0), 0.75 * mean[0] + 0.25 * mean[1], atol=0.06)
    np.testing.assert_allclose(np.cov(atoms.T), 0.75 * cov[0] + 0.25 * cov[1], rtol=0.04)
    assert [(m.sender, m.receiver, m.what, m.value.shape) for m in wire] == [
        ("client 1", "server", "moments", (20001, 2)), ("client 2", "server", "moments", (20001, 2))
    ]  # fmt: skip
    for message, cloud in zip(wire, clouds, strict=True):
        assert np.abs(message.value[:50, None] - cloud.x).sum(2).min() > 1e-3


@pytest.fixture
def three():
    """Two classes of points of the plane at three clients, the last without class 1."""
    y = np.array([0, 1, 0, 1, 0, 0])
    return Clients(stream(0, "three").normal(size=(6, 2)) + 3 * y[:, None], y, np.split(np.arange(6), 3))


def test_what_is_transported_is_what_each_classs_barycenter_says(three):
    moved = class_barycenters(three, 4, 3, noise_start(stream(1, "start")))
    start = noise_start(stream(1, "start"))
    for v, owners in ((0, [0, 1, 2]), (1, [0, 1])):
        clouds = of_class(three, v)
        made = federated_barycenter(clouds, start(clouds, None, 4), 3, np.full(len(owners), 1 / len(owners)))
        np.testing.assert_array_equal(moved.Q.x[moved.Q.y == v], made.Q)
        for k, mapped in zip(owners, made.mapped, strict=True):
            shard = three.shards[k]
            np.testing.assert_array_equal(moved.mapped.x[shard][three.y[shard] == v], mapped)
    assert [shard.tolist() for shard in moved.Q.shards] == [list(range(8))] * 3


def test_clients_apart_is_the_distance_of_their_clouds():
    """Clients 1 and 2 share class 0, translates by (3, 4): 5 apart; client 3 has a class of its own."""
    x = np.array([[0.0, 1.0], [0.0, -1.0], [3.0, 5.0], [3.0, 3.0], [9.0, 9.0]])
    clients = Clients(x, np.array([0, 0, 0, 0, 1]), [np.array([0, 1]), np.array([2, 3]), np.array([4])])
    assert clients_apart(clients) == pytest.approx(5)
    assert np.isnan(clients_apart(clients._replace(shards=[np.array([0, 1]), np.array([4])])))
    swapped = clients._replace(x=np.where(np.arange(5)[:, None] < 4, x * [0, 1] + [0, 0], x))
    assert clients_apart(swapped) == pytest.approx(4)  # equal class means say nothing of this
    twisted = clients._replace(x=np.array([[0.0, 1], [0, -1], [1, 0], [-1, 0], [9, 9]]))
    assert clients_apart(twisted) == pytest.approx(2**0.5)


def test_barycenters_of_digits_have_converged():
    """Real digits (scikit-learn's) under a shift, from pooled moments: within 1 % of POT's, which sees all samples."""
    seen = shifted(deal_digits(small_digits()["train"], 5, 200, seed=0), 2.0, 0, "client")
    Q = class_barycenters(seen, 20, 3, moments_start(stream(0, "start"))).Q
    ratios = convergence(seen, Q, 3, 0, 20)
    assert ratios["ours / POT, from samples"] < 1.01
    assert ratios["ours / POT, same start"] < 1.005
    assert ratios["ours / POT, same start"] <= ratios["as printed / POT, same start"] + 1e-9
