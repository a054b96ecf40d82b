"""Levels put in order beforehand: the formulas against descent and gradients that are computed another way."""

import numpy as np
import pytest
import torch
import xarray
from scipy.linalg import expm

from fedlib.federated.experiment import data_of, train_arguments
from fedlib.federated.federation import Federation
from fedlib.federated.stack import as_dict, stack
from fedlib.papers.beyond.drift.prediction import (
    LEFT,
    PROBLEMS,
    descent,
    descent_of_network,
    disagreement,
    linear,
    residuals_left,
    staged,
    weights_of,
)
from fedlib.papers.fedsciml.forward.problem import euler_beam
from fedlib.papers.fedsciml.functions.problem import gramacy_lee
from fedlib.papers.fedsciml.reaction.problem import reaction

PROBLEM = {
    "wave, 3 clients": (lambda: gramacy_lee(3, 30, 8), 6, None),
    "beam, shared points and conditions": (lambda: euler_beam(10), 2, None),
    "reaction, a common equation": (lambda: reaction(5, observations=9), 4, PROBLEMS["reaction"].residuals),
}


@pytest.mark.parametrize("name", PROBLEM)
def test_clients_gradients_are_those_of_their_losses(name):
    """B before anything is learnt, from the Jacobian, against the gradients of the losses that are trained."""
    make, level, residuals = PROBLEM[name]
    experiment = make()
    data, theta = data_of(experiment, level), stack(experiment.net, [(0,)], experiment.init)[0].double()
    around = linear(experiment, data.pool, theta, residuals)
    weights, p = weights_of(data.owners, around), Federation(data.owners).p
    loss, constants = train_arguments(experiment)["loss"], {k: v.double() for k, v in experiment.constants.items()}

    def value(theta, shard):
        batch = {k: v[shard].double() for k, v in data.pool.items()} | constants
        batch["w"] = torch.full((len(shard),), 1 / len(shard), dtype=torch.float64)
        parameters = as_dict(experiment.net, theta)
        return loss(lambda *x: torch.func.functional_call(experiment.net, parameters, x), batch)

    gradients = []
    for shard, w in zip(data.owners, weights, strict=True):
        point = theta.clone().requires_grad_()
        total = value(point, torch.as_tensor(shard))
        assert total.item() == pytest.approx((w * around.r**2).sum(), rel=1e-10)
        gradients.append(torch.autograd.grad(total, point)[0].numpy())
        assert np.allclose(gradients[-1], 2 * around.J.T @ (w * around.r), rtol=1e-8, atol=1e-10)
    mean = p @ np.array(gradients)
    B = np.sqrt(sum(p * [g @ g for g in gradients]) / (mean @ mean))
    assert B > 1.001
    for flow in (
        descent(around.J @ around.J.T, p @ weights, around.r),
        descent_of_network(around.J, p @ weights, around.r),
    ):
        assert disagreement(flow, weights, p)[0] == pytest.approx(B, rel=1e-7)


def test_residuals_on_the_way_are_those_of_gradient_flow():
    """Against the matrix exponential, and the norm that was asked for."""
    rng, left = np.random.default_rng(0), np.array([1.0, 0.5, 0.1])
    A, r, W = rng.standard_normal((8, 8)), rng.standard_normal(8), rng.dirichlet(np.full(8, 5.0))
    flow = descent(A @ A.T, W, r)
    a = residuals_left(flow, left)
    assert np.allclose(np.linalg.norm(a, axis=1) / np.linalg.norm(flow.a), left, rtol=1e-6)
    for row in a:
        moved = (np.abs(flow.a) > 1e-3) & (np.abs(row) > 1e-200)  # what is gone says nothing of the time
        t = np.mean(-np.log(row[moved] / flow.a[moved]) / flow.rates[moved])
        assert np.allclose(flow.Q @ row / np.sqrt(W), expm(-t * A @ A.T @ np.diag(W)) @ r, atol=1e-7)


def test_rates_far_below_the_rounding_of_the_kernel():
    """Singular values of J down to 1e-10: of the kernel, these are rounding, and it does not say its last stages."""
    U = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    J, r = U * np.array([1, 1e-3, 1e-6, 1e-10]), U.sum(1)
    weights = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    p, left = np.array([0.5, 0.5]), np.array([1.0, 0.4, 0.1])
    W = p @ weights
    B = disagreement(descent_of_network(J, W, r), weights, p, left)
    assert np.isfinite(B).all()
    assert np.isnan(disagreement(descent(J @ J.T, W, r), weights, p, left)[1:]).all()
    s = np.array([1, 1, -1, -1])
    flow = descent_of_network(J, W, r)
    last = flow.Q @ residuals_left(flow, left)[2]
    at_last = 1 + np.sum((J.T @ (s * last)) ** 2) / np.sum(1e-20 * (U[:, 3] @ last) ** 2)
    assert B[2] ** 2 == pytest.approx(at_last, rel=1e-4)


def test_what_is_never_learnt_is_not_a_number():
    """A residual that the kernel does not see: stages that are not reached are left out of the mean."""
    r = np.array([1.0, 0, 0, 0.5])
    weights = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    B = disagreement(descent(np.diag([1.0, 1, 1, 0]), np.full(4, 0.25), r), weights, np.array([0.5, 0.5]))
    reached = np.sqrt(1.25) * LEFT > 0.5
    assert np.array_equal(np.isfinite(B), reached)
    assert B[reached] == pytest.approx(np.sqrt(2))  # one client has all of it, the other nothing
    assert staged(xarray.DataArray(B, {"left": LEFT})) == pytest.approx(np.sqrt(2))
