"""Notebook 05's training to play with: Poisson's equation, two clients who each see some pieces of the interval."""

from functools import cache

import numpy as np
import torch
from torch import Tensor

from ..federated.batches import Local
from ..federated.federation import Federation, centralised
from ..models.jets import VALUE_ONLY
from ..models.networks import glorot_uniform
from ..notebook.watching import Training
from ..numerics.metrics import relative_l2
from . import forward

PROBLEM = forward.poisson()
FINE = 200  # points of the curves


@cache
def on_a_fine_grid() -> tuple[dict[str, Tensor], Tensor]:
    """The ``fields`` of evenly spread points, and the exact u there, in float32."""
    x = np.linspace(0, np.pi, FINE)[:, None]
    known = forward.fields(PROBLEM, x)
    return {name: value.float() for name, value in known.items()}, PROBLEM.solution(torch.as_tensor(x)).float()


def solution(predict) -> Tensor:
    """u = g + b N on the fine grid [n]."""
    at, _ = on_a_fine_grid()
    return at["g"][:, 0] + at["b"][:, 0] * predict(at["x"], VALUE_ONLY)[:, 0]


def residual(predict) -> Tensor:
    """-u'' - f there [n]."""
    at, _ = on_a_fine_grid()
    return PROBLEM.operator(forward.constrained(PROBLEM)(predict(at["x"]), at)) - at["f"]


def training(subdomains: int = 2, E: int = 20, lr: float = 0.003) -> Training:
    """n subdomains that two clients own in turn, E local Adam steps."""
    pool, _, shards = forward.layout(PROBLEM, [subdomains])
    _, exact = on_a_fine_grid()
    feds = {"federated": Federation(shards[subdomains], lr=lr), "centralised": centralised(shards[subdomains], lr=lr)}
    return Training(
        PROBLEM.net(), forward.residual_loss(PROBLEM), pool, feds,
        dict(local=Local(E), init=glorot_uniform, dtype=torch.float32),
        lambda predict: 100 * relative_l2(solution(predict), exact), pool["x"][:, 0].numpy(),
    )  # fmt: skip
