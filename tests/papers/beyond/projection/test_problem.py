"""Notebook 14 at small sizes: sums for networks, operators, and where they end; what is computed is what it says."""

import numpy as np
import pytest
import torch

from fedlib.federated import sums
from fedlib.federated.batches import Local
from fedlib.federated.experiment import Data, Experiment, data_of
from fedlib.federated.stack import draw_parameters
from fedlib.models.networks import CartesianDeepONet, fan_in_uniform
from fedlib.papers.beyond.one_round.problem import error
from fedlib.papers.beyond.projection import algorithm, limits, operators, problem, study
from fedlib.papers.beyond.projection.algorithm import beginning, evaluate, projected
from fedlib.papers.beyond.projection.problem import together
from fedlib.papers.fedstnn.letters import problem as letters
from fedlib.streams import torch_stream


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


def small() -> tuple[Experiment, Data, torch.Tensor, slice]:
    """Twelve functions of each of two clients, a small network, places with weights, and a start."""
    experiment = operators.federated_operator("antiderivative", functions=12)
    places, net = torch.linspace(0, 1, 15, dtype=torch.float64), CartesianDeepONet((100, 8, 7, 6), (1, 8, 6))
    data = experiment.data(5, 0)
    data = data._replace(pool=data.pool | {"s": data.pool["s"][:, ::7]})
    q = torch.rand(15, generator=torch_stream(0, "weights"), dtype=torch.float64)
    experiment = experiment._replace(net=net, constants={"y": places[:, None], "q": q / q.sum()})
    theta = draw_parameters(net, fan_in_uniform, torch_stream(0, "init")).double()
    theta[0] = 0.3  # the bias, which starts at 0
    return experiment, data, theta, operators.branch_last(experiment)


def test_it_is_dense_variable_projection():
    """The twin: ``federated.projection``, to which C is 48 columns, and each function a row at every place."""
    experiment, data, theta, last = small()
    root = experiment.constants["q"].sqrt()
    dense = experiment._replace(
        loss=None, residuals=lambda predict, batch: (predict(batch["u"], batch["y"]) - batch["s"]) * root
    )
    w, ridge = algorithm.hidden(theta, last), 1e-4
    one = algorithm.evaluate(dense, sums.parts(data), w, last, ridge)
    other = operators.evaluate(experiment, sums.parts(data), w, last, ridge)
    assert last.stop - last.start == 48
    for a, b in ((one.theta, other.theta), (one.gradient, other.gradient)):
        np.testing.assert_allclose(b, a, rtol=1e-8, atol=1e-8 * float(a.abs().max()))
    assert (other.loss, other.reduced) == pytest.approx((one.loss, one.reduced), rel=1e-8)


def test_iterates_fall_and_bytes_are_counted():
    experiment, data, theta, _ = small()
    iterates = operators.projected_operator(experiment, data, theta, 12, 1e-6)
    assert iterates.loss[-1] < 0.5 * iterates.loss[0] and len(iterates.loss) == 12
    numbers = 8 * 9 // 2 + 8 * 6 + len(theta) - 48 + 1  # H^T H, H^T (S - b) T, the gradient and the sum of squares
    assert iterates.bytes[1] == 2 * iterates.bytes[0] == 2 * 2 * 8 * numbers
    again = operators.projected_operator(experiment, together(data), theta, 4, 1e-6)
    np.testing.assert_allclose(iterates.theta[3], again.theta[-1], rtol=1e-5, atol=1e-6)


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
