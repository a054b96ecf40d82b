"""Functions that clients approximate together (FedSciML, Section 4)."""

from collections.abc import Mapping

import torch
from torch import Tensor

from ..federated.partitions import hammersley
from ..numerics.metrics import relative_l2


def gramacy_lee(z: Tensor) -> Tensor:
    """(z + 1/2)^4 - sin(10 pi z) / (2 z + 3) on [-1, 1]: Gramacy & Lee's function, shifted by 3/2.

    z [...] -> [...], dimensionless (FedSciML, Section 4.1).
    """
    return (z + 0.5) ** 4 - torch.sin(10 * torch.pi * z) / (2 * z + 3)


def schaffer(xy: Tensor, printed: bool = False) -> Tensor:
    """1/2 + (sin^2 a - 1/2) / (1 + r / 1000)^2 on [0, 1]^2, xy [..., 2] -> [...], dimensionless.

    a = r = 4 (x^2 + y^2), as in the authors' code, or ``printed``: a = x^2 - y^2, r = x^2 + y^2 (Schaffer N. 2,
    FedSciML, Section 4.2), which is nearly flat on the unit square.
    """
    x2, y2 = (xy**2).unbind(-1)
    a, r = (x2 - y2, x2 + y2) if printed else (4 * (x2 + y2), 4 * (x2 + y2))
    return 0.5 + (torch.sin(a) ** 2 - 0.5) / (1 + 0.001 * r) ** 2


def on_line(n: int, n_test: int = 1000) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Gramacy & Lee's function at n and n_test equispaced points of [-1, 1], with both ends: (pool, test) of x, f."""
    points = (torch.linspace(-1, 1, m, dtype=torch.float64)[:, None] for m in (n, n_test))
    pool, test = ({"x": x, "f": gramacy_lee(x[:, 0])} for x in points)
    return pool, test


def on_square(n: int, printed: bool = False, side: int = 50) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Schaffer's function at n Hammersley points and on a grid of side^2 points: (pool, test) of x, f."""
    axis = torch.linspace(0, 1, side, dtype=torch.float64)
    points = torch.as_tensor(hammersley(n)), torch.cartesian_prod(axis, axis)
    pool, test = ({"x": x, "f": schaffer(x, printed)} for x in points)
    return pool, test


def loss(predict, batch: Mapping[str, Tensor]) -> Tensor:
    """(1/n) sum (N(x) - f(x))^2 of ONE client."""
    return (batch["w"] * (predict(batch["x"])[:, 0] - batch["f"]) ** 2).sum()


def relative_error(predict, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Relative L2 error over the test points, of ONE model."""
    return {"e": relative_l2(predict(test["x"])[:, 0], test["f"])}
