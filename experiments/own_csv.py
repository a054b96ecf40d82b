"""Your own tables: a regression of the last column on the others, from a CSV file per client, kept where it is.

Every client has FEDLIB_CSV/client-K.csv with a line of column names; on each machine this folder holds the files of
its own clients only. Change the names below, and the network, to yours.
"""

import os
from pathlib import Path

import torch

from fedlib.federated.batches import Local
from fedlib.federated.experiment import Experiment
from fedlib.machines.tables import table
from fedlib.models.networks import mlp

COLUMNS = ("x1", "x2", "y")
SITES = [0], [1], [2]  # the clients of each


def make() -> Experiment:
    net = mlp((len(COLUMNS) - 1, 16, 1), torch.nn.Tanh)
    return Experiment("own tables", net, loss=loss, rounds=20, local=Local(5), lr=1e-2)


def loss(predict, batch):
    return (batch["w"] * (predict(batch["x"])[:, 0] - batch["y"]) ** 2).sum()


def points(client: int) -> dict[str, torch.Tensor]:
    values = torch.as_tensor(table(Path(os.environ["FEDLIB_CSV"]) / f"client-{client}.csv", COLUMNS))
    return {"x": values[:, :-1], "y": values[:, -1]}
