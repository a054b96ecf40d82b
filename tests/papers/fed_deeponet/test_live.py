"""Notebooks 01 to 03 live: what the networks are told, and that the picture is of these networks."""

import numpy as np
import pytest
import torch

from fedlib.federated.mixing import ring
from fedlib.live import views
from fedlib.live.player import PACES, moments
from fedlib.papers.fed_deeponet import live as shared
from fedlib.papers.fed_deeponet.library import live as library
from fedlib.papers.fed_deeponet.pendulum import live as room


def shards(training):
    return [np.asarray(own) for own in training.federations["federated"].shards]


def test_what_a_client_of_the_library_owns_and_is_told():
    training = library.library(spread=0.5, clients=4)
    for own, k in zip(shards(training), training.more.owned, strict=True):
        told = training.pool["u"][own][:, -1]
        torch.testing.assert_close(told, torch.as_tensor(2 * (k - 1), dtype=torch.float32))
    edges = [k.min() for k in training.more.owned]
    assert edges[0] == 0.5 and (np.diff(edges) > 0.2).all()
    hidden = library.library(stiffness="hidden")
    assert (hidden.pool["u"][:, -1] == 0).all() and (hidden.more.u[:, -1] == 0).all()
    u = hidden.more.u[:, :-1]
    assert torch.equal(u[0], u[2]), "one torque, three pendulums"
    assert (hidden.more.x1[0] - hidden.more.x1[2]).abs().max() > 0.005


RING = dict(clients=10, fraction=0.4, K=2, lr=0.01, optimizer="SGD", mixing=ring)


@pytest.mark.parametrize(
    ("training", "together"), [(room.dealt(**RING), False), (library.library(K=2), True)], ids=["01 ring", "03"]
)
def test_the_picture_shows_the_clients_and_what_they_were_given(training, together):
    coming = moments(training.begin(), lambda: PACES[1])
    for moment in (next(coming), next(coming)):
        angles = views.view(views.page(2), shared.scene, training, moment, {}).axes[0]
        drawn = {line.get_label(): line.get_ydata() for line in angles.get_lines()}
        _, given = training.now(moment)
        torch.nn.utils.vector_to_parameters(given[0], training.net.parameters())
        expected = training.net(training.more.u[:1, None], shared.times(shared.SENSORS))[0]
        name = "federated" if moment.averaged else "where the round began"
        np.testing.assert_allclose(drawn[name], expected.detach(), atol=1e-5)
    errors = training.errors(moment)["federated"]
    assert (errors == errors[0]).all() == together


def test_a_share_of_the_clients_works_and_by_plain_gradient_steps_where_these_are_asked_for():
    _, walk = next(room.dealt(**RING).begin())
    moved = (walk[:10, -1] != walk[:10, 0]).any(1)
    assert moved.sum() == 4
    steps = {name: next(room.dealt(2, K=2, optimizer=name).begin())[1][0].diff(dim=0) for name in ("Adam", "SGD")}
    ends = {name: step[0].abs() for name, step in steps.items()}
    spread = {name: (end[end > 0].std() / end[end > 0].mean()).item() for name, end in ends.items()}
    assert spread["Adam"] < 0.1 < 1 < spread["SGD"], "Adam's first step is lr in every weight"
