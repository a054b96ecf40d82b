"""The functions of notebook 04 have the values that are known of them, their owners W1 its closed forms."""

import numpy as np
import pytest
import torch

from fedlib.federated.experiment import train_arguments
from fedlib.federated.sweep import models_of, sweep
from fedlib.papers.fedsciml.functions import problem
from fedlib.papers.fedsciml.functions.problem import rings, wave


def test_gramacy_lee_is_the_original_shifted_by_three_halves():
    z = torch.linspace(-1, 1, 101, dtype=torch.float64)
    x = z + 1.5
    original = (x - 1) ** 4 + torch.sin(10 * torch.pi * x) / (2 * x)
    torch.testing.assert_close(wave(z[:, None]), original, atol=1e-13, rtol=0)


@pytest.mark.parametrize(("printed", "top"), [(True, 0.708), (False, 0.998)])
def test_schaffer_starts_at_zero_and_has_the_known_range(printed, top):
    side = torch.linspace(0, 1, 401, dtype=torch.float64)
    f = rings(torch.cartesian_prod(side, side), printed)
    assert f[0] == f.min() == 0
    assert round(f.max().item(), 3) == top


def test_authors_schaffer_is_radial_and_the_printed_one_is_not():
    """At radius 1/2 the code has a = r = 1 everywhere; as printed, a = 0 and r = 1/4 on the diagonal."""
    points = torch.tensor([[0.5, 0.0], [0.125**0.5, 0.125**0.5]], dtype=torch.float64)
    on_axis, diagonal = rings(points)
    torch.testing.assert_close(on_axis, diagonal)
    assert abs(on_axis.item() - (0.5 + (np.sin(1.0) ** 2 - 0.5) / 1.001**2)) < 1e-12
    assert abs(rings(points, printed=True)[1].item() - (0.5 - 0.5 / 1.00025**2)) < 1e-12


def test_loss_and_error_of_a_model_that_is_off():
    """Twice the function: the loss is its mean square, the error 100 %. Padding has no weight."""
    line = problem.gramacy_lee(n=4)
    x = torch.linspace(0, 1, 4)[:, None]
    f = 1 + x[:, 0]
    batch = {"x": x, "f": f, "w": torch.tensor([1 / 3, 1 / 3, 1 / 3, 0])}
    assert train_arguments(line)["loss"](lambda x: 2 + 2 * x, batch).item() == pytest.approx((f[:3] ** 2).mean().item())
    assert line.evaluate(lambda x: 2 + 2 * x, {"x": x, "u": f})["error"].item() == pytest.approx(100)


def test_w1_on_a_line_with_slabs_and_with_blocks():
    """L / n N / (N - 1) for N equispaced points of a line of length 2, two clients, n pieces; h (K + 1) / 3 for slabs
    of width h. Two halves are 1/2 apart, the diagonal quarters 1/3; with more parts both fall, blocks are nearer."""
    line = problem.gramacy_lee()
    expected = [400 / 199 / n for n in (2, 10, 200)]
    np.testing.assert_allclose([line.distance(line.data(n, 0)) for n in (2, 10, 200)], expected)
    w1 = problem.partitions(200, 400, [2, 3, 5], [1, 5, 100], [1, 2, 5], [2, 4, 10])
    np.testing.assert_allclose(w1.line.sel(clients=2), expected)
    for K in (2, 3, 5):
        np.testing.assert_allclose(w1.line.sel(clients=K)[:1], 2 / K * (K + 1) / 3, rtol=0.03)
        np.testing.assert_allclose(w1.slabs.sel(clients=K)[:2], (K + 1) / 3 / K / np.array([1, 2]), rtol=0.05)
    assert w1.blocks.sel(blocks_per_axis=2).isnull().values.tolist() == [False, False, True], "five clients"
    slabs, blocks = w1.slabs.sel(clients=2).values, w1.blocks.sel(clients=2).values
    np.testing.assert_allclose([slabs[0], blocks[0]], [1 / 2, 1 / 3], rtol=0.02)
    assert (np.diff(slabs) < 0).all() and (np.diff(blocks) < 0).all() and (blocks < slabs).all()


def test_descent_is_no_adam():
    """A step of Adam has the size of the rate in every weight, one of descent that of the gradient."""

    def moved(make):
        after = (sweep(make(n=20, width=4), [2], [0], ["isolated"], rounds=1, lr=lr) for lr in (1e-3, 1e-30))
        one, start = (models_of(history, "isolated", 2, 0) for history in after)
        return (one - start).abs()

    adam, descent = moved(problem.gramacy_lee), moved(problem.by_descent)
    assert (adam.max() / adam.median()) < 3 < (descent.max() / descent.median())
