"""Section 5.2 as an experiment: who observes the noisy surface where."""

import torch

from ....federated.experiment import Data, Experiment
from ..experiment import learning, scored, validation
from ..network import SNN
from ..plane import first, observations, owners, probes, surface_grid


def shared(clients: int = 40, sigma: float = 0.1, alone: bool = False) -> Experiment:
    """A level: points outside of the own quadrant. Judged by new observations at every fifth point of the grid.

    alone: the first client of each quadrant, and nobody else.
    """
    net = SNN(2, 16, 32)

    def data(outside: int, seed: int) -> Data:
        shards = owners(clients, outside, seed)
        pool = {"x": torch.as_tensor(surface_grid()), "y": torch.as_tensor(observations(seed, sigma))}
        return Data(pool, [shards[k] for k in first(clients)] if alone else shards, partition=False)

    constants = validation(probes(net, sigma), every=5)
    settings = {"evaluate": scored, "constants": constants, "level": "points outside", "rounds": 25}
    return learning("noisy surface", net, "energy score", data, **settings)
