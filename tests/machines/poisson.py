"""An experiment for the tests of sums: Poisson's equation with random sines, five ragged clients on three sites."""

import numpy as np
import torch

from fedlib.federated.experiment import Experiment
from fedlib.models.features import random_sines
from fedlib.papers.fedsciml.forward import problem as forward
from fedlib.streams import stream

SIZES = (5, 12, 3, 8, 4)
SITES = ((0, 3), (1,), (2, 4))
DTYPE = torch.float64


def make() -> Experiment:
    return forward.poisson()._replace(net=random_sines(20, 4.0, "x", ("xx",), stream(0, "features")))


def points(client: int) -> dict[str, torch.Tensor]:
    ends = np.cumsum((0, *SIZES))
    return {n: v[ends[client] : ends[client + 1]] for n, v in forward.poisson().data(2, 0).pool.items()}
