"""An experiment for the tests: five ragged clients on three sites; FEDLIB_CASE says which of the CASES it is.

With FEDLIB_ALONE each client has a site of its own; with FEDLIB_SLOW a local step takes so many seconds more.
"""

import os
import time
from functools import partial

import numpy as np
import torch

from fedlib.engines.experiment import Experiment
from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.mixing import equal, ring
from fedlib.federated.optimizers import adam, sgd
from fedlib.federated.rules import averaged_moments, corrected, fedadam, fedprox, mime, scaffold
from fedlib.models.networks import mlp
from fedlib.streams import stream

SIZES = (5, 12, 9, 8, 7)  # of site-1 the later client has more: a stack has it first
SITES = ((0, 3), (1,), (2, 4))
DOUBLE = {"dtype": torch.float64, "backend": "eager"}
CASES = {
    "ragged, full batch": ({}, Local(3), {}),
    "equal shares, epochs": ({"mixing": equal, "decay": 0.9}, Local(2, "epochs", 4), {"reset_moments": True}),
    "half of the clients": ({"fraction": 0.6}, Local(4, "steps", 4), {}),
    "any share of them": ({"fraction": (0.2, 0.9), "seed": 2}, Local(3), {}),
    "momentum kept": ({"fraction": 0.6, "seed": 4}, Local(3), {"optimizer": sgd(0.9)}),
    "ring, own starts": ({"mixing": ring, "fraction": 0.6, "common_init": False}, Local(3), {}),
    "personal layer": ({"fraction": 0.6, "common_init": False}, Local(3), {"personal": ["0.weight", "0.bias"]}),
    "fedprox": ({"lr": 0.1}, Local(4), {"optimizer": fedprox(0.3)}),
    "scaffold": ({"fraction": 0.6}, Local(3), {"optimizer": scaffold()}),
    "scaffold, personal layer": ({"fraction": 0.6}, Local(3), {"optimizer": scaffold(), "personal": ["0.weight"]}),
    "mime": ({}, Local(3), {"optimizer": mime()}),
    "fresh correction": ({"mixing": equal}, Local(3), {"optimizer": corrected(adam()), "reset_moments": True}),
    "averaged moments": ({"fraction": 0.6}, Local(3), {"optimizer": averaged_moments(adam())}),
    "server with Adam": ({"server": fedadam(0.03), "fraction": 0.6}, Local(3), {}),
}


def make() -> Experiment:
    fed, local, how = CASES[os.environ.get("FEDLIB_CASE", next(iter(CASES)))]
    sites = [[k] for k in range(len(SIZES))] if os.environ.get("FEDLIB_ALONE") else SITES
    return Experiment(
        mlp((2, 7, 1), torch.nn.Tanh).double(), loss, partial(Federation, **({"lr": 0.02} | fed)), 4, local, sites,
        DOUBLE | how,
    )  # fmt: skip


def loss(predict, batch):
    time.sleep(float(os.environ.get("FEDLIB_SLOW", 0)))
    return (batch["w"] * (predict(batch["x"])[:, 0] - batch["y"]) ** 2).sum()


def points(client: int) -> dict[str, torch.Tensor]:
    x = stream(5, "points", client).uniform(-1, 1, (SIZES[client], 2))
    return {"x": torch.as_tensor(x), "y": torch.as_tensor(np.sin(3 * x[:, 0]) + x[:, 1] ** 2)}
