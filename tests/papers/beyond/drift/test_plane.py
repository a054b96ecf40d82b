"""Two clients in the plane: where FedAvg rests and where the corrected server goes, against closed forms."""

import numpy as np
import pytest
import torch

from fedlib.papers.beyond.drift.plane import Quadratics, two_clients, walk


def test_gradients_are_those_of_autograd_and_the_mean_is_least_at_the_optimum():
    toy, theta = two_clients(), torch.tensor([0.3, -0.7], dtype=torch.float64, requires_grad=True)
    for c in range(2):
        gap = theta - torch.as_tensor(toy.w[c])
        (expected,) = torch.autograd.grad(gap @ torch.as_tensor(toy.H[c]) @ gap / 2, theta)
        np.testing.assert_allclose(toy.gradients(theta.detach().numpy())[c], expected)
    best = toy.optimum()
    np.testing.assert_allclose(toy.gradients(best).mean(0), 0, atol=1e-12)
    around = best + 0.1 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    assert (toy.value(around) > toy.value(best)).all()


@pytest.mark.parametrize("E", [1, 2, 10])
def test_fedavg_comes_to_its_fixed_point_and_the_correction_to_the_optimum(E):
    toy = two_clients()
    np.testing.assert_allclose(walk(toy, False, E, 400, 0.5).theta[-1], toy.fixed_point(E, 0.5), atol=1e-9)
    np.testing.assert_allclose(walk(toy, True, E, 400, 0.5).theta[-1], toy.optimum(), atol=1e-9)


def test_the_fixed_point_goes_from_the_optimum_to_the_mean_of_the_clients_own():
    toy = two_clients()
    np.testing.assert_allclose(toy.fixed_point(1, 0.3), toy.optimum())
    np.testing.assert_allclose(toy.fixed_point(5000, 0.3), toy.w.mean(0))
    same = Quadratics(toy.H[[0, 0]], toy.w)
    np.testing.assert_allclose(same.fixed_point(7, 0.3), same.optimum())
