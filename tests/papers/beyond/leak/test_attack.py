"""One point is read exactly, several are not, and signs are all that Adam's first step shows."""

import numpy as np
import pytest
import torch

from fedlib.federated.stack import as_dict, predict
from fedlib.models.networks import DeepONet
from fedlib.papers.beyond.leak import attack
from fedlib.papers.fed_deeponet.physics import pendulum_triplets
from fedlib.streams import stream

NET = DeepONet((12, 16, 8), (1, 16, 8), domain=(0.0, 1.0))


def points(n, seed=0):
    return pendulum_triplets(n, 12, 0.3, stream(seed, "leak test"))


@pytest.mark.parametrize("E", [1, 4])
def test_one_point_is_read_off_gradient_descent(E):
    """However many steps: each moves W by a multiple of u, and b by the same multiple of 1. So is its time, and after
    one step its angle: the output's bias moved by -2 lr (G(u)(y) - s)."""
    client = points(1)
    message = attack.one_round(NET, client, E, dtype=torch.float64)
    np.testing.assert_allclose(attack.read(NET, message), client["u"][0], atol=1e-8)
    change = as_dict(NET, message.came - message.sent)
    y = (attack.mixture(change, "trunk") + 1) / 2  # the trunk sees times mapped from [0, 1] to [-1, 1]
    assert y.item() == pytest.approx(client["y"].item(), abs=1e-8)
    if E == 1:
        s = predict(NET, message.sent, client["u"], client["y"]) + change["bias"] / (2 * attack.OPTIMIZERS["SGD"][1])
        assert s.item() == pytest.approx(client["s"].item(), abs=1e-8)


def test_of_several_points_one_reads_a_mixture():
    """It is a sum of them, with the gradients of the layer's outputs as weights."""
    client = points(3)
    read = attack.read(NET, attack.one_round(NET, client, 1, dtype=torch.float64))
    weights, *_ = np.linalg.lstsq(client["u"].numpy().T, read, rcond=None)
    np.testing.assert_allclose(weights @ client["u"].numpy(), read, atol=1e-8)
    assert np.abs(read - client["u"].numpy()).max(1).min() > 0.01


def test_of_adam_one_reads_signs():
    client = points(1)
    read = attack.read(NET, attack.one_round(NET, client, 1, "Adam", dtype=torch.float64))
    np.testing.assert_allclose(read, np.sign(client["u"][0]), atol=0.05)


def test_how_far_off_is_the_sine_of_an_angle():
    torques = np.array([[1.0, 0.0], [3.0, 4.0]])
    assert attack.nearest(np.array([6.0, 8.0]), torques) == (1, pytest.approx(0))
    assert attack.nearest(np.array([1.0, 1.0]), torques[:1]) == (0, pytest.approx(50 * 2**0.5))
    assert attack.nearest(np.array([0.0, -2.0]), torques[1:]) == (0, 100), "another sign is no likeness"
    np.testing.assert_allclose(np.mean(attack.scaled(torques) ** 2, 1), 1)


def test_pairs_are_told_apart_by_the_smaller_score():
    assert attack.told_apart(np.array([0.0, 1.0]), np.array([2.0, 3.0])) == 100
    assert attack.told_apart(np.array([2.0]), np.array([1.0])) == 0
    assert attack.told_apart(np.array([1.0, 5.0]), np.array([1.0, 5.0])) == 50


def test_torques_lie_in_the_span_of_a_message_and_their_errors_fall():
    """Of gradient descent: mixtures of three span all three, and a fourth torque is not in there."""
    client, other = points(3, 1), points(3, 2)["u"].numpy()
    message = attack.one_round(NET, client, 3, dtype=torch.float64)
    assert attack.outside(NET, message, client["u"].numpy(), 3).max() < 1e-8
    assert attack.outside(NET, message, other, 3).min() > 1e-3
    assert attack.rise(NET, attack.one_round(NET, client, 200), client).sum() < 0


def test_a_client_is_told_from_its_neighbour_and_not_from_itself():
    clients = [points(2, seed) for seed in range(3)]
    messages = [attack.one_round(NET, client, 1) for client in clients]
    found = attack.learnt(NET, messages, clients)
    assert found.span.values.tolist() == [100] * 3 and (found.off < found.off_other).all()
    assert found.u.sizes == {"client": 3, "t": 12}
    np.testing.assert_allclose((found.u**2).mean("t"), 1, rtol=1e-6)
    alone = attack.learnt(NET, messages[:1], clients[:1])
    assert alone.span.item() == alone.fit.item() == 50, "alone there is nobody to tell it from"
