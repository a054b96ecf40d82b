"""The library's triplets and tests: who gets which stiffness, and who is told."""

import numpy as np
import pytest
import torch

from fedlib.papers.fed_deeponet.physics import OUT_OF_DISTRIBUTION, half_steps, pendulum_trajectories, pendulum_triplets
from fedlib.problems import pendulum_library
from fedlib.streams import stream


@pytest.fixture(scope="module")
def library():
    return pendulum_library.triplets(40, 8, 0.3, (0.5, 1.5), 4, seed=2)


def test_every_client_has_its_own_pendulum_or_all_mixed(library):
    for k, shard in zip(np.linspace(0.5, 1.5, 4), library.shards, strict=True):
        assert (library.ks["own"][shard] == k).all()
    assert len(np.unique(library.ks["mixed"])) == 40
    assert 0.5 <= library.ks["mixed"].min() < 0.7 < 1.3 < library.ks["mixed"].max() <= 1.5
    np.testing.assert_array_equal(np.sort(np.concatenate(library.shards)), np.arange(40))


def test_all_four_sets_have_the_same_torques_and_the_targets_of_their_stiffness(library):
    assert list(library.sets) == [(data, k) for data in ("mixed", "own") for k in ("told", "hidden")]
    for (data, knows), found in library.sets.items():
        k = library.ks[data]
        expected = pendulum_triplets(40, 8, 0.3, stream(2, "train"), k)
        torch.testing.assert_close(found["s"], expected["s"], rtol=0, atol=0)
        torch.testing.assert_close(found["u"][:, :-1], expected["u"], rtol=0, atol=0)
        np.testing.assert_allclose(found["u"][:, -1], 2 * (k - 1) * (knows == "told"))


def test_tests_are_told_the_stiffness_of_each_trajectory():
    found = pendulum_library.tests(3, 8, 0.3, (0.5, 1.5), seed=2, draws=4)
    told, hidden = (found.told(hidden) for hidden in (False, True))
    np.testing.assert_allclose(told["GRF u"][:, -1], 2 * (found.k - 1))
    assert found.unseen_k.shape == (3, 4) and len(np.unique(found.unseen_k)) == 12  # every input has its own
    assert 0.5 <= found.unseen_k.min() < found.unseen_k.max() <= 1.5
    np.testing.assert_allclose(told["unseen u"][:, -1], 2 * (found.unseen_k.ravel() - 1))
    np.testing.assert_array_equal(told["GRF x1"], pendulum_trajectories(found.torques, found.k)["x1"])
    last = OUT_OF_DISTRIBUTION["t sin(2 pi t)"](half_steps(8))[None]
    np.testing.assert_array_equal(told["unseen x1"][-1], pendulum_trajectories(last, found.unseen_k[2, 3])["x1"][0])
    for name in ("GRF", "unseen"):
        assert hidden[f"{name} u"][:, -1].abs().max() == 0
        assert hidden[f"{name} x1"] is told[f"{name} x1"]


def test_validation_trajectories_are_others():
    test, validation = (pendulum_library.tests(3, 8, 0.3, (0.5, 1.5), 2, name=n) for n in ("test", "validation"))
    for a, b in ((test.k, validation.k), (test.torques, validation.torques), (test.unseen_k, validation.unseen_k)):
        assert not np.isin(a, b).any()


def test_paths_are_each_torque_with_each_pendulum():
    torques = pendulum_library.tests(3, 8, 0.3, (0.5, 1.5), seed=2).torques
    found = pendulum_library.paths(torques, [0.5, 2.0])
    assert found.shape == (3, 2, 8)
    np.testing.assert_array_equal(found[2, 1], pendulum_trajectories(torques[2:], 2.0)["x1"][0])
