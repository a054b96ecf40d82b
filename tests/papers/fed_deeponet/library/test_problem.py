"""The library's triplets and tests: who gets which stiffness, who is told, and how long the pendulums swing."""

import numpy as np
import pytest
import torch

from fedlib.numerics.heterogeneity import hidden_parameter_floor
from fedlib.papers.fed_deeponet import physics
from fedlib.papers.fed_deeponet.library import problem, study
from fedlib.streams import stream

SMALL = {"clients": 4, "triplets": 40, "tests": 3, "common": 5, "draws": 4, "sensors": 8, "length_scale": 0.3}


def data(case=study.TOLD, T=1.0, seed=2, **more):
    return problem.library(**study.CASES[case], **SMALL, **more).data(T, seed)


def test_every_client_has_its_own_pendulum_or_all_mixed():
    own, owners = problem.stiffnesses("own", 40, 4, 2)
    for k, owner in zip(np.linspace(0.5, 1.5, 4), owners, strict=True):
        assert (own[owner] == k).all()
    mixed, same = problem.stiffnesses("mixed", 40, 4, 2)
    assert len(np.unique(mixed)) == 40 and 0.5 <= mixed.min() < 0.7 < 1.3 < mixed.max() <= 1.5
    assert sorted(np.concatenate(owners)) == [*range(40)]
    assert all(np.array_equal(a, b) for a, b in zip(owners, same, strict=True))


def test_all_cases_have_the_same_torques_and_the_targets_of_their_stiffness():
    T = 3.0
    for case, arguments in study.CASES.items():
        k, owners = problem.stiffnesses(arguments["dealt"], 40, 4, 2)
        expected, given = physics.pendulum_triplets(40, 8, 0.3, stream(2, "train"), k, T), data(case, T)
        torch.testing.assert_close(given.pool["s"], expected["s"], rtol=0, atol=0)
        torch.testing.assert_close(given.pool["u"][:, :-1], expected["u"], rtol=0, atol=0)
        np.testing.assert_allclose(given.pool["u"][:, -1], 2 * (k - 1) * (not arguments["hidden"]))
        assert len(given.owners) == len(owners) == 4
    (alone,) = data("own, told", alone=True).owners
    np.testing.assert_array_equal(alone, data("own, told").owners[0], err_msg="who is alone is client 1")


def test_targets_of_three_seconds_lie_on_the_paths():
    """A hundred times as many sensors give the same torques, and the angle at a triplet's time."""
    coarse = physics.pendulum_triplets(5, 40, 0.2, stream(0, "train"), 1.3, 3.0)
    u = physics.grf(np.linspace(0, 1, 8001), 5, 0.2 / 3, stream(0, "train"))
    x = physics.pendulum(u, 1.3, 3.0)[..., 0]
    exact = [np.interp(y, np.linspace(0, 1, len(path)), path) for y, path in zip(coarse["y"][:, 0], x, strict=True)]
    np.testing.assert_allclose(coarse["s"], exact, atol=1e-4)


def test_tests_are_told_the_stiffness_of_each_trajectory():
    T = 3.0
    sets = problem.trajectories(3, 4, 8, 0.3, T, seed=2)
    (random, k), (unseen, unseen_k) = sets["GRF"], sets["unseen"]
    told, hidden = data("mixed, told", T).test, data("mixed, hidden", T).test
    np.testing.assert_allclose(told["GRF u"][:, -1], 2 * (k - 1))
    assert len(unseen_k) == 12 and len(np.unique(unseen_k)) == 12, "every input has its own"
    np.testing.assert_allclose(told["unseen u"][:, -1], 2 * (unseen_k - 1))
    np.testing.assert_array_equal(told["GRF x1"], random["x1"])
    last = physics.OUT_OF_DISTRIBUTION["t sin(2 pi t)"](T * physics.half_steps(8))[None]
    np.testing.assert_array_equal(unseen["x1"][-1], physics.pendulum_trajectories(last, unseen_k[-1], T)["x1"][0])
    for name in ("GRF", "unseen", "common"):
        assert hidden[f"{name} u"][:, -1].abs().max() == 0 < told[f"{name} u"][:, -1].abs().max()
        np.testing.assert_array_equal(hidden[f"{name} x1"], told[f"{name} x1"])


def test_validation_trajectories_are_others_and_common_ones_the_same_for_all_seeds():
    test, validation, other = (problem.trajectories(3, 4, 8, 0.3, 1.0, 2, use) for use in ("test", "validation", "x"))
    for name in test:
        assert not np.isin(test[name][1], validation[name][1]).any()
    assert not np.isin(test["GRF"][0]["u"], other["GRF"][0]["u"]).any()
    torch.testing.assert_close(data(seed=2).test["common u"], data(seed=3).test["common u"])


def test_the_floor_is_that_of_every_torque_with_each_pendulum():
    torques = physics.grf(physics.half_steps(8), 3, 0.3, stream(0, "common test"))
    x = problem.family(torques, np.array([0.5, 1.5]), 1.0)
    assert x.shape == (3, 2, 8)
    np.testing.assert_array_equal(x[2, 1], physics.pendulum_trajectories(torques[2:], 1.5)["x1"][0])
    assert problem.lowest(1.0, 8, 0.3, n=3, K=2) == pytest.approx(100 * hidden_parameter_floor(x).mean())


def test_the_floor_grows_with_about_the_square_of_the_time():
    seconds = np.array([0.5, 1.0, 2.0, 3.0])
    floors = [problem.lowest(T, 40, n=50) for T in seconds]
    assert (np.diff(floors) > 0).all() and 1.5 < np.polyfit(np.log(seconds), np.log(floors), 1)[0] < 2.5
