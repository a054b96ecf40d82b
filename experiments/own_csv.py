"""Your own tables: a regression of some columns on the others, from a CSV file per client, kept where it is.

Every client has FEDLIB_CSV/client-K.csv with a line of column names; on each machine this folder holds the files of
its own clients only. Change the names below, and the network, to yours. All is trained on a scale that the sites agree
on by sums: (value - mean) / st.dev. of each column. Every fifth row is held back for the errors.
"""

import torch

from fedlib.federated.batches import Local
from fedlib.federated.experiment import Data, Experiment
from fedlib.machines.experiment import in_one_place
from fedlib.machines.tables import file_of, tensors
from fedlib.models.networks import mlp

COLUMNS = {"x": {"x1": "", "x2": ""}, "y": {"y": ""}}  # what the network takes, and what it gives: column, its unit
SITES = [0], [1], [2]  # the clients of each


def make() -> Experiment:
    net = mlp((len(COLUMNS["x"]), 16, len(COLUMNS["y"])), torch.nn.Tanh)
    return Experiment("own tables", net, residuals, data=data, evaluate=evaluate, rounds=20, local=Local(5), lr=1e-2)


def residuals(predict, batch):
    return predict(batch["x"]) - batch["y"]


def evaluate(predict, test):
    """1: as far off as the mean of all is."""
    return {"error": residuals(predict, test).square().mean().sqrt()}


def points(client: int) -> dict[str, torch.Tensor]:
    return {name: v[torch.arange(len(v)) % 5 != 4] for name, v in tensors(file_of(client), COLUMNS).items()}


def test(client: int) -> dict[str, torch.Tensor]:
    return {name: v[4::5] for name, v in tensors(file_of(client), COLUMNS).items()}


def data(level: str, seed: int) -> Data:
    """For a sweep, where all tables may lie in one place; level: "as measured", or "mixed" at random."""
    return in_one_place(points, test, SITES, COLUMNS, mixed=level == "mixed", seed=seed)
