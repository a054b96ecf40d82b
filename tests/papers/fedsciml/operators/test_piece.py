"""The piece of notebook 07 says what torch says, and its calculus is numpy's."""

import numpy as np
import pytest
import torch

from fedlib.federated.stack import predict, stack
from fedlib.live.modules import module
from fedlib.models.networks import glorot_normal
from fedlib.numerics import solutions
from fedlib.numerics.spaces import chebyshev_series
from fedlib.papers.fedsciml.operators import live
from fedlib.streams import stream

from ....pages.node import evaluate

RUN = "const ask = M.answers(given.data, M.linspace(0, 1, 100)); return given.c.map((c) => ask(c, given.level));"
LABELS = ("client 1 alone", "client 2 alone", "centralised", "federated")


@pytest.fixture(scope="module")
def models():
    """Untrained networks at two levels."""
    rows = stack(live.OPERATOR.net(), [(i,) for i in range(8)], glorot_normal)
    return {n: dict(zip(LABELS, rows[i : i + 4], strict=True)) for n, i in ((5, 0), (10, 4))}


def asked(data, c, level, folder):
    return evaluate(module("terms"), RUN, {"data": data, "c": np.array(c).tolist(), "level": level}, folder)


@pytest.mark.parametrize("level", [5, 10])
def test_networks_input_and_solution_are_ours(level, models, tmp_path):
    c, operator, x = stream(3, "site").uniform(-1, 1, (4, 10)), live.OPERATOR, np.linspace(0, 1, 100)
    answers = asked(live.packed(models, 5), c, level, tmp_path)
    np.testing.assert_allclose([a["v"] for a in answers], chebyshev_series(c, x), rtol=0, atol=1e-13)
    truth = solutions.antiderivative(c, x)
    np.testing.assert_allclose([a["truth"] for a in answers], truth, rtol=0, atol=1e-14)
    v, y = torch.as_tensor(chebyshev_series(c, x)).float(), torch.as_tensor(operator.points).float()
    for i, (label, row) in enumerate(models[level].items()):
        want = predict(operator.net(), row, v, y).numpy()
        assert {a["said"][i]["label"] for a in answers} == {label}
        assert np.abs(want).max() > 0.1
        np.testing.assert_allclose([a["said"][i]["u"] for a in answers], want, rtol=0, atol=1e-3)
        errors = 100 * np.linalg.norm(want - truth, axis=1) / np.linalg.norm(truth, axis=1)
        np.testing.assert_allclose([a["said"][i]["e"] for a in answers], errors, rtol=1e-3)
