"""Digits of one class each: features and sums against plain loops; whose digits are whose; what rates are chosen by."""

import numpy as np
import pytest
import torch
from numpy.lib.stride_tricks import sliding_window_view

from fedlib.federated import sums
from fedlib.federated.experiment import data_of
from fedlib.papers.beyond.one_round import digits
from fedlib.papers.feddro.digits.handwriting import handwriting

SMALL = {"source": "small", "each": 80, "held": 20, "tests": 200}


@pytest.fixture(scope="module")
def data():
    return data_of(digits.one_class_digits(**SMALL), 1, 0)


def test_a_client_has_one_class_and_nobody_what_chooses_rates(data):
    x, y = data.pool["x"], data.pool["y"].numpy()
    assert [{*y[shard].tolist()} for shard in data.owners] == [{k} for k in range(10)]
    assert [len(shard) for shard in data.owners] == [80] * 10
    assert np.bincount(data.validation["y"]).tolist() == [20] * 10
    assert not {tuple(row) for row in x.tolist()} & {tuple(row) for row in data.validation["x"].tolist()}
    written, labels = handwriting("small")["train"]
    label = {tuple(row): k for row, k in zip(written.tolist(), labels.tolist(), strict=True)}
    assert all(label[tuple(row)] == k for row, k in zip(x.tolist(), y.tolist(), strict=True))
    np.testing.assert_array_equal(data.test["x"], handwriting("small")["test"][0][:200])


def test_too_many_digits_are_refused_by_name():
    with pytest.raises(ValueError, match=r"each = 120, held = 20: expected at most 1\d\d in all"):
        digits.one_class_digits(**SMALL | {"each": 120}).data(1, 0)


@pytest.mark.parametrize("pixels", [5, 7, 13])
def test_features_are_means_of_positive_parts_over_windows(data, pixels):
    """Loops in float64; a window of five goes from floor(i n / 5) to ceil((i + 1) n / 5), as one of n / 5 that is not
    whole has to."""
    weights = digits.convolutions(3, pixels, 0)
    pictures = data.pool["x"][::200].double().numpy().reshape(-1, 28, 28)
    n = 29 - pixels
    ends = [(i * n // 5, -(-(i + 1) * n // 5)) for i in range(5)]
    expected = [[1.0] for _ in pictures]
    for row, picture in zip(expected, pictures, strict=True):
        for w in weights[:, 0].double().numpy():
            positive = np.maximum((sliding_window_view(picture, (pixels, pixels)) * w).sum((2, 3)), 0)
            row += [positive[a:b, c:d].mean() for a, b in ends for c, d in ends]
    np.testing.assert_allclose(digits.features(data.pool["x"][::200], weights), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(digits.convolutions(2, pixels, 0), weights[:2])


def test_ten_messages_are_the_ridge_regression_of_all_digits_to_one_hot_targets(data):
    """Every ridge by a hat matrix [n, n]: the least score, and the factors that have it."""
    weights = digits.convolutions(2, 7, 0)
    clients = [digits.features(part["x"], weights) for part in sums.parts(data)]
    messages = [A.T @ A for A in clients]
    G, H = sum(messages), digits.targets_of(messages)
    A, Y = (
        values.double().numpy()
        for values in (digits.features(data.pool["x"], weights), torch.nn.functional.one_hot(data.pool["y"]))
    )
    np.testing.assert_allclose(H, A.T @ Y, rtol=1e-10)
    scores, factors = [], []
    for ridge in np.linalg.norm(A, 2) ** 2 * np.geomspace(len(G) * np.finfo(float).eps, 1, 81):
        inverse = np.linalg.inv(A.T @ A + ridge * np.eye(len(G)))
        free = len(A) - np.trace(A @ inverse @ A.T)
        factors.append(inverse @ A.T @ Y)
        scores.append(len(A) * ((Y - A @ factors[-1]) ** 2).sum() / free**2 / 10)
    W, gcv = digits.solved(G, H, len(A))
    assert gcv == pytest.approx(min(scores), rel=1e-6)
    np.testing.assert_allclose(A @ W.numpy(), A @ factors[int(np.argmin(scores))], atol=1e-5)
