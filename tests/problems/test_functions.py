"""The functions of notebook 04 have the values that are known of them."""

import numpy as np
import pytest
import torch

from fedlib.problems.functions import gramacy_lee, schaffer


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
