"""FedSciML's Poisson equation on two sites: each knows the right-hand side on its part of [0, pi]. See notebook 05."""

from functools import partial

import torch

from fedlib.engines.experiment import Experiment
from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.problems.forward import fields, poisson, residual_loss

PROBLEM, LEVEL = poisson(), 4  # subdomains in all, dealt to two clients in turn


def make() -> Experiment:
    return Experiment(
        PROBLEM.net(), residual_loss(PROBLEM), partial(Federation, lr=1e-3), rounds=20, local=Local(5), sites=[[0], [1]]
    )


def points(client: int) -> dict[str, torch.Tensor]:
    x, own = PROBLEM.points(LEVEL)
    return fields(PROBLEM, x[own[client]])
