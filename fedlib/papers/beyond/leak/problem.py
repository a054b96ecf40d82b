"""Fed-DeepONet's pendulum on three sites: clients with torques and angles of their own, as notebook 12 has them."""

import numpy as np
import torch
from torch import Tensor

from ....federated.batches import Local
from ....federated.experiment import Data, Experiment
from ....models.networks import DeepONet, glorot_normal
from ....streams import stream
from ...fed_deeponet.physics import loss, pendulum_triplets

LENGTH_SCALE = 0.2


def network(sensors: int = 50, width: int = 40) -> DeepONet:
    """One hidden layer in each half, of the torque at its sensors and of the time."""
    return DeepONet((sensors, width, width), (1, width, width))


def laboratories(sensors: int = 50, width: int = 40, updates: int = 5, **settings) -> Experiment:
    """What all machines have in common. settings: other fields of the experiment."""
    experiment = Experiment("pendulum", network(sensors, width), loss=loss, rounds=20, local=Local(updates))
    return experiment._replace(**{"init": glorot_normal} | settings)


def points(client: int, n: int = 50, sensors: int = 50) -> dict[str, Tensor]:
    """Triplets (input, time, angle), drawn from a stream of this client's own."""
    return pendulum_triplets(n, sensors, LENGTH_SCALE, stream(0, "site data", client))


def in_one_place(n: int = 50, updates: int = 5, sensors: int = 50, width: int = 40) -> Experiment:
    """The same clients, each with n points, as rows of one matrix; level: how many there are."""

    def data(clients: int, seed: int) -> Data:
        tables = [points(k, n, sensors) for k in range(clients)]
        pool = {name: torch.cat([table[name] for table in tables]) for name in tables[0]}
        return Data(pool, np.split(np.arange(clients * n), clients))

    return laboratories(sensors, width, updates, data=data, level="clients")
