"""FedWaD's gap on clouds: a bound that closes, or stays where its start or its sizes are wrong."""

import numpy as np
import pytest

from fedlib.numerics.transport import federated_barycenter, fedwad, uniform, wasserstein
from fedlib.problems import clouds
from fedlib.streams import stream


def test_the_gap_is_that_of_the_bound():
    X, Y = clouds.gaussians(3, 20, 20)
    xi = clouds.tight_start(X, Y, 20)
    values = clouds.gap(X, Y, xi, 4, p=1)
    run = fedwad(X, Y, xi, 4, p=1)
    np.testing.assert_allclose(run.bound, wasserstein(X, Y, 1) * (1 + values / 100))
    np.testing.assert_array_equal(values, clouds.above(X, Y, run, 1))
    assert (values > 0).all()


@pytest.mark.parametrize(
    ("gap", "closes"), [([9, 3, 0.5], True), ([9, 3, 1.5], False), ([3, 9, 0.5], False), ([9, 3, -1], False)]
)
def test_a_gap_that_closes_is_no_gap_that_rises_or_stays(gap, closes):
    assert clouds.closes_in(np.array(gap, float)) is closes


def test_a_start_is_tight_and_in_the_middle():
    X, Y = clouds.gaussians(50, 300, 300)
    xi = clouds.tight_start(X, Y, 7)
    np.testing.assert_allclose(xi, np.broadcast_to((X.x.mean(0) + Y.x.mean(0)) / 2, (7, 50)), atol=0.05)
    assert np.linalg.norm(Y.x.mean(0) - X.x.mean(0)) == pytest.approx(4 * 2**0.5, rel=0.1)
    assert Y.x.std() == pytest.approx(0.7, rel=0.05)


def test_wide_starts_and_unequal_sizes_end_above():
    ends = {name: values[-1] for name, values in clouds.starts_and_sizes(80, 50).items()}
    assert list(ends) == ["80, 80; tight start", "80, 80; wide start", "60, 80; tight start"]
    assert ends["80, 80; tight start"] < 0.5
    assert min(ends["80, 80; wide start"], ends["60, 80; tight start"]) > 2


def test_exact_supports_come_closer_and_grow():
    (near, same), (nearer, grown) = clouds.supports(3).values()
    assert nearer[-1] < near[-1]
    assert same == [40] * 4
    assert (np.diff(grown) > 0).all()
    assert len(nearer) == 3


def test_two_particles_stall_between_the_wrong_pairs_only():
    stalled, released = clouds.two_particles().values()
    assert stalled[-1] > 0.5
    assert released[-1] < 1e-3


def test_quality_of_the_barycenter_of_translates():
    X, Y, three, start = clouds.plane(40, stream(0, "plane"))
    assert [len(m.x) for m in (X, Y, *three)] == [40] * 5
    assert Y.x.mean() == pytest.approx(4, abs=0.3)
    found = clouds.quality(federated_barycenter(three, start, 20).Q, three)
    assert found["error of the mean"] < 0.02
    assert found["objective / centralised"] == pytest.approx(1, abs=0.02)
    off = clouds.quality(start + np.array([3.0, 4.0]), three)
    assert off["error of the mean"] == pytest.approx(5, abs=0.5)
    assert off["spread"] < 0.02
    assert off["objective / centralised"] > 2


def test_the_first_message_gives_the_samples_away_only_to_who_has_a_tight_start_and_as_many_atoms():
    *_, three, start = clouds.plane(30, stream(0, "plane"))
    leaks = []
    for clients, S in ((three, 30), ([uniform(m.x) for m in three], 20)):
        wire = []
        federated_barycenter(clients, start[:S], 3, wire=wire)
        leaks.append(clouds.leak(wire, clients))
    assert leaks[0][0] > 1e-6
    assert leaks[0][1] < 1e-6
    assert leaks[1][1] > 1e-3
