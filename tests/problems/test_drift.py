"""The problems of the study of drift, and how much the clients' gradients differ."""

import numpy as np
import pytest
import torch
from torch import nn

from fedlib.federated.experiment import Data, Experiment, data_of
from fedlib.papers.fedsciml.functions.problem import wave
from fedlib.problems import drift


def linear(x, shards):
    """An experiment, and a level: the loss theta . x, whose gradient is the mean of its points for every model."""
    data = Data({"x": torch.tensor(x, dtype=torch.float64)}, [np.array(s) for s in shards])
    loss = lambda predict, b: (b["w"] * predict(b["x"])[:, 0]).sum()  # noqa: E731
    return Experiment("linear", nn.Linear(2, 1, bias=False), loss=loss, data=lambda level, seed: data), 1


def test_dissimilarity_of_equal_orthogonal_and_nearly_opposite_gradients():
    assert drift.dissimilarity(*linear([[1, 2], [1, 2]], [[0], [1]])) == pytest.approx(1)
    assert drift.dissimilarity(*linear([[1, 0], [0, 1]], [[0], [1]])) == pytest.approx(2**0.5)
    opposite = linear([[1, 0.1], [-1, 0.1]], [[0], [1]])  # (1.01 / 0.01)^1/2
    assert drift.dissimilarity(*opposite) == pytest.approx(101**0.5, rel=1e-5)
    uneven = linear([[1, 0], [1, 0], [0, 1]], [[0, 1], [2]])  # p = 2/3, 1/3: 1 / (4/9 + 1/9)
    assert drift.dissimilarity(*uneven) == pytest.approx((9 / 5) ** 0.5)


def test_dissimilarity_at_the_same_start_and_at_a_given_model():
    line = drift.gramacy_lee(24, 8)
    assert drift.dissimilarity(line, 4, 3) == drift.dissimilarity(line, 4, 3) != drift.dissimilarity(line, 4, 4)
    P = sum(p.numel() for p in line.net.parameters())
    assert drift.dissimilarity(line, 4, theta=torch.zeros(P)) >= 1


def test_errors_of_a_function_are_in_percent_and_of_the_exact_one_zero():
    line = drift.gramacy_lee(40, 8)
    data = line.data(10, 0)
    assert [len(shard) for shard in data.owners] == [20, 20]
    exact = line.evaluate(lambda x: wave(x)[:, None], data.test)["error"]
    assert float(exact) == pytest.approx(0, abs=1e-12)
    assert float(line.evaluate(lambda x: 1.1 * wave(x)[:, None], data.validation)["error"]) == pytest.approx(10)


@pytest.mark.parametrize("name", [name for name in drift.TASKS if "pendulum" not in name and "Allen" not in name])
def test_every_problem_has_disjoint_clients_with_a_finite_gradient(name):
    make, level = drift.TASKS[name]
    experiment = make()
    data = data_of(experiment, level)
    common = set.intersection(*(set(shard.tolist()) for shard in data.owners))
    assert not set.intersection(*(set(shard.tolist()) - common for shard in data.owners))
    assert 1 <= drift.dissimilarity(experiment, level) < 1000
    assert drift.steps(experiment) >= 4000 and data.validation
