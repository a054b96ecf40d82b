"""The explorer of trained networks says what torch says, and its calculus is numpy's."""

import numpy as np
import pytest
import torch

from fedlib.federated.stack import predict
from fedlib.notebook import models
from fedlib.numerics import solutions
from fedlib.numerics.spaces import chebyshev_series, support
from fedlib.pages import pieces
from fedlib.papers.fedsciml.operators.problem import learn_antiderivative
from fedlib.streams import stream
from fedlib.trainings.profiles import folder_of

from .node import evaluate

RUN = "const ask = M.answers(given.weights, M.linspace(0, 1, 100)); return given.c.map((c) => ask(c, given.level));"


@pytest.fixture(scope="module")
def weights():
    return pieces.weights()


@pytest.mark.parametrize("level", [6, 10])
def test_networks_input_and_solution_are_ours(level, weights, tmp_path):
    c = stream(3, "site").uniform(-1, 1, (4, 10))
    said = evaluate(pieces.Operator._esm, RUN, {"weights": weights, "c": c.tolist(), "level": level}, tmp_path)
    operator, x = learn_antiderivative(), np.linspace(0, 1, 100)
    np.testing.assert_allclose([s["v"] for s in said], chebyshev_series(c, x), rtol=0, atol=1e-13)
    truth = solutions.antiderivative(c, x)
    np.testing.assert_allclose([s["truth"] for s in said], truth, rtol=0, atol=1e-14)

    kept = models.load(folder_of("07_operator_learning", "panels"))
    v, y = torch.as_tensor(chebyshev_series(c, x)).float(), torch.as_tensor(operator.points).float()
    for i, label in enumerate(("federated", "isolated 1", "isolated 2")):
        want = predict(operator.net(), torch.as_tensor(kept["antiderivative", label, level][0]), v, y).numpy()
        assert {s["said"][i]["label"] for s in said} == {label}
        assert np.abs(want).max() > 0.1
        np.testing.assert_allclose([s["said"][i]["u"] for s in said], want, rtol=0, atol=1e-5)
        errors = 100 * np.linalg.norm(want - truth, axis=1) / np.linalg.norm(truth, axis=1)
        np.testing.assert_allclose([s["said"][i]["e"] for s in said], errors, rtol=1e-3)


def test_each_client_is_good_at_its_own_terms_and_the_federation_at_both(weights, tmp_path):
    """What a reader of the page is told to see, over 20 functions with four of each client's terms (n = 6)."""
    own = np.zeros((2, 20, 10))
    for k, kind in enumerate(("forward", "inverse")):
        own[k][:, support(kind, 4)] = stream(k, "site").uniform(-1, 1, (20, 4))
    given = {"weights": weights, "c": own.reshape(-1, 10).tolist(), "level": 6}
    said = evaluate(pieces.Operator._esm, RUN, given, tmp_path)
    e = (
        np.median([[model["e"] for model in s["said"]] for s in said[:20]], 0),
        np.median([[model["e"] for model in s["said"]] for s in said[20:]], 0),
    )
    (fed_1, own_1, other_2), (fed_2, other_1, own_2) = e
    assert max(fed_1, own_1, fed_2, own_2) < 10 < 50 < min(other_1, other_2), e


def test_the_page_carries_a_small_file(weights):
    html = pieces.fragment("operator", pieces.Operator, {"weights": weights})
    assert len(html) < 400_000
    assert pieces.Operator(weights=weights).weights["branch"] == (100, 40, 40)


def test_a_folder_without_models_is_a_clear_error(tmp_path):
    with pytest.raises(ValueError, match="--profile panels"):
        pieces.weights(tmp_path)
