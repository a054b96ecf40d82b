"""The piece of notebook 07 says what torch says, and its calculus is numpy's."""

import numpy as np
import pytest
import torch

from fedlib.federated.stack import predict, stack
from fedlib.models.networks import glorot_normal
from fedlib.numerics import solutions
from fedlib.numerics.spaces import chebyshev_series, support
from fedlib.papers.fedsciml.operators import figures, live
from fedlib.streams import stream

from ....pages.node import evaluate

RUN = "const ask = M.answers(given.data, M.linspace(0, 1, 100)); return given.c.map((c) => ask(c, given.level));"
LABELS = ("client 1 alone", "client 2 alone", "centralised", "federated")


@pytest.fixture(scope="module")
def models():
    """Untrained networks at two levels."""
    rows = stack(live.OPERATOR.net(), [(i,) for i in range(8)], glorot_normal)
    return {n: dict(zip(LABELS, rows[i : i + 4], strict=True)) for n, i in ((5, 0), (10, 4))}


@pytest.fixture(scope="module")
def trained():
    """What the piece shows, of what is stored."""
    return live.stored_models()


def asked(data, c, level, folder):
    return evaluate(live.Terms._esm, RUN, {"data": data, "c": np.array(c).tolist(), "level": level}, folder)


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


def test_only_the_federation_is_right_about_all_three_buttons(trained, tmp_path):
    """What a reader is told to see at n = 6; and over 20 functions with four of each client's terms."""
    own = np.zeros((2, 20, 10))
    for k, kind in enumerate(("forward", "inverse")):
        own[k][:, support(kind, 4)] = stream(k, "site").uniform(-1, 1, (20, 4))
    values = [0.5, -0.4, 0.3, 0.6]
    buttons = [[*figures.MIXED], [*values, *[0] * 6], [*[0] * 6, *values]]
    answers = asked(live.packed(trained, 6), [*own.reshape(-1, 10), *buttons], 6, tmp_path)
    e = {s["label"]: np.array([a["said"][i]["e"] for a in answers]) for i, s in enumerate(answers[0]["said"])}
    for label, values in e.items():
        low, high, three = np.median(values[:20]), np.median(values[20:40]), values[40:]
        if label in ("federated", "centralised"):
            assert max(low, high, *three) < 12, label
        else:
            right, wrong = (low, high) if "1" in label else (high, low)
            assert right < 10 < 50 < wrong, label
            assert max(three) > 50, label
