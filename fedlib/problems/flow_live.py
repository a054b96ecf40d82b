"""Notebook 06's training to play with: the wake, two clients, and two unknown numbers in their equation.

Few observations, few residual points and a small network: a local step takes milliseconds, and C comes near the truth,
not to it.
"""

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from ..federated.batches import Local
from ..federated.rounds import on
from ..federated.stack import as_dict
from ..live.watched import Watched
from ..models.jets import VALUE_ONLY
from ..models.networks import glorot_uniform
from ..numerics.metrics import relative_l2
from ..streams import stream
from . import flow, flow_study
from .wake import cylinder_wake

OBSERVATIONS, RESIDUAL, WIDTHS = 300, (50, 10, 5), (3, 20, 20, 20, 3)


class Coefficients(NamedTuple):
    """gains [M, 1]: C = gain c of all clients, see ``with_gain``. past: name -> round -> C, what pictures remember."""

    gains: Tensor
    past: dict[str, dict[int, Tensor]]


@cache
def measured() -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Observations of the wake, and its velocity at the middle time: x [n, 3], u [n, 2]; in float32."""
    wake = cylinder_wake()
    middle = {name: values[0] for name, values in flow.wake_test(wake, 1, 4).items()}
    return on(flow.observations(wake, OBSERVATIONS, stream(0, "live"))), on(middle)


def velocity_error(predict) -> Tensor:
    """Relative L2 error (%) of u and v at the middle time."""
    _, test = measured()
    value, _ = predict(test["x"], VALUE_ONLY)
    return 100 * relative_l2(value[:, :2].flatten(), test["u"].flatten())


def coefficients(watched: Watched, models: Tensor) -> Tensor:
    """C [M, ..., 2] of models [M, ..., P], a row for each client of all."""
    c = as_dict(watched.net, models)["c"]
    return watched.more.gains.reshape(-1, *[1] * (c.ndim - 1)) * c


def training(subdomains: int = 2, E: int = 5, lr: float = 0.01, aliased: bool = False) -> Watched:
    """n slabs that two clients own in turn, E local Adam steps; aliased: C moves by the sum of the clients' steps."""
    pool, cases = flow_study.federations({0: measured()[0]}, OBSERVATIONS, [subdomains], [subdomains] * aliased, lr=lr)
    kind = "summed" if aliased else "federated"
    feds = {
        "federated": cases[kind, subdomains, 0],
        "centralised": cases["centralised", OBSERVATIONS, 0],
    }
    gains = [[flow_study.GAINS[kind]]] * len(feds["federated"].shards) + [[1.0]]
    how = dict(local=Local(E), init=glorot_uniform, dtype=torch.float32)
    how["constants"] = {"points": flow.residual_points(*RESIDUAL)}
    return Watched(
        flow.navier_stokes_net(WIDTHS), flow_study.gained_loss, pool, feds, how, velocity_error,
        Coefficients(torch.tensor(gains), {}),
    )  # fmt: skip
