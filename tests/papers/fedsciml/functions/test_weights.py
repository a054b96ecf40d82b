"""Theorem 3.1 and Fig. 3, against plain loops."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import nn

from fedlib.federated.batches import Local
from fedlib.federated.experiment import data_of, train_arguments
from fedlib.federated.federation import Federation, centralised
from fedlib.federated.stack import draw_parameters, load
from fedlib.federated.train import train
from fedlib.models.networks import glorot_uniform, mlp
from fedlib.papers.fed_deeponet.algorithms import algorithm_1
from fedlib.papers.fedsciml.algorithms import fedavg_adam
from fedlib.papers.fedsciml.functions import problem, weights
from fedlib.streams import torch_stream

LINE = problem.gramacy_lee(n=20)
POOL, LOSS = LINE.data(2, 0).pool, train_arguments(LINE)["loss"]
CUTS = {n: data_of(LINE, n).owners for n in (2, 10)}


def in_single(layer, generator):
    """The start that ``train`` draws: in float32."""
    drawn = deepcopy(layer).float()
    glorot_uniform(drawn, generator)
    layer.load_state_dict(drawn.state_dict())


def test_distances_are_those_of_plain_loops():
    E, rounds, lr, net = 3, 2, 0.02, mlp((1, 20, 20, 1), nn.Tanh).double()
    (_, apart), bound = weights.apart(LINE, [2, 10], E, rounds, lr).values()

    def end(fed):
        return algorithm_1(net, LOSS, POOL, fed, rounds=rounds, local=Local(E), init=in_single)

    central = end(centralised([np.arange(20)], lr=lr))
    expected = [(end(Federation(shards, lr=lr)) - central).norm().item() for shards in CUTS.values()]
    np.testing.assert_allclose(apart, expected, rtol=1e-8)
    assert max(apart) < bound
    _, one_step = weights.apart(LINE, [2, 10], 1, 3, 0.01)["distance"]
    assert max(one_step) < 1e-12, "one step a round is centralised descent"
    load(net, draw_parameters(net, in_single, torch_stream(0, "init")))
    norms = []
    for own in CUTS[2]:  # the first gradients of the two halves
        net.zero_grad()
        (net(POOL["x"][own])[:, 0] - POOL["f"][own]).square().mean().backward()
        norms.append(torch.cat([p.grad.ravel() for p in net.parameters()]).norm().item())
    assert bound >= 2 * lr * max(norms) * E * rounds * (1 - 1e-9)


def test_walks_end_where_trainings_end():
    E, rounds, lr = 3, 4, 0.02
    of = weights.walks(problem.gramacy_lee, 20, 5, [2, 10], rounds, E, lr)
    net = problem.gramacy_lee(n=20, width=5).net
    central = train(
        net, LOSS, POOL, {"all": centralised([np.arange(20)], lr=lr)}, rounds=rounds, local=Local(E),
        init=glorot_uniform, backend="eager",
    ).model("all")  # fmt: skip
    for n, shards in CUTS.items():
        server = fedavg_adam(
            deepcopy(net).double(), LOSS, POOL, Federation(shards, lr=lr), rounds=rounds, local=Local(E), init=in_single
        )
        expected = (server - central).norm().item()
        assert of.distance.sel(level=n, round=rounds).item() == pytest.approx(expected, rel=1e-3)
    assert of["round"].values.tolist() == [1, 2, 3, 4]
