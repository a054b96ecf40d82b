"""FedSciML's Poisson equation on two sites: each knows the right-hand side on its part of [0, pi]. See notebook 05."""

import torch

from fedlib.federated.experiment import Experiment
from fedlib.papers.fedsciml.forward.problem import poisson

SITES = [0], [1]  # the clients of each
LEVEL = 4  # subdomains in all, dealt to the two clients in turn


def make() -> Experiment:
    return poisson()._replace(rounds=20)


def points(client: int) -> dict[str, torch.Tensor]:
    data = make().data(LEVEL, 0)  # f is a formula; who has measurements reads this client's file only, see own_csv
    return {name: value[data.owners[client]] for name, value in data.pool.items()}
