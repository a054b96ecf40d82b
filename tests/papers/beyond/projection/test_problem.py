"""Notebook 14 at small sizes: sums for networks, and where they end; what is computed is what it says."""

import numpy as np
import pytest
import torch

from fedlib.federated.batches import Local
from fedlib.federated.experiment import data_of
from fedlib.papers.beyond.one_round.problem import error
from fedlib.papers.beyond.projection import limits, problem, study
from fedlib.papers.beyond.projection.algorithm import projected
from fedlib.papers.fedstnn.letters import problem as letters


@pytest.mark.parametrize("name", problem.PROBLEMS)
def test_the_points_that_choose_are_none_of_the_trainings(name):
    experiment, between = problem.PROBLEMS[name].make(), problem.PROBLEMS[name].between()
    level = study.SHOWN[name].level
    pool = data_of(experiment, level).pool
    assert set(between) == set(pool)
    gaps = torch.cdist(between["x"].double(), pool["x"].double())
    assert (gaps.min(1).values > 1e-3).float().mean() > 0.95
    assert (gaps.min(1).values < 0.1).all()
    theta = problem.start(experiment, 0)
    at_both = [problem.mean_square(experiment, theta, points).item() for points in (between, pool)]
    assert 0.2 < at_both[0] / at_both[1] < 5, "the same equation"


def test_sums_choose_their_ridge_by_the_score_alone_and_count_what_they_send():
    table = problem.by_sums("poisson", [2, 8], [0], [1, 12], [1e-6, 1e-12], [1000], 12)
    assert table.chosen_ridge == table.tried.isel(tuning=0).idxmin("ridge").item()
    experiment = problem.PROBLEMS["poisson"].make()
    data = data_of(experiment, 8)
    iterates = projected(experiment, data, problem.start(experiment, 0), 12, table.chosen_ridge)
    shown = table.sel(level=8, seed=0)
    assert shown.loss.values == pytest.approx([iterates.loss[0], iterates.loss[-1]])
    assert shown.error.values == pytest.approx([error(experiment, iterates.theta[i], data.test) for i in (0, -1)])
    P, m, owned = 901, 21, 16
    message = owned * (m + 1) - owned * (owned - 1) // 2 + P - m + 1  # a root with a row per point, and the gradient
    np.testing.assert_array_equal(shown.bytes, [8 * message, 12 * 8 * message])
    assert shown.evaluations == 12 and shown.seconds > 0


def test_without_projection_it_is_the_best_by_its_loss():
    table = problem.without_projection("poisson", [0], [1, 5, 40])
    assert (table.loss.diff("evaluation") < 0).all()
    experiment = problem.PROBLEMS["poisson"].make()
    first = problem.mean_square(experiment, problem.start(experiment, 0), data_of(experiment, 2).pool)
    assert table.loss[0, 0] == pytest.approx(first.item())
    assert table.evaluations >= 40


def test_the_walk_begins_where_the_model_is():
    table = limits.stiffness("poisson", 8, [0], [2], [1e-14], 1e-10)
    for layer in ("held", "solved"):
        np.testing.assert_allclose(table.loss.sel({"last layer": layer})[..., 0], table.foot, rtol=1e-3)
    assert (table["mean"] < table["each"]).all()


@pytest.mark.fault("clear error")
def test_letters_are_refused_by_name():
    """Notebook 09's loss is least squares in the last layer for given paths; but these are drawn anew for each loss."""
    experiment = letters.drawing(clients=3, shape=(10, 24))
    theta, data = problem.start(experiment, 0), experiment.data(10, 0)
    with pytest.raises(ValueError, match="letters takes mini-batches of 32 points; expected full batches"):
        projected(experiment, data, theta, 1)
    with pytest.raises(ValueError, match="letters has noise, drawn anew for each loss; expected none"):
        projected(experiment._replace(local=Local(200)), data, theta, 1)
