"""Single functions: their errors are those of a plain loop, and shares count functions."""

import numpy as np
import pytest
import torch

from fedlib.federated.stack import stack
from fedlib.models.networks import glorot_normal
from fedlib.papers.fedsciml.operators.problem import choose, draws, operator_error
from fedlib.problems import operator_examples as examples


def test_the_papers_levels_are_shown_or_the_lowest():
    assert examples.shown("antiderivative", [2, 6, 10]) == [6, 10]
    assert examples.shown("burgers_2", [10, 2, 4]) == [10]
    assert examples.shown("burgers_3", [4, 2]) == [2] and examples.shown("diffusion_reaction", [5]) == [5]


def test_errors_of_each_function_are_those_of_the_operator_error_on_it_alone():
    problem = choose(["antiderivative"])["antiderivative"]
    net = problem.net()
    theta = stack(net, [(0,), (1,)], glorot_normal)
    c = examples.functions(3, 4)
    np.testing.assert_array_equal(c[0], draws("forward", 10, 1, 3, "picture")[0])
    np.testing.assert_array_equal(c[1:], draws("forward", 10, 4, 3, "test"))
    e = examples.errors(problem, c, dict(zip(("federated", "isolated 1"), theta, strict=True)))
    torch.nn.utils.vector_to_parameters(theta[1], net.parameters())
    constants = {name: torch.as_tensor(v).float() for name, v in problem.constants().items()}
    for i in range(5):
        one = problem.pairs(c[i : i + 1]) | constants
        alone = operator_error(lambda u, y: net(u, y).detach(), one)["e"]
        assert e["isolated 1"][i] == pytest.approx(float(alone), rel=1e-4)


def test_what_one_function_shows_and_what_all_do():
    e = {"federated": np.array([3.0, 1, 2, 2]), "isolated 1": np.array([2.0, 4, 5, 2]), "isolated 2": np.full(4, 9.0)}
    found = examples.findings(e)
    assert found["functions"] == 4 and found["example"] == {"federated": 3, "isolated 1": 2, "isolated 2": 9}
    assert found["below"] == {"isolated 1": 0.5, "isolated 2": 1} and found["best"] == 0.5
    assert examples.findings(e | {"isolated 2": np.array([9.0, 0.5, 1, 9])})["best"] == 0, "of both at once"
