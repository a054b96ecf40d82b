"""What models of a function do where they have data and where they have none (FedSciML, Figs. 4C and 5D, E)."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ..federated.stack import predict
from .function_study import Sweep


def predictions(net: nn.Module, sweep: Sweep, x: Tensor, level: tuple[int, int], seed: int) -> dict[str, np.ndarray]:
    """What the models of a level say at points x [n, d]: "federated", "client 1 alone", ..., "centralised" -> [n]."""
    rows = {"federated": sweep.history.model("federated", level, seed)}
    alone = sweep.history.models("isolated", level, seed)
    rows |= {f"client {k + 1} alone": row for k, row in enumerate(alone)}
    rows["centralised"] = sweep.history.model("central", None, seed)
    return {name: predict(net, row, x.float())[:, 0].numpy() for name, row in rows.items()}


def owner(along: Tensor | np.ndarray, points: Tensor | np.ndarray, shards: Sequence[np.ndarray]) -> np.ndarray:
    """Whose training point is nearest along one axis [n]: places [n] and points [N], shards: K index arrays."""
    along, points = (torch.as_tensor(np.asarray(v, float)) for v in (along, points))
    whose = np.zeros(len(points), int)
    for k, own in enumerate(shards):
        whose[own] = k
    return whose[(along[:, None] - points[None]).abs().argmin(1).numpy()]


def own_and_other(found: Mapping[str, np.ndarray], truth: np.ndarray, whose: np.ndarray) -> list[list[float]]:
    """Relative L2 errors of each client alone where it has data and where others have: [K][own, other]."""
    K = sum(name.endswith("alone") for name in found)
    off = [found[f"client {k + 1} alone"] - truth for k in range(K)]
    return [
        [float(np.linalg.norm(e[here]) / np.linalg.norm(truth[here])) for here in (whose == k, whose != k)]
        for k, e in enumerate(off)
    ]
