"""The problems of the room: each at its level, as its own notebook has it."""

import pytest
import torch

from fedlib.federated.experiment import data_of
from fedlib.papers.beyond.drift import problem
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
