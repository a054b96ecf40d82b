"""k(x) by one message: that of all observations in one place, and near the truth; pictures that sums give away."""

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from fedlib.federated import sums
from fedlib.federated.experiment import data_of
from fedlib.papers.beyond.one_round import coefficient
from fedlib.papers.beyond.one_round.problem import start
from fedlib.papers.fedsciml.reaction.problem import constants, equation_points
from fedlib.streams import stream

SINES, SCALES = (60, 200), (12.0, 8.0)


def fields(experiment, total, inside):
    theta, _ = coefficient.u_and_k(experiment, total, constants(equation_points(inside, False)))
    with torch.no_grad():
        return experiment.answer(sums.predicting(experiment, theta), data_of(experiment, 2).test)


@pytest.mark.parametrize("level", [2, 24])
def test_messages_give_what_all_observations_in_one_place_give(level):
    experiment = coefficient.two_sums_of_sines(10, False, SINES, SCALES, 0)
    data = data_of(experiment, level)
    messages = [coefficient.message(experiment, part, SINES[0]) for part in sums.parts(data)]
    rows = sums.rows(experiment, data.pool, start(experiment))[:, [*range(SINES[0] + 1), -1]]
    together = fields(experiment, sums.Sums(rows, 24.0, True), 10)
    np.testing.assert_allclose(fields(experiment, sums.added(messages), 10), together, atol=1e-8)


def test_with_the_equation_in_many_places_k_is_exact():
    """u has no noise: 24 observations and 38 points leave less than a thousandth, also where u = 0 hides k."""
    table = coefficient.coefficient_by_sums([38], [], [4], [0], SINES, [12.0], [8.0])
    assert table.error_k.item() < 0.1 and table.error_u.item() < 1e-3
    assert table.error_of_all.item() == table.error_k.item(), "at the first level"


def test_evidence_is_that_of_a_normal_distribution():
    """Differences of ridges, against the density of y ~ N(0, a^2 K) at the best a."""
    rng = stream(0, "evidence")
    J, y = rng.normal(size=(7, 4)), rng.normal(size=7)

    def expected(ridge):
        K = J @ J.T + ridge * np.eye(7)
        a2 = y @ np.linalg.solve(K, y) / 7
        return -2 * multivariate_normal(np.zeros(7), a2 * K).logpdf(y)

    rows = sums.Sums(torch.as_tensor(np.column_stack([J, -y])), 7.0, True)
    ours = coefficient.evidence(rows, 0.1) - coefficient.evidence(rows, 2.0)
    assert ours == pytest.approx(expected(0.1) - expected(2.0), rel=1e-9)
