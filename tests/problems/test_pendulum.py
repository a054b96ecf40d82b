"""The pendulum's data lie on its trajectories, with and without its stiffness."""

import numpy as np
import torch

from fedlib.numerics.solutions import pendulum
from fedlib.numerics.spaces import grf
from fedlib.problems.pendulum import half_steps, pendulum_trajectories, pendulum_triplets, with_stiffness
from fedlib.streams import stream


def test_triplets_lie_on_the_trajectories():
    data = pendulum_triplets(50, 100, 0.2, stream(3, "train"))
    assert data["u"].shape == (50, 100)
    rng = stream(3, "train")
    u = grf(half_steps(100), 50, 0.2, rng)
    x1 = pendulum_trajectories(u)["x1"].numpy()
    y = data["y"][:, 0].numpy()
    near = np.array([np.interp(y[i], np.linspace(0, 1, 100), x1[i]) for i in range(50)])
    np.testing.assert_allclose(data["s"].numpy(), near, atol=1e-4)


def test_k_equal_to_one_is_the_pendulum_of_the_first_notebook():
    u = grf(half_steps(20), 4, 0.2, stream(0, "u"))
    np.testing.assert_array_equal(pendulum(u, np.ones(4)), pendulum(u))
    one, other = (pendulum_triplets(5, 20, 0.2, stream(0, "t"), k)["s"] for k in (1.0, np.ones(5)))
    torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_branch_input_tells_or_hides_the_stiffness():
    u = torch.zeros(3, 4, dtype=torch.float64)
    told = with_stiffness(u, np.array([0.5, 1.0, 1.5]))
    assert told.shape == (3, 5)
    assert told[:, -1].tolist() == [-1.0, 0.0, 1.0]
    assert with_stiffness(u, 1.5, hidden=True)[:, -1].abs().max() == 0
