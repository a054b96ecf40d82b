"""How much the clients' gradients differ, against closed forms."""

import numpy as np
import pytest
import torch
from torch import nn

from fedlib.federated.experiment import Data, Experiment
from fedlib.papers.beyond.drift import problem
from fedlib.papers.beyond.drift.dissimilarity import dissimilarity, on_the_way


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


def test_at_the_same_start_and_at_a_given_model():
    line = problem.line(24, 8)
    assert dissimilarity(line, 4, 3) == dissimilarity(line, 4, 3) != dissimilarity(line, 4, 4)
    P = sum(p.numel() for p in line.net.parameters())
    assert dissimilarity(line, 4, theta=torch.zeros(P)) >= 1
    one, more = (on_the_way(line._replace(rounds=20), 4, 0, share) for share in (0.05, 0.5))
    assert one.shape == more.shape == (P,) and (one - more).abs().max() > 1e-4
