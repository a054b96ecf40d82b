"""The noisy surface: its data and federations, what is judged where, and what an "MSE" could mean."""

import numpy as np
import pytest

from fedlib.models.stochastic import SNN
from fedlib.problems import noisy_surface
from fedlib.problems.fedstnn import Learnt, quadrants, surface, surface_grid
from fedlib.streams import stream

POINTS = surface_grid()
F = surface(*POINTS.T)


@pytest.fixture(scope="module")
def observed():
    return noisy_surface.observe(8, 0.1, [3, 1])


def test_data_and_federations(observed):
    z, data = observed
    np.testing.assert_allclose(z[1] - F, 0.1 * stream(1, "noise of the surface").standard_normal(len(F)), atol=1e-12)
    feds = noisy_surface.federations(data, 0.25, lr=0.02)
    assert list(feds) == [(name, seed) for seed in (3, 1) for name in ("federated", "alone", "central")]
    assert [len(s) for s in feds["federated", 1].shards] == [110] * 8
    assert feds["federated", 1].fraction == 0.25
    for q, (shard, own) in enumerate(zip(feds["alone", 1].shards, quadrants(POINTS), strict=True)):
        np.testing.assert_array_equal(shard, feds["federated", 1].shards[2 * q])
        assert np.isin(data.pool["x"][shard].numpy(), POINTS[own]).all(1).sum() >= 100
        np.testing.assert_array_equal(data.pool["y"][shard].numpy(), z[1][shard - len(F)])
    np.testing.assert_array_equal(feds["central", 1].shards[0], np.unique(np.concatenate(feds["federated", 1].shards)))


def test_points_of_other_quadrants():
    """As printed 10 of a client's points, in the authors' code 20; the noise does not depend on it."""
    z, data = noisy_surface.observe(8, 0.1, [3], other=20)
    np.testing.assert_array_equal(z, noisy_surface.observe(8, 0.1, [3])[0])
    assert [len(shard) for shard in data.shards[3]] == [120] * 8
    assert np.isin(data.shards[3][2], quadrants(POINTS)[1]).sum() == 100


def test_a_model_that_is_right_in_one_quadrant_only(observed):
    z, _ = observed
    where = quadrants(POINTS)[0]
    wrong = np.full((2, len(F)), 0.5)
    wrong[:, where] = 0
    found = Learnt(F + wrong, np.full_like(wrong, 0.1), F + wrong, np.ones(2))
    at_home, elsewhere = (noisy_surface.judged(found, z, 0.1, at) for at in (where, np.setdiff1d(range(len(F)), where)))
    np.testing.assert_allclose([at_home["RMSE"], elsewhere["RMSE"]], [[0, 0], [0.5, 0.5]], atol=1e-12)
    np.testing.assert_array_equal([at_home["in band"], elsewhere["in band"]], [[1, 1], [0, 0]])
    np.testing.assert_allclose(at_home["MSE"], ((z - F) ** 2)[:, where].mean(1))
    with pytest.raises(ValueError, match="would broadcast"):
        noisy_surface.judged(found._replace(path=found.path[..., None]), z, 0.1)


def test_slices_are_lines_of_the_grid():
    for name, (axis, value) in noisy_surface.SLICES.items():
        at = POINTS[noisy_surface.on_slice(name)]
        np.testing.assert_allclose(at[:, axis], value, atol=1e-12)
        np.testing.assert_allclose(at[:, 1 - axis], np.linspace(-1, 1, 101))


def test_answers_are_asked_for_on_the_whole_grid():
    net = SNN(2, 3, 5)
    known = noisy_surface.known(net, 0.1)
    np.testing.assert_array_equal(known["x_test"], POINTS)
    np.testing.assert_array_equal(known["f_test"][:, 0], F)
    assert known["w_test"].shape == (len(F), *net.noise(20))
