"""Forward problems: exact solutions have no residual, constraints hold exactly, points and W1 as on the fact page."""

from copy import deepcopy

import numpy as np
import pytest
import torch

from fedlib.federated.experiment import data_of, train_arguments
from fedlib.federated.partitions import private
from fedlib.federated.stack import draw_parameters, load
from fedlib.models.jets import function_jet
from fedlib.models.networks import glorot_uniform
from fedlib.numerics import solutions
from fedlib.papers.fedsciml.forward import problem
from fedlib.papers.fedsciml.forward.study import STUDIES
from fedlib.streams import torch_stream

ALL = {
    "poisson": problem.poisson(),
    "helmholtz": problem.helmholtz(),
    "allen_cahn_2": problem.allen_cahn(2),
    "allen_cahn_3": problem.allen_cahn(3),
    "beam": problem.euler_beam(),
}
K0 = 4 * np.pi
BY_HAND = {  # the exact u, and the g and b of u = g + b N, from the paper's text
    "poisson": (
        lambda x: x[:, 0] + sum((i * x[:, 0]).sin() / i for i in (1, 2, 3, 4, 8)),
        lambda x: x[:, 0],
        lambda x: x[:, 0].tanh() * (torch.pi - x[:, 0]).tanh(),
    ),
    "helmholtz": (
        lambda x: (K0 * x[:, 0]).sin() * (K0 * x[:, 1]).sin(),
        lambda x: 0 * x[:, 0],
        lambda x: x[:, 0] * (1 - x[:, 0]) * x[:, 1] * (1 - x[:, 1]),
    ),
    "beam": (lambda x: (-(x**4) / 24 + x**3 / 6 - x**2 / 4)[:, 0], lambda x: 0 * x[:, 0], lambda x: x[:, 0] ** 2),
}
CHANNELS = {"poisson": ["xx"], "helmholtz": ["xx+yy"], "beam": ["xxxx"]}


def inner_batch(experiment, n=20):
    """Some points of the pool that keep away from the boundary, with weights, and the constants."""
    pool = data_of(experiment, 2).pool
    low, high = pool["x"].min(0).values, pool["x"].max(0).values
    inside = ((pool["x"] > low + 0.05 * (high - low)) & (pool["x"] < high - 0.05 * (high - low))).all(1)
    chosen = inside.nonzero()[:, 0][::7][:n]
    w = torch.full((len(chosen),), 1 / len(chosen), dtype=torch.float64)
    return {name: value[chosen] for name, value in pool.items()} | {"w": w} | dict(experiment.constants)


def random_net(experiment):
    net = deepcopy(experiment.net).double()
    return load(net, draw_parameters(net, glorot_uniform, torch_stream(3, "net")))


@pytest.mark.parametrize("name", BY_HAND)
def test_the_loss_vanishes_for_the_network_that_is_the_solution(name):
    """N = (u - g) / b: constraint, operator, source and the soft conditions together; and it is the tests' truth."""
    experiment, (u, g, b) = ALL[name], BY_HAND[name]

    def perfect(x, value_only=False):
        n = function_jet(lambda x: (u(x) - g(x)) / b(x), x, CHANNELS[name], experiment.coordinates)
        return {channel: value[:, None] for channel, value in n.items()}

    loss, batch = train_arguments(experiment)["loss"], inner_batch(experiment)
    assert loss(perfect, batch).item() < 1e-14
    test = data_of(experiment, 2).test
    torch.testing.assert_close(test["u"].double(), u(test["x"].double()), rtol=0, atol=3e-6)
    assert loss(random_net(experiment), batch).item() > 1e-2


BOUNDARY = {  # points and the values of u there, from the paper's text
    "poisson": ([[0.0], [np.pi]], [0, np.pi]),
    "helmholtz": ([[0, 0.25], [1, 0.75]], [0, 0]),  # of the shared points
    "allen_cahn_2": ([[-1, 0.5], [1, 1.0], [-1, 0.0], [1, 0.0]], [-1, -1, -1, -1]),
}


@pytest.mark.parametrize("name", BOUNDARY)
def test_any_network_meets_the_conditions_exactly(name):
    experiment, (places, expected) = ALL[name], BOUNDARY[name]
    pool, net = data_of(experiment, 2).pool, random_net(experiment)
    rows = [int((pool["x"] - torch.tensor(x, dtype=torch.float64)).abs().sum(1).argmin()) for x in places]
    u = experiment.answer(net, {channel: value[rows] for channel, value in pool.items()})
    torch.testing.assert_close(u, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-15)


def nested(u, x, axes):
    for a in axes:
        u = torch.autograd.grad(u.sum(), x, create_graph=True)[0][:, a]
    return u


def poisson_loss(u, x):
    f = sum(i * torch.sin(i * x[:, 0]) for i in (1, 2, 3, 4, 8))
    return (-nested(u, x, (0, 0)) - f).square().mean()


def helmholtz_loss(u, x):
    f = K0**2 * torch.sin(K0 * x[:, 0]) * torch.sin(K0 * x[:, 1])
    return (-nested(u, x, (0, 0)) - nested(u, x, (1, 1)) - K0**2 * u - f).square().mean()


def allen_cahn_loss(u, x):
    return (nested(u, x, (1,)) - 0.001 * nested(u, x, (0, 0)) + 5 * (u**3 - u)).square().mean()


def beam_loss(u, x):
    return (nested(u, x, (0,) * 4) + 1).square().mean()


ALLEN_CAHN = (None, lambda x: x[:, 0] ** 2 * (torch.pi * x[:, 0]).cos(), lambda x: x[:, 1] * (1 - x[:, 0] ** 2))


@pytest.mark.parametrize(
    ("name", "by_hand"),
    [("poisson", poisson_loss), ("helmholtz", helmholtz_loss), ("allen_cahn_2", allen_cahn_loss), ("beam", beam_loss)],
)
def test_loss_and_gradient_equal_nested_autograd(name, by_hand):
    experiment, net, (_, g, b) = ALL[name], random_net(ALL[name]), (BY_HAND | {"allen_cahn_2": ALLEN_CAHN})[name]
    batch = inner_batch(experiment)
    x = batch["x"].clone().requires_grad_()

    def u(x):
        return g(x) + b(x) * net(x, True)[:, 0]

    expected = by_hand(u(x), x)
    if name == "beam":  # u''(1) = u'''(1) = 0
        end = torch.ones(1, 1, dtype=torch.float64, requires_grad=True)
        expected = expected + (nested(u(end), end, (0,) * 2) ** 2 + nested(u(end), end, (0,) * 3) ** 2).sum()
    ours = train_arguments(experiment)["loss"](net, batch)
    torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-12)
    parameters = list(net.parameters())
    for a, b in zip(torch.autograd.grad(ours, parameters), torch.autograd.grad(expected, parameters), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_every_level_is_a_disjoint_cover_and_all_share_the_rest(name):
    clients = 3 if name == "allen_cahn_3" else 2
    odd = [3, 5] if name == "helmholtz" else []  # the last block of a board is split
    for level in [*STUDIES[name].levels, *odd]:
        data = data_of(ALL[name], level)
        own, N = private(data.owners), len(data.pool["x"])
        shared = np.intersect1d(data.owners[0], data.owners[1])
        assert len(np.unique(data.pool["x"][shared], axis=0)) == len(shared), "no point twice"
        assert len(own) == clients and np.ptp([len(shard) for shard in own]) <= (1 if level in odd else N)
        np.testing.assert_array_equal(np.sort(np.concatenate([*own, shared])), np.arange(N))


def test_two_clients_of_allen_cahn_share_the_sides_at_rising_times_and_the_initial_line():
    """400 points on x = -1 and 1 at the same 200 times of (0, 1], and 800 on t = 0: no point twice."""
    data = data_of(ALL["allen_cahn_2"], 2)
    shared = data.pool["x"][np.intersect1d(*data.owners)].numpy()
    at_start = shared[shared[:, 1] == 0]
    np.testing.assert_allclose(np.sort(at_start[:, 0]), np.linspace(-1, 1, 800), atol=1e-15)
    for x in (-1.0, 1.0):
        times = shared[(shared[:, 0] == x) & (shared[:, 1] > 0), 1]
        np.testing.assert_allclose(np.sort(times), np.arange(1, 201) / 200, atol=1e-15)
    assert len(shared) == len(np.unique(shared, axis=0)) == 1200


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: problem.helmholtz(boundary=6), "6 shared boundary points: expected a multiple of 4"),
        (lambda: data_of(ALL["helmholtz"], 25), "blocks per axis 25, seed 0: 25 blocks per axis: expected 2 to 24"),
        (lambda: solutions.allen_cahn_reference(torch.tensor([[0.005, 0.1]])), "stored for x = -1"),
    ],
)
def test_unusable_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("name", "level", "expected"),
    [
        ("poisson", 6, 0.4814),
        ("helmholtz", 2, 0.3337),
        ("allen_cahn_2", 20, 0.1013),
        ("allen_cahn_3", 9, 8 / 27),
    ],
)
def test_w1_of_the_fact_page(name, level, expected):
    assert ALL[name].distance(data_of(ALL[name], level)) == pytest.approx(expected, abs=6e-5)
