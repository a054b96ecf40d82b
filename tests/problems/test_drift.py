"""The problems of the study of drift, and how much the clients' gradients differ."""

import numpy as np
import pytest
import torch
from torch import nn

from fedlib.problems import drift
from fedlib.problems.functions import gramacy_lee


def linear(x, shards):
    """A task whose gradient is the mean of its points, whatever the model: the loss is theta . x."""
    return drift.Task(
        nn.Linear(2, 1, bias=False), lambda predict, b: (b["w"] * predict(b["x"])[:, 0]).sum(),
        {"x": torch.tensor(x, dtype=torch.float64)}, [np.array(s) for s in shards], None, {}, {}, 10,
    )  # fmt: skip


def test_dissimilarity_of_equal_orthogonal_and_nearly_opposite_gradients():
    assert drift.dissimilarity(linear([[1, 2], [1, 2]], [[0], [1]])) == pytest.approx(1)
    assert drift.dissimilarity(linear([[1, 0], [0, 1]], [[0], [1]])) == pytest.approx(2**0.5)
    opposite = linear([[1, 0.1], [-1, 0.1]], [[0], [1]])  # (1.01 / 0.01)^1/2
    assert drift.dissimilarity(opposite) == pytest.approx(101**0.5, rel=1e-5)
    uneven = linear([[1, 0], [1, 0], [0, 1]], [[0, 1], [2]])  # p = 2/3, 1/3: 1 / (4/9 + 1/9)
    assert drift.dissimilarity(uneven) == pytest.approx((9 / 5) ** 0.5)


def test_dissimilarity_at_the_same_start_and_at_a_given_model():
    task = drift.gramacy_lee(4, 24, 8)
    assert drift.dissimilarity(task, 3) == drift.dissimilarity(task, 3) != drift.dissimilarity(task, 4)
    P = sum(p.numel() for p in task.net.parameters())
    assert drift.dissimilarity(task, theta=torch.zeros(P)) >= 1


def test_test_and_validation_points_alternate():
    test, validation = drift.alternating({"x": torch.arange(7)})
    assert test["x"].tolist() == [0, 2, 4, 6] and validation["x"].tolist() == [1, 3, 5]


def test_errors_of_a_function_are_in_percent_and_of_the_exact_one_zero():
    task = drift.gramacy_lee(10, 40, 8)
    assert [len(own) for own in task.shards] == [20, 20]
    exact = task.evaluate(lambda x: gramacy_lee(x), task.test)["e"]
    assert float(exact) == pytest.approx(0, abs=1e-12)
    assert float(task.evaluate(lambda x: 1.1 * gramacy_lee(x), task.validation)["e"]) == pytest.approx(10)


@pytest.mark.parametrize("name", [name for name in drift.TASKS if "pendulum" not in name and "Allen" not in name])
def test_every_task_has_disjoint_clients_with_a_finite_gradient(name):
    task = drift.TASKS[name](0)
    common = set.intersection(*(set(own.tolist()) for own in task.shards))
    private = [set(own.tolist()) - common for own in task.shards]
    assert not set.intersection(*private)
    assert task.shares().sum() == pytest.approx(1)
    assert 1 <= drift.dissimilarity(task) < 1000
    assert task.local(5).updates == 5
