"""One message of each site gives the solution of all points in one place, whatever carries it."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from fedlib.federated import sums
from fedlib.federated.experiment import Data
from fedlib.machines.engines import ask_in_turn, flower, sites_of
from fedlib.machines.plan import load
from fedlib.machines.points import pool_of
from fedlib.machines.server import one_message
from fedlib.models.jets import JetNet
from fedlib.models.networks import mlp

PATH, THETA = Path(__file__).with_name("poisson.py"), torch.zeros(21, dtype=torch.float64)
RIDGE = 10.0


def centralised() -> torch.Tensor:
    plan = load(PATH)
    pool, _ = pool_of(plan, range(5))
    data = Data(pool, [np.arange(32)])
    return sums.one_round(plan.experiment, data, THETA, RIDGE).step


@pytest.mark.parametrize("root", [True, False], ids=["roots", "sums"])
def test_one_message_of_each_site_is_the_centralised_solution(root):
    asked, ask = [], ask_in_turn(sites_of(load(PATH), sums=True))

    def counted(questions):
        asked.append({name: question["do"] for name, question in questions.items()})
        return ask(questions)

    solution, sent, _ = one_message(load(PATH), counted, THETA, RIDGE, root)
    np.testing.assert_allclose(solution.step, centralised(), rtol=1e-7, atol=1e-9)
    names = ("site-1", "site-2", "site-3")
    assert asked == [dict.fromkeys(names, "hello"), dict.fromkeys(names, "sums")], "a roll call, and one round"
    rows = {"site-1": 13, "site-2": 12, "site-3": 7} if root else dict.fromkeys(names, 22)
    assert sent == {name: (21 * 8, rows[name] * 22 * 8) for name in names}


@pytest.mark.skipif(not importlib.util.find_spec("flwr"), reason="Flower is not here: pip install '.[flower]'")
def test_flower_carries_sums():
    sites = sites_of(load(PATH), sums=True)
    solution, *_ = one_message(load(PATH), flower([sites[f"site-{i}"] for i in (3, 1, 2)]), THETA, RIDGE)
    np.testing.assert_allclose(solution.step, centralised(), rtol=1e-7, atol=1e-9)


@pytest.mark.fault("clear error")
def test_a_site_that_fails_is_named():
    sites = sites_of(load(PATH), sums=True)
    site = sites["site-2"]
    site.plan = site.plan._replace(
        experiment=site.plan.experiment._replace(
            residuals=None, loss=lambda predict, batch: (batch["w"] * predict(batch["x"])[""][:, 0]).sum()
        )
    )
    with pytest.raises(RuntimeError, match=r"site-2 failed: .*has a loss, but no residuals"):
        one_message(load(PATH), ask_in_turn(sites), THETA)


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU])
def test_sums_of_a_network_that_is_not_linear_are_no_solution(activation):
    sites = sites_of(load(PATH), sums=True)
    for site in sites.values():
        net = JetNet(mlp((1, 4, 1), activation), "x", ["xx"]) if activation is nn.Tanh else None
        residuals = site.plan.experiment.residuals if net else lambda predict, batch: predict(batch["x"])
        net = net or mlp((1, 4, 1), activation)
        experiment = site.plan.experiment._replace(net=net, residuals=residuals)
        site.plan = site.plan._replace(experiment=experiment)
    theta = torch.zeros(sum(p.numel() for p in net.parameters()), dtype=torch.float64)
    with pytest.raises(RuntimeError, match=r"site-\d failed: .*are not linear in the parameters, .* without --sums"):
        one_message(load(PATH), ask_in_turn(sites), theta)
