"""The problems of the room: each at its level, as its own notebook has it."""

from functools import partial

import numpy as np
import pytest
import torch

from fedlib.federated.experiment import data_of
from fedlib.federated.stack import predict
from fedlib.papers.beyond.drift import problem
from fedlib.papers.beyond.drift.dissimilarity import dissimilarity
from fedlib.papers.beyond.drift.study import PROBLEMS
from fedlib.papers.fedsciml.functions.problem import wave


def test_errors_are_in_percent_and_of_the_exact_function_zero():
    line = problem.line(40, 8)
    data = data_of(line, 10)
    assert [len(shard) for shard in data.owners] == [20, 20]
    exact = line.evaluate(lambda x: wave(x)[:, None], data.test)["error"]
    assert float(exact) == pytest.approx(0, abs=1e-12)
    assert float(line.evaluate(lambda x: 1.1 * wave(x)[:, None], data.validation)["error"]) == pytest.approx(10)


def test_uneven_clients_own_three_quarters_and_one():
    line, uneven = (make(200, 8) for make in (problem.line, problem.uneven_line))
    assert [len(shard) for shard in data_of(uneven, 20).owners] == [150, 50]
    torch.testing.assert_close(data_of(line, 20).pool["f"], data_of(uneven, 20).pool["f"])


@pytest.mark.parametrize("name", [name for name in PROBLEMS if not name.startswith(("pendulum", "allen"))])
def test_every_problem_has_clients_with_a_finite_gradient_and_validation_points(name):
    experiment, level = PROBLEMS[name].make(), PROBLEMS[name].level
    data = data_of(experiment, level)
    common = set.intersection(*(set(shard.tolist()) for shard in data.owners))
    assert not set.intersection(*(set(shard.tolist()) - common for shard in data.owners))
    assert 1 <= dissimilarity(experiment, level) < 1000
    assert experiment.rounds * experiment.local.updates >= 4000 and data.validation


def test_pendulums_are_trained_alike_and_measured_on_random_torques():
    for make, level in ((problem.one_shard, 1), (problem.two_fields, 2.0)):
        experiment = make(60, 5, 12)
        data = data_of(experiment, level)
        assert len(data.owners) == 5 and data.validation and not experiment.reset_moments
        still = experiment.evaluate(lambda u, y: torch.zeros(len(u), len(y)), data.test | experiment.constants)
        assert [*still] == ["error"] and float(still["error"]) == pytest.approx(100)


def test_a_followed_problem_says_what_its_network_says():
    experiment = problem.followed("poisson_8")
    data = data_of(experiment, 8)
    plain = problem.CURVES["poisson_8"]()
    net = partial(predict, plain.net, torch.zeros(sum(p.numel() for p in plain.net.parameters())))
    both = experiment.evaluate(net, data.test)
    np.testing.assert_allclose(both["u"], plain.answer(net, data.test))
    assert float(both["error"]) == float(plain.evaluate(net, data.test)["error"])
