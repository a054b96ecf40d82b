"""The ways of a round of the 1D sweep do the same work, and the stack holds what notebook 04 trains."""

import numpy as np
import torch
from torch import nn

from fedlib.bench import sweep
from fedlib.bench.common import deepxde_rounds
from fedlib.federated.batches import Local
from fedlib.federated.reference import fedavg_adam
from fedlib.models.networks import glorot_uniform, mlp


def test_the_ways_compute_the_same_model():
    pair = sweep.sweep(levels=(1,), seeds=1)[1]
    plain = fedavg_adam(
        mlp(sweep.WIDTHS, nn.Tanh), sweep.squared_error, sweep.pool(), pair,
        rounds=2, local=Local(sweep.E), init=glorot_uniform,
    )  # fmt: skip
    torch.testing.assert_close(sweep.engine([pair], 2, False).model(0), plain, rtol=0, atol=1e-5)


def test_the_sweep_is_five_seeds_of_nineteen_levels_three_ways():
    feds = sweep.sweep()
    assert sum(len(fed.shards) for fed in feds) == 5 * (1 + 19 * (2 + 2))
    assert all(len(np.concatenate(fed.shards)) == sweep.N for fed in feds)


def test_the_authors_round_ends_with_the_mean_of_the_clients():
    class Client:
        """What a DeepXDE model offers: a net, and train, here one that adds 1 per iteration."""

        def __init__(self, weight):
            self.net = nn.Linear(1, 1, bias=False)
            nn.init.constant_(self.net.weight, weight)

        def train(self, iterations, **_):
            with torch.no_grad():
                self.net.weight += iterations

    clients = [Client(0.0), Client(10.0)]
    deepxde_rounds(clients, rounds=2, E=3)
    assert [c.net.weight.item() for c in clients] == [11.0, 11.0]
