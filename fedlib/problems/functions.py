"""Functions that clients approximate together (FedSciML, Section 4)."""

import torch
from torch import Tensor


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
