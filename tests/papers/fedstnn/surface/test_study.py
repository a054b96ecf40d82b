"""The noisy surface: the printed function, who owns what; answers against sums known beforehand."""

import numpy as np
import pytest
import xarray
from scipy.stats import norm

from fedlib.federated.experiment import data_of
from fedlib.papers.fedstnn import plane
from fedlib.papers.fedstnn.plane import on_grid, quadrants, surface_grid
from fedlib.papers.fedstnn.surface import problem, study
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


POINTS, F, SIGMA, SEEDS = surface_grid(), on_grid(), 0.1, [0, 1]
MODELS = ["federated", "centralised", *(f"client {k} alone" for k in (1, 11, 21, 31))]


def normal(name, *shape):
    return SIGMA * stream(0, name).standard_normal((*shape, len(F)))


@pytest.fixture(scope="module")
def every():
    """What models say: a federation that is right; clients alone that are so in their quadrant only."""
    mean = np.tile(F, (6, 2, 1)) + 0.02
    for row, quadrant in zip(mean[2:], quadrants(POINTS), strict=True):
        outside = np.setdiff1d(np.arange(len(F)), quadrant)
        row[:, outside] += 0.5
    axes = ("model", "seed", "x")
    return xarray.Dataset(
        {
            "mean": (axes, mean), "std": (axes, np.full_like(mean, SIGMA)), "path": (axes, mean + normal("p", 6, 2)),
            "inside": (axes[:2], np.full((6, 2), 0.9)),
        },
        {"model": MODELS, "seed": SEEDS},
    )  # fmt: skip


@pytest.fixture(scope="module")
def results(every):
    return of_answers(every)


def of_answers(every):
    observed = xarray.DataArray(F + normal("z", 2), {"seed": SEEDS}, ("seed", "x"))
    return study.Results(study.chosen(every, observed, SIGMA), observed, None, SIGMA)


def test_a_model_is_judged_where_it_knows_and_elsewhere(results):
    rows = study.report(results)
    assert len(rows) == 12
    np.testing.assert_allclose(rows["client 11 alone, own quadrant"]["RMSE"], 0.02)
    np.testing.assert_allclose(rows["client 11 alone, elsewhere"]["RMSE"], 0.52)
    assert (rows["client 11 alone, elsewhere"]["in band"] < 0.05).all()
    np.testing.assert_allclose(rows["federated, whole grid"]["MSE"], 0.0204, rtol=0.05)
    np.testing.assert_allclose(rows["federated, whole grid"]["in band"], norm.cdf(1.8) - norm.cdf(-2.2), atol=0.01)
