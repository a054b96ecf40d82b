"""A problem unlike any in the rooms, in one file: two coupled fields with soft boundary conditions."""

import torch
from torch import nn

from fedlib.federated.batches import Local
from fedlib.federated.experiment import Data, Experiment
from fedlib.federated.partitions import index_rule, per_client
from fedlib.models.jets import VALUE_ONLY, JetNet
from fedlib.models.networks import glorot_uniform, mlp

N, SITES, LEVEL = 30, ([0], [1]), 6


def oscillator() -> Experiment:
    """u' = v, v' = -u on [0, 3], u(0) = 0, v(0) = 1: u = sin, v = cos; the network knows its start only softly."""
    x = torch.linspace(0, 3, N, dtype=torch.float64)[:, None]
    pool, solved = {"x": x}, {"x": x, "u": torch.cat([x.sin(), x.cos()], 1)}
    test, validation = ({name: value[i::2] for name, value in solved.items()} for i in (1, 0))

    def residuals(predict, batch):
        both, start = predict(batch["x"]), predict(batch["start"])[""] - torch.tensor([0.0, 1.0])
        (u, v), (u_x, v_x) = both[""].T, both["x"].T
        return torch.stack([u_x - v, v_x + u, *start.expand(len(u), 2).T], 1)

    return Experiment(
        "oscillator", JetNet(mlp((1, 16, 16, 2), nn.Tanh), "x", ["x"]), residuals,
        data=lambda level, seed: Data(pool, index_rule(N, 2, per_client(level, 2)), test, validation),
        answer=lambda predict, at: predict(at["x"], VALUE_ONLY),
        evaluate=lambda predict, at: {"error": 100 * (predict(at["x"], VALUE_ONLY) - at["u"]).norm() / at["u"].norm()},
        rounds=200, local=Local(5), lr=1e-2, init=glorot_uniform, constants={"start": torch.zeros(1, 1)},
    )  # fmt: skip


make = oscillator


def points(client: int) -> dict[str, torch.Tensor]:
    data = oscillator().data(LEVEL, 0)
    return {name: value[data.owners[client]] for name, value in data.pool.items()}
