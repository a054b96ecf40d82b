"""Paths of Fig. 3: the same steps as plain loops take, and projections that keep what matters."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import nn

from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation, centralised
from fedlib.federated.partitions import index_rule
from fedlib.federated.reference import fedavg_adam
from fedlib.federated.stack import draw_parameters, load
from fedlib.federated.train import train
from fedlib.models.networks import glorot_uniform, mlp
from fedlib.problems import function_paths, functions
from fedlib.streams import torch_stream

NET, E, ROUNDS, LR = mlp((1, 5, 1), nn.Tanh), 3, 4, 0.02
DOUBLE = deepcopy(NET).double()
POOL = functions.on_line(21)[0]
SHARDS = index_rule(21, 2, 1)
CUTS = {"three": index_rule(21, 3, 2), "halves": SHARDS}


def in_single(layer, generator):
    """The start that the engine draws: in float32."""
    drawn = deepcopy(layer).float()
    glorot_uniform(drawn, generator)
    layer.load_state_dict(drawn.state_dict())


@pytest.fixture(scope="module")
def paths():
    keep = range(1, ROUNDS + 1)
    return function_paths.paths(NET, POOL, CUTS, ROUNDS, E, 0, lr=LR, keep=keep, dtype=torch.float64)["halves"]


def steps_of(theta, own, optimizer_of):
    """E Adam steps of one client in a plain loop: [E, P]; optimizer_of: network -> its optimiser."""
    net = load(deepcopy(DOUBLE), theta)
    optimizer, walk = optimizer_of(net), []
    for _ in range(E):
        optimizer.zero_grad()
        (net(POOL["x"][own])[:, 0] - POOL["f"][own]).square().mean().backward()
        optimizer.step()
        walk.append(torch.cat([p.detach().ravel() for p in net.parameters()]).numpy())
    return np.stack(walk)


def test_the_first_round_is_that_of_a_plain_loop(paths):
    """Before any round Adam's moments are zero for everybody."""
    theta = draw_parameters(DOUBLE, in_single, torch_stream(0, "init"))
    np.testing.assert_array_equal(paths.server[0, 0], theta)
    for k, own in enumerate([*SHARDS, np.arange(21)]):
        walk = paths.clients[0, k] if k < 2 else paths.central[0]
        np.testing.assert_array_equal(walk[0], theta)
        expected = steps_of(theta, own, lambda net: torch.optim.Adam(net.parameters(), LR))
        np.testing.assert_allclose(walk[1:], expected, rtol=1e-9, atol=1e-12)


def test_the_ends_are_those_of_trainings(paths):
    server = fedavg_adam(
        DOUBLE, functions.loss, POOL, Federation(SHARDS, lr=LR), rounds=ROUNDS, local=Local(E), init=in_single
    )
    np.testing.assert_allclose(paths.server[-1, 1], server, rtol=1e-9)
    feds = {"all": centralised(SHARDS, lr=LR)}
    how = dict(rounds=ROUNDS, local=Local(E), init=glorot_uniform, dtype=torch.float64)
    whole = train(NET, functions.loss, POOL, feds, **how).model("all")
    np.testing.assert_allclose(paths.central[-1, -1], whole, rtol=1e-9)
    assert paths.apart()[-1] == pytest.approx((server - whole).norm().item())


def test_rounds_follow_each_other(paths):
    np.testing.assert_array_equal(paths.server[1:, 0], paths.server[:-1, 1])
    np.testing.assert_array_equal(paths.central[1:, 0], paths.central[:-1, -1])
    np.testing.assert_array_equal(paths.clients[:, :, 0], paths.server[:, :1].repeat(2, 1))
    weights = [len(own) / 21 for own in SHARDS]
    mean = np.einsum("k,rkp->rp", weights, paths.clients[:, :, -1])
    np.testing.assert_allclose(paths.server[:, 1], mean, rtol=1e-9)


def test_some_rounds_are_kept(paths):
    how = dict(lr=LR, keep=[2, 4], dtype=torch.float64)
    some = function_paths.paths(NET, POOL, {2: SHARDS}, ROUNDS, E, 0, **how)[2]
    np.testing.assert_allclose(some.server, paths.server[[1, 3]], rtol=1e-12)
    assert function_paths.spread_rounds(3000)[:3] == [1, 2, 3] and function_paths.spread_rounds(3000)[-1] == 3000
    assert function_paths.spread_rounds(1) == [1]


def test_blocks_of_the_engine_are_put_together():
    """Two blocks of two and one clients, E = 2; the third client works first."""
    first = [torch.tensor([[20.0], [0.0]]), torch.tensor([[21.0], [1.0]])]
    second = [torch.tensor([[10.0]]), torch.tensor([[11.0]])]
    found = function_paths.in_order([*first, *second], torch.tensor([2, 0, 1]), 2)
    assert found[..., 0].tolist() == [[0, 10, 20], [1, 11, 21]]


def test_a_plane_holds_what_lies_in_it():
    rng = np.random.default_rng(0)
    flat, axes = rng.standard_normal((9, 2)), np.linalg.qr(rng.standard_normal((6, 2)))[0].T
    middle, found, shares = function_paths.plane(flat @ axes + 3)
    np.testing.assert_allclose((flat @ axes + 3 - middle) @ found.T @ found + middle, flat @ axes + 3)
    assert shares.sum() == pytest.approx(1) and shares[0] >= shares[1]
    assert np.isfinite(function_paths.plane(np.ones((3, 4)))[2]).all(), "nothing moved"
