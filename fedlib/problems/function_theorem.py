"""Theorem 3.1 of FedSciML, measured: how far gradient descent in a federation drifts from that on all points."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ..federated.batches import Local
from ..federated.federation import Federation, centralised
from ..federated.heterogeneity import divergence_bound
from ..federated.optimizers import Optimizer, sgd
from ..federated.train import train
from ..models.networks import glorot_uniform, mlp
from .functions import loss


def recording(optimizer: Optimizer, norms: list[float]) -> Optimizer:
    """The same optimiser; it appends the largest gradient norm of the stack to ``norms``."""

    def apply(theta, gradient, state, lr):
        norms.append(float(gradient.norm(dim=1).max()))
        optimizer.apply(theta, gradient, state, lr)

    return Optimizer(optimizer.init, apply)


def distances(
    pool: Mapping[str, Tensor], cuts: Mapping[int, Sequence[np.ndarray]], E: int, rounds: int, lr: float = 0.01
) -> list[float]:
    """|theta_fed - theta_central| after some rounds of E steps for each partition of ``cuts``; last, the bound.

    Full-batch gradient descent of a small network on pool's x [n, 1] and f, in float64.
    """
    norms, feds = [], {p: Federation(shards, lr=lr) for p, shards in cuts.items()}
    feds["central"] = centralised([np.arange(len(pool["x"]))], lr=lr)
    history = train(
        mlp((1, 20, 20, 1), nn.Tanh), loss, pool, feds, parts=["pieces"], rounds=rounds, local=Local(E),
        optimizer=recording(sgd(), norms), init=glorot_uniform, dtype=torch.float64,
    )  # fmt: skip
    apart = [float((history.model(p) - history.model("central")).norm()) for p in cuts]
    return [*apart, divergence_bound(lr, max(norms), E, rounds)]


def measure(pool: Mapping[str, Tensor], cuts: Mapping, steps: Sequence[int], rounds: Sequence[int]) -> np.ndarray:
    """``distances`` of a training of its own for every E of steps and l of rounds: [E, l, (*cuts, bound)]."""
    return np.array([[distances(pool, cuts, E, l) for l in rounds] for E in steps])
