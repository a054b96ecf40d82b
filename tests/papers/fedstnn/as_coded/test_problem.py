"""The three ways of FedStNN: an optimiser as torch's, trainings as plain loops of the authors' kind, loop and stack."""

from copy import deepcopy

import numpy as np
import pytest
import torch

from fedlib import Local
from fedlib.federated import reference
from fedlib.federated.batches import participants
from fedlib.federated.federation import Federation
from fedlib.federated.stack import draw_parameters, load
from fedlib.federated.train import train
from fedlib.models.networks import fan_in_uniform
from fedlib.papers.fedstnn.as_coded import coded, problem
from fedlib.papers.fedstnn.as_coded.coded import Coded
from fedlib.streams import stream, torch_stream


def torchs_adam(net, lr):
    """torch.optim.Adam with weight decay on all but running statistics, which an SGD of rate MOMENTUM updates."""
    named = dict(net.named_parameters())
    statistic = [name for name in named if name.endswith(coded.STATISTICS)]
    own = torch.optim.Adam([p for k, p in named.items() if k not in statistic], lr, weight_decay=1e-8)
    update = torch.optim.SGD([named[k] for k in statistic], coded.MOMENTUM)
    return lambda: (own.step(), update.step())


@pytest.mark.parametrize("gradient", ["exact", "coded 2D"])
def test_as_coded_loop_and_stack_agree(gradient):
    """Frozen paths, batches with replacement that are larger than a client, 2 of 4 clients; float64."""
    rng = stream(0, "small")
    x = torch.as_tensor(rng.uniform(-1, 1, (20, 1)))
    pool = {"x": x, "y": torch.sin(3 * x[:, 0]) + 0.1 * torch.as_tensor(rng.normal(size=20))}
    fed = Federation(np.split(np.arange(20), 4), fraction=0.5, lr=1e-3, seed=3)
    net, local = Coded(1, 3, 5, gradient=gradient).double(), Local(4, "steps", 7, replacement=True, frozen=True)
    theta = draw_parameters(net, fan_in_uniform, torch_stream(3, "init"))
    for r in range(3):
        here = np.flatnonzero(participants(3, r, 4, 0.5))
        clients = [load(deepcopy(net), theta) for _ in here]
        for k, own in zip(here, clients, strict=True):
            step = torchs_adam(own, 1e-3)
            for batch in reference.client_batches(pool, fed, k, r, local, net.noise(1)):
                own.zero_grad()
                coded.coded_error(own, batch).backward()
                step()
        theta = reference.average(clients, fed.p[here])
    how = dict(noise=net.noise(1), optimizer=problem.decaying(1, 3, 5), reset_moments=True, init=fan_in_uniform)
    for backend in ("eager", "xla"):
        found = train(
            net, coded.coded_error, pool, [fed], rounds=3, local=local, dtype=torch.float64, backend=backend, **how
        )
        assert (found.model(0) - theta).abs().max() < 1e-10


def test_every_client_has_noise_of_its_own():
    """The same e at all noise levels; two clients who share a point see two values there."""
    data, e = problem.on_curve(20, 10), {}
    for sigma in (0.1, 0.4):
        pool, owners, *_ = data(sigma, 1)
        owned = np.concatenate(owners)
        x = pool["x"][owned, 0].numpy()
        e[sigma] = (pool["y"][owned].numpy() - np.sin(np.pi * (x + 1))) / sigma
    np.testing.assert_allclose(e[0.1], e[0.4], atol=1e-9)
    assert abs(e[0.1].std() - 1) < 4 / (2 * len(owned)) ** 0.5 and [*map(len, owners)] == [60] * 20
    shared = {}
    for place, noise in zip(np.round(x, 9), e[0.4], strict=True):
        shared.setdefault(place, set()).add(round(float(noise), 9))
    assert max(map(len, shared.values())) > 1
    (one,) = problem.on_curve(20, 0)(0.4, 1).owners
    assert len(one) == 110 and not {*one} & {*owned}


def test_how_models_are_judged():
    """A path against f: with a mean 0.3 too high and a spread of 0.4 its mean square is 0.25."""
    x = torch.zeros(9, 1)
    paths = 0.3 + 0.4 * torch.tensor([-1.0, 1.0]) / 2**0.5
    test = {"x_test": x, "f_test": x, "w_test": None, "sigma": torch.tensor(0.1)}
    assert problem.path_error(lambda *inputs: paths.expand(9, 2), test)["a path against f"] == pytest.approx(0.25)
    assert problem.coded("surface", 8, 2, 4).evaluate is problem.path_error
    assert problem.printed("curve", 20, 2, 4, choice=True).evaluate is problem.path_error
