"""Fed-DeepONet's pendulum on three sites: 20 clients, each with inputs and angles of its own. See notebook 01."""

from functools import partial

import torch

from fedlib.engines.experiment import Experiment
from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.models.networks import DeepONet, glorot_normal
from fedlib.problems.pendulum import loss, pendulum_triplets
from fedlib.streams import stream

CLIENTS, POINTS, SENSORS, LENGTH_SCALE = 20, 50, 50, 0.2
SITES = range(0, 7), range(7, 14), range(14, CLIENTS)


def make() -> Experiment:
    net = DeepONet((SENSORS, 40, 40), (1, 40, 40))
    return Experiment(
        net, loss, partial(Federation, lr=1e-3), rounds=20, local=Local(5), sites=SITES, how={"init": glorot_normal}
    )


def points(client: int) -> dict[str, torch.Tensor]:
    """50 triplets (input, time, angle), drawn from a stream of this client's own."""
    return pendulum_triplets(POINTS, SENSORS, LENGTH_SCALE, stream(0, "site data", client))
