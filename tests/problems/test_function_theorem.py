"""Theorem 3.1, measured: against plain loops of gradient descent."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import nn

from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation, centralised
from fedlib.federated.optimizers import sgd
from fedlib.federated.partitions import index_rule
from fedlib.federated.reference import algorithm_1
from fedlib.federated.stack import draw_parameters, load
from fedlib.models.networks import glorot_uniform, mlp
from fedlib.problems import function_theorem, functions
from fedlib.streams import torch_stream

POOL = functions.on_line(20)[0]
CUTS = {p: index_rule(20, 2, p) for p in (1, 5)}


def in_single(layer, generator):
    """The start that ``train`` draws: in float32."""
    drawn = deepcopy(layer).float()
    glorot_uniform(drawn, generator)
    layer.load_state_dict(drawn.state_dict())


def test_distances_are_those_of_plain_loops():
    E, rounds, lr, net = 3, 2, 0.02, mlp((1, 20, 20, 1), nn.Tanh).double()
    *apart, bound = function_theorem.distances(POOL, CUTS, E, rounds, lr)

    def end(fed):
        return algorithm_1(net, functions.loss, POOL, fed, rounds=rounds, local=Local(E), init=in_single)

    central = end(centralised([np.arange(20)], lr=lr))
    expected = [(end(Federation(shards, lr=lr)) - central).norm().item() for shards in CUTS.values()]
    np.testing.assert_allclose(apart, expected, rtol=1e-8)
    assert max(apart) < bound
    load(net, draw_parameters(net, in_single, torch_stream(0, "init")))
    norms = []
    for own in CUTS[1]:  # the first gradients of the two halves
        net.zero_grad()
        (net(POOL["x"][own])[:, 0] - POOL["f"][own]).square().mean().backward()
        norms.append(torch.cat([p.grad.ravel() for p in net.parameters()]).norm().item())
    assert bound >= 2 * lr * max(norms) * E * rounds * (1 - 1e-9)


def test_one_step_a_round_is_centralised_descent():
    *apart, _ = function_theorem.distances(POOL, CUTS, 1, 3)
    assert max(apart) < 1e-12


def test_the_bound_grows_with_steps_and_rounds():
    """2 eta M E l: M hardly changes on so short a way."""
    bounds = {(E, l): function_theorem.distances(POOL, CUTS, E, l, lr=1e-6)[-1] for E, l in ((1, 1), (3, 1), (1, 4))}
    assert bounds[3, 1] == pytest.approx(3 * bounds[1, 1], rel=1e-3)
    assert bounds[1, 4] == pytest.approx(4 * bounds[1, 1], rel=1e-3)


def test_a_recorder_changes_nothing():
    theta, gradient, norms = torch.ones(2, 3), torch.tensor([[3.0, 4.0, 0.0], [0.0, 0.0, 1.0]]), []
    other = theta.clone()
    function_theorem.recording(sgd(), norms).apply(theta, gradient, None, 0.1)
    sgd().apply(other, gradient, None, 0.1)
    assert norms == [5.0] and torch.equal(theta, other)


def test_every_pair_of_steps_and_rounds_is_a_training():
    found = function_theorem.measure(POOL, CUTS, [1, 3], [1, 2, 4])
    assert found.shape == (2, 3, len(CUTS) + 1)
    np.testing.assert_array_equal(found[1, 2], function_theorem.distances(POOL, CUTS, 3, 4))
