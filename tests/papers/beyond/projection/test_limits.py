"""Where sums for networks end: what is measured is what it says."""

import numpy as np
import pytest
import torch

from fedlib.federated.batches import Local
from fedlib.federated.projection import beginning, evaluate, projected
from fedlib.papers.beyond.projection import limits, problem
from fedlib.papers.fedstnn.letters import problem as letters


@pytest.fixture(scope="module")
def poisson():
    experiment = problem.PROBLEMS["poisson"].make()
    return experiment, beginning(experiment, problem.data_at("poisson", 8), problem.start(experiment, 0), 1e-10, True)


def test_one_corrected_step_is_adam_on_the_reduced_loss(poisson):
    """The twin: torch's Adam on L, whoever owns what."""
    experiment, (clients, w, last, ridge, n) = poisson
    _, losses = limits.stepped(experiment, clients, w, last, ridge, 1, 1e-3, 5, True)
    v = w.clone().requires_grad_()
    adam, plain = torch.optim.Adam([v], lr=1e-3), []
    for _ in range(5):
        new = evaluate(experiment, clients, v.detach(), last, ridge)
        plain.append(new.reduced / n)
        v.grad = new.gradient / n
        adam.step()
    np.testing.assert_allclose(losses, plain, rtol=1e-6)


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
