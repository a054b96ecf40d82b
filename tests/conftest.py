import os

import numpy as np
import pytest
import torch

from fedlib.networks import mlp
from fedlib.results import ROOT
from fedlib.streams import stream

if (ROOT.parent / "shared/data").is_dir():  # data sets beside the repository, as the Makefile names them
    os.environ.setdefault("FEDLIB_DATA", str(ROOT.parent / "shared/data"))


@pytest.fixture
def problem():
    """A small ragged regression problem in float64: net, loss, pool, shards of 5, 12 and 9 points."""
    rng = stream(7, "test problem")
    x = rng.uniform(-1, 1, (26, 2))
    pool = {"x": torch.as_tensor(x), "y": torch.as_tensor(np.sin(3 * x[:, 0]) + x[:, 1] ** 2)}
    shards = [np.arange(0, 5), np.arange(5, 17), np.arange(17, 26)]
    return mlp((2, 7, 1), torch.nn.Tanh).double(), squared_error, pool, shards


def squared_error(predict, batch):
    return (batch["w"] * (predict(batch["x"])[:, 0] - batch["y"]) ** 2).sum()
