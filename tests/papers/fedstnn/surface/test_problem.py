"""The noisy surface: the printed function, its data, and who owns what."""

import numpy as np
import pytest

from fedlib.federated.experiment import data_of
from fedlib.papers.fedstnn import plane
from fedlib.papers.fedstnn.surface import problem
from fedlib.streams import stream

POINTS, F = plane.surface_grid(), plane.on_grid()


def test_surface_is_the_printed_one():
    """Eq. 40, case by case, on the closed quadrants I, II, III, IV."""
    cases = [
        lambda x, y: x**2 + y**2,
        lambda x, y: np.sin(2 * np.pi * x) + y**2,
        lambda x, y: np.sin(2 * np.pi * x) + np.cos(2 * np.pi * y) - 1,
        lambda x, y: np.cos(2 * np.pi * y) + x**2 - 1,
    ]
    points = plane.surface_grid()
    for where, case, sign in zip(plane.quadrants(points), cases, [(1, 1), (-1, 1), (-1, -1), (1, -1)], strict=True):
        assert (points[where] * sign >= 0).all()
        np.testing.assert_allclose(plane.surface(*points[where].T), case(*points[where].T), atol=1e-12)


def test_surface_is_continuous_and_has_its_variance():
    """Property 13: kinks, but no jump, on the axes; range; variance on the grid as that of a plus that of b."""
    t, e = np.linspace(-1, 1, 41), 1e-13
    assert np.abs(plane.surface(0 * t + e, t) - plane.surface(0 * t - e, t)).max() < 1e-11
    assert np.abs(plane.surface(t, 0 * t + e) - plane.surface(t, 0 * t - e)).max() < 1e-11
    slopes = [(plane.surface(s * 1e-6, 0.3) - plane.surface(0.0, 0.3)) / (s * 1e-6) for s in (-1, 1)]
    np.testing.assert_allclose(slopes, [2 * np.pi, 0], atol=1e-5)
    slopes = [(plane.surface(0.3, s * 1e-6) - plane.surface(0.3, 0.0)) / (s * 1e-6) for s in (-1, 1)]
    np.testing.assert_allclose(slopes, 0, atol=1e-4)
    z = plane.surface(*plane.surface_grid().T)
    assert plane.surface(-0.25, -0.5) == pytest.approx(-3) and plane.surface(1.0, 1.0) == 2
    assert -3 < z.min() < -2.99 and z.max() == 2  # the grid has no point at x = -0.25
    # sums over t = i / 50: t^2 and t^4 by Faulhaber, sin^2 = 25, cos = 0, cos^2 = 25 over 50 points of a period
    sum2, sum4 = 50 * 51 * 101 / 6 / 50**2, 50 * 51 * 101 * (3 * 50**2 + 3 * 50 - 1) / 30 / 50**4
    var_a = (25 + sum4) / 101 - (sum2 / 101) ** 2
    var_b = (25 + 50 + sum4) / 101 - ((sum2 - 50) / 101) ** 2  # (cos - 1)^2 sums to 25 - 0 + 50
    np.testing.assert_allclose(z.var(), var_a + var_b, rtol=1e-12)
    assert abs(z.var() - 1.0636) < 1e-3


@pytest.fixture(scope="module")
def data():
    return {alone: data_of(problem.shared(8, alone=alone), 10, 1) for alone in (False, True)}


def test_observations_and_owners(data):
    z = data[False].pool["y"].numpy()
    np.testing.assert_allclose(z - F, 0.1 * stream(1, "noise of the surface").standard_normal(len(F)), atol=1e-12)
    np.testing.assert_array_equal(z, plane.observations(1, 0.1))
    np.testing.assert_array_equal(data[False].pool["x"].numpy(), POINTS)
    assert [len(shard) for shard in data[False].owners] == [110] * 8
    for q, (shard, quadrant) in enumerate(zip(data[True].owners, plane.quadrants(POINTS), strict=True)):
        np.testing.assert_array_equal(shard, data[False].owners[2 * q])
        assert np.isin(shard, quadrant).sum() >= 100


def test_points_of_other_quadrants():
    """As printed 10 of a client's points, in the authors' code 20."""
    shards = plane.owners(8, 20, 3)
    assert [len(shard) for shard in shards] == [120] * 8
    assert np.isin(shards[2], plane.quadrants(POINTS)[1]).sum() == 100
