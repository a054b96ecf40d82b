"""FedStNN's surface and the partitions of its three experiments."""

import numpy as np

from fedlib.federated.partitions import focused
from fedlib.problems import fedstnn, letters
from fedlib.streams import stream


def test_surface_is_continuous_and_has_its_variance():
    """Property 13: kink, but no jump, at x = 0; variance on the grid from sums of sin^2 and cos^2."""
    t, e = np.linspace(-1, 1, 41), 1e-13
    assert np.abs(fedstnn.surface(0 * t + e, t) - fedstnn.surface(0 * t - e, t)).max() < 1e-11
    assert np.abs(fedstnn.surface(t, 0 * t + e) - fedstnn.surface(t, 0 * t - e)).max() < 1e-11
    slopes = [(fedstnn.surface(s * 1e-6, 0.3) - fedstnn.surface(0.0, 0.3)) / (s * 1e-6) for s in (-1, 1)]
    np.testing.assert_allclose(slopes, [np.pi, 2 * np.pi], rtol=1e-5)
    mean_a, mean_b = -1 / np.tan(np.pi / 100) / 101, -1.15 / 101
    variance = 50 / 101 - mean_a**2 + 1.15**2 * 51 / 101 - mean_b**2
    z = fedstnn.surface(*fedstnn.surface_grid().T)
    np.testing.assert_allclose(z.var(), variance, rtol=1e-12)
    assert abs(z.var() - 1.0636) < 2e-3  # that of the paper's Eq. 40


def test_partitions_of_the_three_experiments():
    """Property 14: sizes, shares of the own block, no repetition, the others from outside."""
    points, x = fedstnn.surface_grid(), np.arange(10_000)
    cases = [
        (np.split(x, 10), 10_000, 100, 100, 10),
        (np.split(x, 10), 10_000, 100, 50, 10),
        (fedstnn.quadrants(points), len(points), 40, 100, 10),
        (letters.thirds(), 4800, 30, 400, 12),
    ]
    for blocks, n, K, main, other in cases:
        shards = focused(blocks, n, K, main, other, stream(0, "partition"))
        assert [len(s) for s in shards] == [main + other] * K
        for k, shard in enumerate(shards):
            assert len(np.unique(shard)) == main + other
            assert np.isin(shard, blocks[k // (K // len(blocks))]).sum() == main
    assert [len(b) for b in fedstnn.quadrants(points)] == [51 * 51] * 4
    group = fedstnn.curve_grid()[np.split(x, 10)[3]]  # the paper's clients 31-40
    np.testing.assert_allclose([group[0], group[-1] + 2e-4 * np.pi], [0.6 * np.pi, 0.8 * np.pi], rtol=1e-12)
