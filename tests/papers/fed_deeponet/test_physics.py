"""The pendulum's data lie on its trajectories, with and without its stiffness."""

import numpy as np
import torch

from fedlib.numerics.spaces import grf
from fedlib.papers.fed_deeponet.physics import (
    OUT_OF_DISTRIBUTION,
    both_tests,
    errors,
    half_steps,
    loss,
    mean_errors,
    pendulum_trajectories,
    pendulum_triplets,
    random_tests,
    times,
    unseen_tests,
    with_stiffness,
)
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


def test_branch_input_tells_or_hides_the_stiffness():
    u = torch.zeros(3, 4, dtype=torch.float64)
    told = with_stiffness(u, np.array([0.5, 1.0, 1.5]))
    assert told.shape == (3, 5)
    assert told[:, -1].tolist() == [-1.0, 0.0, 1.0]
    assert with_stiffness(u, 1.5, hidden=True)[:, -1].abs().max() == 0


def test_tests_are_trajectories_of_random_and_of_unseen_inputs():
    random, unseen = random_tests(4, 10, 0.3, 7, 1.2), unseen_tests(10, (0.5, 1.5))
    u = grf(half_steps(10), 4, 0.3, stream(7, "test"))
    np.testing.assert_array_equal(random["x1"], pendulum_trajectories(u, 1.2)["x1"])
    assert unseen["u"].shape == (6, 10)
    np.testing.assert_allclose(unseen["u"][:2], np.tile(times(10)[:, 0], (2, 1)), atol=1e-7)  # u = t twice
    last = OUT_OF_DISTRIBUTION["t sin(2 pi t)"](half_steps(10))[None]
    np.testing.assert_array_equal(unseen["x1"][5], pendulum_trajectories(last, 1.5)["x1"][0])
    test = both_tests(random, unseen)
    assert set(test) == {"GRF u", "GRF x1", "unseen u", "unseen x1"}
    assert test["unseen x1"] is unseen["x1"]
    third = both_tests(random, unseen, second=unseen)
    assert third.items() >= test.items() and third["second u"] is unseen["u"]


def test_the_loss_is_the_mean_square():
    batch = {"u": torch.zeros(3), "y": torch.tensor([1.0, 2.0, 4.0]), "s": torch.ones(3), "w": torch.ones(3) / 3}
    torch.testing.assert_close(loss(lambda u, y: u + y, batch), torch.tensor((0 + 1 + 9) / 3))


def test_errors_are_relative_and_in_percent():
    """A prediction that is 1.1 and 0.5 times the truth."""
    x = torch.tensor([[3.0, 4.0], [0.0, 2.0]])
    test = {f"{name} {k}": v for name in ("GRF", "unseen") for k, v in {"u": x, "x1": x}.items()}
    factor = torch.tensor([[1.1], [0.5]])
    found = errors(lambda u, y: factor * u[:, 0], test | {"times": None})
    mean = mean_errors(lambda u, y: factor * u[:, 0], test | {"times": None})
    for name in ("GRF", "unseen"):
        np.testing.assert_allclose(found[name], [10, 50], rtol=1e-5)
        np.testing.assert_allclose(mean[name], 30, rtol=1e-5)
    more = mean_errors(lambda u, y: u[:, 0], test | {"times": None, "second u": x, "second x1": 2 * x})
    assert list(more) == ["GRF", "unseen", "second"]
    np.testing.assert_allclose(more["second"], 50, rtol=1e-5)


def test_a_hundred_at_a_time_are_all_of_them():
    tests = both_tests(random_tests(250, 8, 0.3, 0), unseen_tests(8)) | {"times": times(8)}

    def nothing(u, t):
        assert len(u) <= 100
        return torch.zeros(len(u), 8)

    torch.testing.assert_close(errors(nothing, tests)["GRF"], torch.full((250,), 100, dtype=torch.float64))
