"""The flow by one message: rows are derivatives, messages add up, a flow that is known is recovered."""

import numpy as np
import pytest
import torch

from fedlib.federated import sums
from fedlib.federated.experiment import data_of
from fedlib.papers.beyond.one_round import flow
from fedlib.papers.beyond.one_round.problem import start
from fedlib.papers.fedsciml.flow.problem import navier_stokes, residual_points
from fedlib.streams import stream


def test_rows_are_derivatives_of_the_momentum_equations():
    """Against differences of notebook 06's own residuals, which have continuity as their third."""
    experiment, points = flow.flow_of_sines(10, 2.0, 0.7, 0), residual_points(4, 2, 2)
    theta = torch.as_tensor(0.3 * stream(0, "theta").standard_normal(len(start(experiment))))

    def residuals(theta):
        with torch.no_grad():
            return navier_stokes(*sums.predicting(experiment, theta)(points))

    rows, h = flow.fields(experiment, points).momentum(theta), 1e-5
    r = residuals(theta)
    assert r[:, 2].abs().max() < 1e-12, "nothing is lost"
    np.testing.assert_allclose(rows[:, :-1] @ theta + rows[:, -1], r[:, :2].flatten(), atol=1e-10)
    for j, e in enumerate(h * torch.eye(len(theta), dtype=torch.float64)):
        slope = (residuals(theta + e) - residuals(theta - e))[:, :2].flatten() / (2 * h)
        np.testing.assert_allclose(rows[:, j], slope, atol=1e-6)


def test_messages_give_what_all_observations_in_one_place_give():
    experiment, points = flow.flow_of_sines(60, 2.0, 0.7, 0), residual_points(40, 10, 10)

    def answer(level):
        data = data_of(experiment, level, 0)
        clients = sums.parts(data) if level > 1 else [data.pool]
        return flow.solved(experiment, sums.added(flow.message(experiment, one) for one in clients), points)

    (first, score), (theta, other) = answer(2), answer(6)
    np.testing.assert_allclose(theta, first, atol=1e-6)
    assert score == pytest.approx(other, rel=1e-6)
    data = data_of(experiment, 2, 0)
    together, _ = flow.solved(experiment, flow.message(experiment, data.pool), points)
    np.testing.assert_allclose(together, first, atol=1e-6)


def test_coefficients_of_a_flow_in_the_span_are_exact(monkeypatch):
    """Two waves of equal length move with the inflow, without friction; the pressure is products of the two:

    psi = A sin z1 + B sin z2, z = k . (x - C1 t, y), |k1| = |k2| = k: vorticity is -k^2 psi, so that the flow carries
    it along as it is, with C1 = 0.8 and C2 = 0; p = -C1 (|grad psi|^2 + k^2 psi^2) / 2.
    """
    monkeypatch.setattr(flow, "RIDGES", (1e-9,))
    experiment, C1 = flow.flow_of_sines(10, 2.0, 0.7, 0), 0.8
    k = torch.tensor([[1.8, 2.4], [2.4, -1.8]], dtype=torch.float64)
    waves = torch.cat([k, -C1 * k[:, :1]], 1)
    net = experiment.net.net
    net.psi.net[0].weight[:2], net.psi.net[0].bias[:2] = waves, 0.0
    one, two = waves
    net.p.net[0].weight[:] = torch.stack([2 * one, 2 * two, one + two, one - two])
    net.p.net[0].bias[:] = torch.pi / 2
    low, high = torch.tensor([1.0, -2.0, 0.0]), torch.tensor([8.0, 2.0, 1.0])
    x = low + (high - low) * torch.as_tensor(stream(0, "points").uniform(size=(200, 3)))
    cos = torch.tensor([0.4, 0.3], dtype=torch.float64) * (x @ waves.T).cos()
    observed = {"x": x, "u": torch.stack([1 + cos @ k[:, 1], -cos @ k[:, 0]], 1)}
    theta, _ = flow.solved(experiment, flow.message(experiment, observed), residual_points(100, 20, 20))
    np.testing.assert_allclose(theta[:2], [C1, 0.0], atol=1e-5)
    with torch.no_grad():
        p = sums.predicting(experiment, theta)(x, True)[0][:, 2]
    psi = torch.tensor([0.4, 0.3], dtype=torch.float64) * (x @ waves.T).sin()
    truth = -C1 * ((cos @ k).square().sum(1) + 9.0 * psi.sum(1) ** 2) / 2
    np.testing.assert_allclose(p - p.mean(), truth - truth.mean(), atol=1e-4)
