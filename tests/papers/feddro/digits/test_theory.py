"""Worst cases of a linear classifier are what general optimisers find."""

import numpy as np
import pytest
from scipy.optimize import minimize

from fedlib.papers.feddro.digits import theory as t
from fedlib.papers.feddro.digits.handwriting import Clients
from fedlib.streams import stream


@pytest.fixture(scope="module")
def classifier():
    rng = stream(0, "classifier")
    clients = [(rng.normal(size=(n, 3)) + i, np.sign(rng.normal(size=n))) for i, n in enumerate((5, 8))]
    return np.array([1.0, -2.0, 0.5]), 0.3, clients


def mean_loss(theta, w, b, clients):
    """The mean over clients when client i's samples move by theta[i], or each sample by its own row."""
    return np.mean([np.logaddexp(0, -y * ((x + d) @ w + b)).mean() for (x, y), d in zip(clients, theta, strict=True)])


def test_worst_cases_of_a_client_are_what_an_optimiser_finds(classifier):
    """One theta, one for each, and a mean over them: the largest value over random starts and SLSQP."""
    w, b, clients = classifier
    eps, rng = 0.7, stream(1, "starts")
    cases = dict(
        zip(
            ("plain", "one", "each", "mean", "sample", "lonely", "ball"),
            t.worst_cases(w, b, clients, eps).values(),
            strict=True,
        )
    )
    budgets = {
        "one": (3, lambda v: [v, v], lambda v: eps - np.linalg.norm(v)),
        "each": (6, lambda v: v.reshape(2, 3), lambda v: eps - np.linalg.norm(v.reshape(2, 3), axis=1)),
        "mean": (6, lambda v: v.reshape(2, 3), lambda v: eps - np.linalg.norm(v.reshape(2, 3), axis=1).mean()),
    }
    for name, (size, moves, slack) in budgets.items():
        found = [
            minimize(lambda v, m=moves: -mean_loss(m(v), w, b, clients), 0.3 * rng.normal(size=size), method="SLSQP",
                     constraints={"type": "ineq", "fun": slack}, options={"maxiter": 300})
            for _ in range(12)
        ]  # fmt: skip
        best = max(-r.fun for r in found if np.min(slack(r.x)) > -1e-6)
        assert best == pytest.approx(cases[name], rel=1e-4), name
    assert cases["plain"] == pytest.approx(mean_loss(np.zeros((2, 3)), w, b, clients))


def test_worst_cases_of_the_samples(classifier):
    """Against their own corners by brute force; the ball's supremum is approached by one sample that goes far away."""
    w, b, clients = classifier
    eps, size = 0.7, np.linalg.norm(w)
    *_, sample, lonely, ball = t.worst_cases(w, b, clients, eps).values()
    ends = [-y[:, None] * eps * w / size for _, y in clients]
    assert sample == pytest.approx(mean_loss(ends, w, b, clients))
    corners = []
    for i, (_, y) in enumerate(clients):
        for j, sign in enumerate(y):
            theta = [np.zeros((len(other), 3)) for _, other in clients]
            theta[i][j] = -sign * eps * len(clients) * len(y) * w / size
            corners.append(mean_loss(theta, w, b, clients))
    assert lonely == pytest.approx(max(corners))
    assert ball == pytest.approx(mean_loss(np.zeros((2, 3)), w, b, clients) + eps * size)
    assert lonely < ball
    far, share = 1e6, eps / 1e6  # a part of a sample's mass goes far away: W_1 is eps, the loss nearly the bound
    x, y = clients[0][0][:1], clients[0][1][:1]
    moved = (1 - share) * t.logistic(w, b, x, y).sum() + share * t.logistic(
        w, b, x - y[:, None] * far * w / size, y
    ).sum()
    assert moved == pytest.approx(t.logistic(w, b, x, y).sum() + eps * size, rel=1e-4)


def test_the_linear_classifier_is_a_minimum():
    rng = stream(2, "linear")
    y = np.repeat([0, 1], 40)
    clients = Clients(rng.normal(size=(80, 2)) + 2 * y[:, None], y, [np.arange(80)])
    w, b = t.linear_classifier(clients, 1, 0.1)
    sign = np.where(y == 1, 1.0, -1.0)

    def value(w, b):
        return t.logistic(w, b, clients.x, sign).mean() + 0.05 * w @ w

    for step in 1e-3 * np.vstack([np.eye(3), -np.eye(3)]):
        assert value(w + step[:2], b + step[2]) > value(w, b)
    assert (np.sign(clients.x @ w + b) == sign).mean() > 0.85
