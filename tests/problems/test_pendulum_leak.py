"""One point is read exactly, several are not, and signs are all that Adam's first step shows."""

import numpy as np
import pytest
import torch

from fedlib.models.networks import DeepONet
from fedlib.papers.fed_deeponet.physics import pendulum_triplets
from fedlib.problems import pendulum_leak as leak
from fedlib.streams import stream

NET = DeepONet((12, 16, 8), (1, 16, 8), domain=(0.0, 1.0))


def points(n, seed=0):
    return pendulum_triplets(n, 12, 0.3, stream(seed, "leak test"))


@pytest.mark.parametrize("E", [1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_one_point_is_read_off_gradient_descent(E, seed):
    """However many steps: each moves W by a multiple of u, and b by the same multiple of 1."""
    own = points(1, seed)
    found = leak.read(NET, leak.one_round(NET, own, E, dtype=torch.float64))
    np.testing.assert_allclose(found.u, own["u"][0], atol=1e-8)
    assert found.y == pytest.approx(own["y"].item(), abs=1e-8)
    if E == 1:
        assert found.s == pytest.approx(own["s"].item(), abs=1e-8)


def test_of_several_points_one_reads_a_mixture():
    """It is a sum of them, with the gradients of the layer's outputs as weights."""
    own = points(3)
    found = leak.read(NET, leak.one_round(NET, own, 1, dtype=torch.float64))
    weights, *_ = np.linalg.lstsq(own["u"].numpy().T, found.u, rcond=None)
    np.testing.assert_allclose(weights @ own["u"].numpy(), found.u, atol=1e-8)
    assert np.abs(found.u - own["u"].numpy()).max(1).min() > 0.01


def test_of_adam_one_reads_signs():
    own = points(1)
    found = leak.read(NET, leak.one_round(NET, own, 1, "Adam", dtype=torch.float64))
    np.testing.assert_allclose(found.u, np.sign(own["u"][0]), atol=0.05)


def test_likeness_and_scale():
    own = np.array([[1.0, 0.0], [3.0, 4.0]])
    assert leak.likeness(np.array([6.0, 8.0]), own) == pytest.approx(1)
    assert leak.likeness(np.array([0.0, -2.0]), own) == pytest.approx(0)
    np.testing.assert_allclose(np.mean(leak.scaled(own) ** 2, 1), 1)


def test_on_average_a_client_is_alike_to_its_own_torque_and_not_to_its_neighbours():
    found = leak.on_average(NET, [points(4, seed) for seed in range(3)], 1, 1)
    np.testing.assert_allclose(found.own, 1, atol=1e-5)
    firsts = [points(4, seed)["u"][0].numpy() for seed in range(3)]
    pairs = zip(firsts, firsts[1:] + firsts[:1], strict=True)
    expected = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in pairs]
    np.testing.assert_allclose(found.other, expected, atol=1e-4)
    assert found.recognised.tolist() == [1, 1, 1]


@pytest.mark.parametrize("E", [1, 3])
def test_own_torques_lie_in_the_span_of_an_update_of_gradient_descent(E):
    """Mixtures of three span all three; a fourth torque is not in there."""
    own, other = points(3, 1), points(3, 2)["u"].numpy()
    seen = leak.one_round(NET, own, E, dtype=torch.float64)
    assert leak.outside(NET, seen, own["u"].numpy()).max() < 1e-8
    assert leak.outside(NET, seen, other).min() > 1e-3
    same = leak.learnt(NET, [seen, seen], [own["u"].numpy(), own["u"].numpy()])
    np.testing.assert_allclose(same.own, same.other)
    assert leak.learnt(NET, [seen], [other]).recognised.tolist() == [0.5], "alone there is nobody to tell it from"
