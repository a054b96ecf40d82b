"""The equation of poisson.py with random sines in the place of its network: one round of sums solves it. See notebook
13; federate simulate experiments/poisson_sums.py --sums."""

import torch

from fedlib.federated.experiment import Experiment
from fedlib.papers.beyond.one_round.problem import with_sines

SITES = [0], [1]  # the clients of each
LEVEL = 4  # pieces in all, dealt to the two clients in turn
SINES, SCALE = 60, 6.0  # how many, and the st.dev. of their frequencies
DTYPE = torch.float64


def make() -> Experiment:
    return with_sines("poisson", SINES, SCALE, seed=0)


def points(client: int) -> dict[str, torch.Tensor]:
    data = make().data(LEVEL, 0)
    return {name: value[data.owners[client]] for name, value in data.pool.items()}
