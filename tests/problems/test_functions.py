"""The functions of notebook 04 have the values that are known of them."""

import numpy as np
import pytest
import torch

from fedlib.federated.partitions import hammersley
from fedlib.problems.functions import gramacy_lee, loss, on_line, on_square, relative_error, schaffer


def test_gramacy_lee_is_the_original_shifted_by_three_halves():
    z = torch.linspace(-1, 1, 101, dtype=torch.float64)
    x = z + 1.5
    torch.testing.assert_close(
        gramacy_lee(z), (x - 1) ** 4 + torch.sin(10 * torch.pi * x) / (2 * x), atol=1e-13, rtol=0
    )


@pytest.mark.parametrize(("printed", "top"), [(True, 0.708), (False, 0.998)])
def test_schaffer_starts_at_zero_and_has_the_known_range(printed, top):
    side = torch.linspace(0, 1, 401, dtype=torch.float64)
    f = schaffer(torch.cartesian_prod(side, side), printed)
    assert f[0] == f.min() == 0
    assert round(f.max().item(), 3) == top


def test_authors_schaffer_is_radial_and_the_printed_one_is_not():
    """At radius 1/2 the code has a = r = 1 everywhere; as printed, a = 0 and r = 1/4 on the diagonal."""
    on_axis, diagonal = torch.tensor([[0.5, 0.0], [0.125**0.5, 0.125**0.5]], dtype=torch.float64)
    torch.testing.assert_close(schaffer(on_axis), schaffer(diagonal))
    expected = 0.5 + (np.sin(1.0) ** 2 - 0.5) / 1.001**2
    assert abs(schaffer(on_axis).item() - expected) < 1e-12
    assert abs(schaffer(diagonal, printed=True).item() - (0.5 - 0.5 / 1.00025**2)) < 1e-12


def test_points_of_the_line_and_of_the_square():
    pool, test = on_line(5, 3)
    assert pool["x"][:, 0].tolist() == [-1, -0.5, 0, 0.5, 1] and test["x"][:, 0].tolist() == [-1, 0, 1]
    torch.testing.assert_close(pool["f"], gramacy_lee(pool["x"][:, 0]))
    for printed in (False, True):
        pool, test = on_square(16, printed, side=3)
        np.testing.assert_array_equal(pool["x"], hammersley(16))
        assert test["x"][:4].tolist() == [[0, 0], [0, 0.5], [0, 1], [0.5, 0]]
        torch.testing.assert_close(test["f"], schaffer(test["x"], printed))


def test_loss_and_error_of_a_model_that_is_off():
    """Twice the function: the loss is its mean square, the error 1. Padding has no weight."""
    x = torch.linspace(0, 1, 4)[:, None]
    f = 1 + x[:, 0]
    batch = {"x": x, "f": f, "w": torch.tensor([1 / 3, 1 / 3, 1 / 3, 0])}
    assert loss(lambda x: 2 + 2 * x, batch).item() == pytest.approx((f[:3] ** 2).mean().item())
    assert relative_error(lambda x: 2 + 2 * x, {"x": x, "f": f})["e"].item() == pytest.approx(1)
