"""How much the clients' gradients differ, and how stale a correction is, against closed forms."""

import numpy as np
import pytest
import torch
from torch import nn

from fedlib.federated.experiment import Data, Experiment
from fedlib.papers.beyond.drift.dissimilarity import dissimilarity, staleness


def linear(x, shards):
    """An experiment, and a level: the loss theta . x, whose gradient is the mean of its points for every model."""
    data = Data({"x": torch.tensor(x, dtype=torch.float64)}, [np.array(s) for s in shards])
    loss = lambda predict, b: (b["w"] * predict(b["x"])[:, 0]).sum()  # noqa: E731
    return Experiment("linear", nn.Linear(2, 1, bias=False), loss=loss, data=lambda level, seed: data), 1


def test_of_equal_orthogonal_and_nearly_opposite_gradients():
    assert dissimilarity(*linear([[1, 2], [1, 2]], [[0], [1]])) == pytest.approx(1)
    assert dissimilarity(*linear([[1, 0], [0, 1]], [[0], [1]])) == pytest.approx(2**0.5)
    opposite = linear([[1, 0.1], [-1, 0.1]], [[0], [1]])  # (1.01 / 0.01)^1/2
    assert dissimilarity(*opposite) == pytest.approx(101**0.5, rel=1e-5)
    uneven = linear([[1, 0], [1, 0], [0, 1]], [[0, 1], [2]])  # p = 2/3, 1/3: 1 / (4/9 + 1/9)
    assert dissimilarity(*uneven) == pytest.approx((9 / 5) ** 0.5)


def least_squares(x, shards):
    """F_c = mean of (theta . x)^2 / 2 over a client's points: its matrix is H_c = mean of x x^T."""
    data = Data({"x": torch.tensor(x)}, [np.array(s) for s in shards])
    loss = lambda predict, b: (b["w"] * predict(b["x"])[:, 0] ** 2).sum() / 2  # noqa: E731
    return Experiment("squares", nn.Linear(2, 1, bias=False), loss=loss, data=lambda level, seed: data), 1


def test_a_correction_is_stale_by_the_difference_of_the_curvatures():
    x = np.array([[2.0, 0.5], [0.3, 1.0], [1.0, -1.0], [0.2, 2.0]])
    squares, theta, lr = least_squares(x, [[0, 1], [2, 3]]), np.array([1.0, -2.0]), 0.1
    H = np.stack([x[s].T @ x[s] / 2 for s in ([0, 1], [2, 3])])
    mean = H.mean(0)
    found = staleness(*squares, torch.tensor(theta, dtype=torch.float32), lr, 2)
    step = -lr * np.sign(mean @ theta)  # Adam's first one, the same for all: the corrected gradient is the mean one
    expected = [np.linalg.norm((h - mean) @ step) / np.linalg.norm(mean @ (theta + step)) for h in H]
    assert found[:, 0] == pytest.approx([0, 0], abs=1e-6)
    np.testing.assert_allclose(found[:, 1], expected, rtol=1e-4)
