"""An operator by sums: two small matrices of a client are all that a last layer of a k columns needs."""

import numpy as np
import pytest
import torch

from fedlib.federated import projection, sums
from fedlib.federated.experiment import Data, Experiment
from fedlib.federated.stack import draw_parameters
from fedlib.models.networks import CartesianDeepONet, fan_in_uniform
from fedlib.papers.beyond.projection import operators
from fedlib.papers.beyond.projection.problem import together
from fedlib.streams import stream, torch_stream


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
    w, ridge = projection.hidden(theta, last), 1e-4
    one = projection.evaluate(dense, sums.parts(data), w, last, ridge)
    other = operators.evaluate(experiment, sums.parts(data), w, last, ridge)
    assert last.stop - last.start == 48
    for a, b in ((one.theta, other.theta), (one.gradient, other.gradient)):
        np.testing.assert_allclose(b, a, rtol=1e-8, atol=1e-8 * float(a.abs().max()))
    assert (other.loss, other.reduced) == pytest.approx((one.loss, one.reduced), rel=1e-8)


def test_an_evaluation_is_the_same_for_every_partition():
    """Ragged ones, with empty clients, against all functions in one place."""
    experiment, data, theta, last = small()
    w, rng = projection.hidden(theta, last), stream(0, "partitions")
    one = operators.evaluate(experiment, sums.parts(together(data)), w, last, 1e-4)
    for _ in range(50):
        K = rng.integers(1, 7)
        owner = rng.choice(K, 24, p=rng.dirichlet(np.full(K, 0.3)))
        dealt = data._replace(owners=[np.flatnonzero(owner == k) for k in range(K)])
        other = operators.evaluate(experiment, sums.parts(dealt), w, last, 1e-4)
        assert other.reduced == pytest.approx(one.reduced, rel=1e-9)
        for a, b in ((one.theta, other.theta), (one.gradient, other.gradient)):
            np.testing.assert_allclose(b, a, rtol=1e-8, atol=1e-8 * float(a.abs().max()))


def test_iterates_fall_and_bytes_are_counted():
    experiment, data, theta, _ = small()
    iterates = operators.projected_operator(experiment, data, theta, 12, 1e-6)
    assert iterates.loss[-1] < 0.5 * iterates.loss[0] and len(iterates.loss) == 12
    numbers = 8 * 9 // 2 + 8 * 6 + len(theta) - 48 + 1  # H^T H, H^T (S - b) T, the gradient and the sum of squares
    assert iterates.bytes[1] == 2 * iterates.bytes[0] == 2 * 2 * 8 * numbers
    again = operators.projected_operator(experiment, together(data), theta, 4, 1e-6)
    np.testing.assert_allclose(iterates.theta[3], again.theta[-1], rtol=1e-5, atol=1e-6)
