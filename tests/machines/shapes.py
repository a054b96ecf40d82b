"""An experiment for the tests: five ragged clients on three sites; FEDLIB_CASE says which of the CASES it is.

With FEDLIB_ALONE each client has a site of its own; with FEDLIB_SLOW a local step takes so many seconds more.
"""

import os
import time

import numpy as np
import torch

from fedlib.federated import experiment
from fedlib.federated.batches import Local
from fedlib.federated.experiment import Experiment
from fedlib.federated.federation import Federation
from fedlib.federated.mixing import equal, ring
from fedlib.federated.optimizers import adam, sgd
from fedlib.federated.rules import averaged_moments, corrected, fedadam, fedprox, mime, scaffold
from fedlib.models.networks import mlp
from fedlib.streams import stream

SIZES = (5, 12, 9, 8, 7)  # of site-1 the later client has more: a stack has it first
SITES = [[k] for k in range(len(SIZES))] if os.environ.get("FEDLIB_ALONE") else ((0, 3), (1,), (2, 4))
DTYPE, BACKEND = torch.float64, "eager"
MINI_BATCHES, PASSES = Local(4, "steps", 4), Local(2, "epochs", 4)
CASES = {  # fields of the experiment; settings of its federation
    "ragged, full batch": ({}, {}),
    "equal shares, epochs": ({"decay": 0.9, "local": PASSES, "reset_moments": True}, {"mixing": equal}),
    "half of the clients": ({"fraction": 0.6, "local": MINI_BATCHES}, {}),
    "any share of them": ({"fraction": (0.2, 0.9)}, {"seed": 2}),
    "momentum kept": ({"fraction": 0.6, "optimizer": sgd(0.9)}, {"seed": 4}),
    "ring, own starts": ({"fraction": 0.6}, {"mixing": ring, "common_init": False}),
    "personal layer": ({"fraction": 0.6, "personal": ["0.weight", "0.bias"]}, {"common_init": False}),
    "fedprox": ({"lr": 0.1, "local": Local(4), "optimizer": fedprox(0.3)}, {}),
    "scaffold": ({"fraction": 0.6, "optimizer": scaffold()}, {}),
    "scaffold, personal layer": ({"fraction": 0.6, "optimizer": scaffold(), "personal": ["0.weight"]}, {}),
    "mime": ({"optimizer": mime()}, {}),
    "fresh correction": ({"optimizer": corrected(adam()), "reset_moments": True}, {"mixing": equal}),
    "averaged moments": ({"fraction": 0.6, "optimizer": averaged_moments(adam())}, {}),
    "server with Adam": ({"fraction": 0.6, "server": fedadam(0.03)}, {}),
}


def case() -> tuple[dict, dict]:
    return CASES[os.environ.get("FEDLIB_CASE", next(iter(CASES)))]


def make() -> Experiment:
    net = mlp((2, 7, 1), torch.nn.Tanh).double()
    return Experiment("shapes", net, loss=loss, rounds=4, local=Local(3), lr=0.02)._replace(**case()[0])


def federation(owners: list[np.ndarray]) -> Federation:
    return experiment.federation(make(), owners, **case()[1])


def loss(predict, batch):
    time.sleep(float(os.environ.get("FEDLIB_SLOW", 0)))
    return (batch["w"] * (predict(batch["x"])[:, 0] - batch["y"]) ** 2).sum()


def points(client: int) -> dict[str, torch.Tensor]:
    x = stream(5, "points", client).uniform(-1, 1, (SIZES[client], 2))
    return {"x": torch.as_tensor(x), "y": torch.as_tensor(np.sin(3 * x[:, 0]) + x[:, 1] ** 2)}
