"""Shifts are affine, of the size that they say, and the client's own."""

import numpy as np
import pytest

from fedlib.papers.feddro.digits.handwriting import Clients
from fedlib.papers.feddro.digits.shifts import (
    LEVELS,
    READINGS,
    affine_shift,
    client_shift,
    shifted,
    shifted_tests,
    shifts_in_parts,
)
from fedlib.streams import stream


@pytest.mark.parametrize("reading", READINGS)
def test_shifts_are_affine(reading):
    shift = client_shift(2, 2.0, 1, reading, 9)
    x, y = stream(0, "x").normal(size=(2, 4, 9))
    np.testing.assert_allclose(shift(0.3 * x + 0.7 * y), 0.3 * shift(x) + 0.7 * shift(y))
    if reading == "gain":
        np.testing.assert_allclose(shift(x), 2 * x + LEVELS[2])
    else:  # the same z by another scale
        nothing = np.zeros((1, 9))
        scale = {"client": 1, "shared": 1, "levels": LEVELS[2] / 2}[reading]
        np.testing.assert_allclose(shift(nothing), scale * client_shift(2, 2.0, 1, "client", 9)(nothing))


def test_only_the_shared_reading_has_one_matrix():
    """x - y of two samples sees Lambda alone: the same at all clients, or each its own, whatever z is."""
    x, y = stream(0, "x").normal(size=(2, 3, 9))
    for reading, same in (("client", False), ("shared", True), ("levels", False)):
        one, two = (client_shift(i, 2.0, 0, reading, 9) for i in (0, 1))
        assert np.allclose(one(x) - one(y), two(x) - two(y)) is same
        assert not np.allclose(one(x), two(x))


def test_size_of_the_shift():
    """|x' - x|^2 = level^2 (|x|^2 + d) on average over G and z."""
    x = np.ones((1, 100))
    sizes = [((client_shift(0, 3.0, s, d=100)(x) - x) ** 2).sum() for s in range(300)]
    assert np.mean(sizes) == pytest.approx(9 * 2 * 100, rel=0.03)
    matrix = affine_shift(3.0, stream(0, "G").standard_normal((100, 100)), np.zeros(100)).gain
    assert (matrix**2).sum() == pytest.approx(9 * 100, rel=0.05)


def test_a_client_has_the_same_draw_at_every_size():
    """x' - x is proportional to |Lambda|; another client or seed has another map."""
    x = stream(0, "x").normal(size=(3, 6))
    moved = [client_shift(1, level, 5, d=6)(x) - x for level in (0.5, 2.0)]
    np.testing.assert_allclose(4 * moved[0], moved[1])
    for other in (client_shift(2, 0.5, 5, d=6), client_shift(1, 0.5, 6, d=6)):
        assert np.abs(other(x) - x - moved[0]).max() > 0.1


def test_every_client_sees_its_own_samples_through_its_map():
    x, shards = stream(0, "x").normal(size=(5, 4)), [np.array([3, 0]), np.array([1, 2, 4])]
    clients = Clients(x, np.arange(5), shards)
    seen = shifted(clients, 2.0, 7, "levels")
    for i, own in enumerate(shards):
        np.testing.assert_array_equal(seen.x[own], client_shift(i, 2.0, 7, "levels", 4)(x[own]))
    assert seen.y is clients.y
    assert seen.shards is shards
    assert clients.x is x


@pytest.mark.parametrize("reading", READINGS)
def test_tests_are_under_the_clients_maps_under_others_and_under_their_parts(reading):
    x = stream(0, "x").normal(size=(3, 9))
    tests, parts = shifted_tests(x, 2, 3, 2.0, 5, reading), shifts_in_parts(x, 2, 2.0, 5, reading)
    assert tests["fresh"].shape == (3, 3, 9) and tests["fresh"].dtype == np.float32
    if reading != "gain":  # which has five clients' shifts only
        assert np.abs(tests["fresh"] - tests["own"][:1]).max(axis=(1, 2)).min() > 0.1
    for i in range(2):
        shift = client_shift(i, 2.0, 5, reading, 9)
        np.testing.assert_allclose(tests["own"][i], shift(x), rtol=1e-6)
        np.testing.assert_allclose(parts["whole"][i], shift(x), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(parts["matrix"][i], shift(x) - shift(0 * x), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(parts["pattern"][i], x + shift(0 * x), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="expected one of"):
        client_shift(0, 1.0, 0, "dense")
