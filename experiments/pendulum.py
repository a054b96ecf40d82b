"""Fed-DeepONet's pendulum on three sites: 20 clients, each with inputs and angles of its own. See notebooks 01, 12."""

import torch

from fedlib.federated.batches import Local
from fedlib.federated.experiment import Experiment
from fedlib.models.networks import DeepONet, glorot_normal
from fedlib.papers.fed_deeponet.physics import loss, pendulum_triplets
from fedlib.streams import stream

SITES = range(0, 7), range(7, 14), range(14, 20)  # the clients of each
POINTS, SENSORS, LENGTH_SCALE, WIDTH = 50, 50, 0.2, 40
ROUNDS, UPDATES, LR = 20, 5, 1e-3
FRACTION, PERSONAL = 1.0, []  # share of the clients in a round; names of parameters that stay at their clients
DTYPE, BACKEND = torch.float32, "auto"


def make() -> Experiment:
    net = DeepONet((SENSORS, WIDTH, WIDTH), (1, WIDTH, WIDTH))
    return Experiment(
        "pendulum", net, loss=loss, rounds=ROUNDS, local=Local(UPDATES), lr=LR, fraction=FRACTION, init=glorot_normal,
        personal=PERSONAL,
    )  # fmt: skip


def points(client: int) -> dict[str, torch.Tensor]:
    """Triplets (input, time, angle), drawn from a stream of this client's own."""
    return pendulum_triplets(POINTS, SENSORS, LENGTH_SCALE, stream(0, "site data", client))
