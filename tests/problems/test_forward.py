"""Forward problems: exact solutions have no residual, constraints hold exactly, points and W1 as on the fact page."""

import numpy as np
import pytest
import torch

from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.mixing import isolated
from fedlib.federated.stack import draw_parameters, load
from fedlib.federated.train import train
from fedlib.models.jets import function_jet
from fedlib.models.networks import glorot_uniform
from fedlib.numerics import solutions
from fedlib.problems import forward, forward_study
from fedlib.streams import stream, torch_stream

CLOSED = {
    "Poisson": forward.poisson(),
    "Helmholtz": forward.helmholtz(),
    "Helmholtz, k0 = 2 pi": forward.helmholtz(k0=2 * np.pi, side=12, boundary=0),
    "Euler beam": forward.euler_beam(),
}
ALL = CLOSED | {f"Allen-Cahn {K}": forward.allen_cahn(K) for K in (2, 3)}


def inside(problem, n=20):
    """Random points that keep away from the boundary, where (u - g) / b is 0 / 0."""
    low, high = np.array(problem.domain, float).T
    return low + (0.05 + 0.9 * stream(0, "inside").uniform(size=(n, len(low)))) * (high - low)


def random_net(problem):
    net = problem.net().double()
    return load(net, draw_parameters(net, glorot_uniform, torch_stream(3, "net")))


def batch_of(problem, x):
    return (
        forward.fields(problem, x)
        | {"w": torch.full((len(x),), 1 / len(x), dtype=torch.float64)}
        | forward.constants(problem)
    )


@pytest.mark.parametrize("name", CLOSED)
def test_the_exact_solution_has_no_residual(name):
    problem = CLOSED[name]
    x = torch.as_tensor(inside(problem))
    u = function_jet(problem.solution, x, problem.derivatives, problem.coordinates)
    torch.testing.assert_close(problem.operator(u), problem.f(x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CLOSED)
def test_the_loss_vanishes_for_the_network_that_is_the_solution(name):
    """N = (u - g) / b: constraint, operator, source and the soft conditions together."""
    problem = CLOSED[name]

    def perfect(x, value_only=False):
        # at a free end b is 1, so the quotient is smooth there too
        n = function_jet(lambda x: (problem.solution(x) - problem.g(x)) / problem.b(x), x,
                         problem.derivatives, problem.coordinates)  # fmt: skip
        return {key: value[:, None] for key, value in n.items()}

    loss = forward.residual_loss(problem)
    assert loss(perfect, batch_of(problem, inside(problem))).item() < 1e-14
    assert loss(random_net(problem), batch_of(problem, inside(problem))).item() > 1e-2


BOUNDARY = {  # points and the values of u there, from the paper's text
    "Poisson": ([[0.0], [np.pi]], [0, np.pi]),
    "Helmholtz": ([[0, 0.3], [1, 0.7], [0.2, 0], [0.9, 1]], [0, 0, 0, 0]),
    "Allen-Cahn 2": ([[-1, 0.4], [1, 0.9], [0.5, 0], [0, 0], [1, 0]], [-1, -1, 0.25 * np.cos(np.pi / 2), 0, -1]),
    "Euler beam": ([[0.0]], [0]),
}


@pytest.mark.parametrize("name", BOUNDARY)
def test_any_network_meets_the_conditions_exactly(name):
    problem, (x, expected) = ALL[name], BOUNDARY[name]
    x = torch.tensor(x, dtype=torch.float64)
    u = forward.constrained(problem)(random_net(problem)(x), forward.fields(problem, x))
    torch.testing.assert_close(u[""], torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-15)
    if name == "Euler beam":
        assert u["x"].item() == 0


@pytest.mark.parametrize("name", ALL)
def test_the_constrained_jet_is_the_jet_of_g_plus_b_N(name):
    problem, net = ALL[name], random_net(ALL[name])
    x = torch.as_tensor(inside(problem))
    u = forward.constrained(problem)(net(x), forward.fields(problem, x))

    def whole(x):
        return problem.g(x) + problem.b(x) * net(x, forward.VALUE_ONLY)[:, 0]

    for key, value in function_jet(whole, x, problem.derivatives, problem.coordinates).items():
        torch.testing.assert_close(u[key], value, rtol=1e-9, atol=1e-9)


def nested(u, x, axes):
    for a in axes:
        u = torch.autograd.grad(u.sum(), x, create_graph=True)[0][:, a]
    return u


def helmholtz_loss(u, x, k0=4 * np.pi):
    f = k0**2 * torch.sin(k0 * x[:, 0]) * torch.sin(k0 * x[:, 1])
    return (-nested(u, x, (0, 0)) - nested(u, x, (1, 1)) - k0**2 * u - f).square().mean()


def allen_cahn_loss(u, x):
    return (nested(u, x, (1,)) - 0.001 * nested(u, x, (0, 0)) + 5 * (u**3 - u)).square().mean()


def beam_loss(u, x):
    return (nested(u, x, (0,) * 4) + 1).square().mean()


@pytest.mark.parametrize(
    ("name", "by_hand"),
    [("Helmholtz", helmholtz_loss), ("Allen-Cahn 2", allen_cahn_loss), ("Euler beam", beam_loss)],
)
def test_loss_and_gradient_equal_nested_autograd(name, by_hand):
    problem, net = ALL[name], random_net(ALL[name])
    x = torch.as_tensor(inside(problem)).requires_grad_()

    def u(x):
        return problem.g(x) + problem.b(x) * net(x, forward.VALUE_ONLY)[:, 0]

    expected = by_hand(u(x), x)
    if name == "Euler beam":  # u''(1) = u'''(1) = 0
        end = torch.ones(1, 1, dtype=torch.float64, requires_grad=True)
        expected = expected + (nested(u(end), end, (0,) * 2) ** 2 + nested(u(end), end, (0,) * 3) ** 2).sum()
    ours = forward.residual_loss(problem)(net, batch_of(problem, x.detach()))
    torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-12)
    parameters = list(net.parameters())
    for a, b in zip(torch.autograd.grad(ours, parameters), torch.autograd.grad(expected, parameters), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_every_level_is_a_disjoint_cover_inside_the_domain(name):
    problem = ALL[name]
    for level in problem.levels:
        x, own = problem.points(level)
        assert len(own) == problem.clients
        np.testing.assert_array_equal(np.sort(np.concatenate(own)), np.arange(len(x)))
        for axis, (low, high) in enumerate(problem.domain):
            assert low <= x[:, axis].min()
            assert x[:, axis].max() <= high


def test_point_counts_of_the_fact_page():
    sizes = {name: {n: len(p.points(n)[0]) for n in p.levels} for name, p in ALL.items()}
    assert sizes["Poisson"] == dict.fromkeys((2, 4, 6, 8, 10, 16, 32), 32)
    assert sizes["Helmholtz"] == dict.fromkeys((2, 4, 6, 12, 24), 576) | {10: 400}
    assert len(ALL["Helmholtz"].points(5)[0]) == 400
    assert sizes["Allen-Cahn 2"] == dict.fromkeys((2, 4, 6, 8, 10, 20, 32, 40), 8000)
    assert list(sizes["Allen-Cahn 3"]) == [3, 6, 9, 12, 15, 18, 30, 60]
    assert {min(sizes["Allen-Cahn 3"].values()), max(sizes["Allen-Cahn 3"].values())} == {7980, 7998}
    assert [len(ALL[n].shared) for n in ALL] == [0, 96, 0, 2, 1200, 0]
    assert [len(ALL[n].test) for n in ALL] == [100, 3600, 3600, 100, 201 * 101, 201 * 101]
    for s in (3, 5):  # odd boards: the last block is split, so the clients stay equal
        a, b = ALL["Helmholtz"].points(s)[1]
        assert abs(len(a) - len(b)) <= 1


def test_clients_with_and_without_the_shared_points():
    problem = ALL["Helmholtz"]
    for share, size in ((True, 288 + 96), (False, 288)):
        pool, private, shards = forward.layout(problem, (2, 4), share)
        assert [len(s) for own in shards.values() for s in own] == [size] * 4
        assert [len(s) for own in private.values() for s in own] == [288] * 4
        for level in (2, 4):
            x, own = problem.points(level)
            np.testing.assert_array_equal(pool["x"][private[level][1]], x[own[1]])
    a, b = shards[2]
    assert not set(a) & set(b)
    a, b = forward.layout(problem, (2,))[2][2]
    assert len(set(a) & set(b)) == 96
    assert len(set(a) | set(b)) == 672


def test_the_engine_trains_a_problem_and_measures_its_error():
    problem = forward.poisson()
    pool, _, shards = forward.layout(problem, (2,))
    feds = [Federation(shards[2]), Federation([np.concatenate(shards[2])], mixing=isolated)]
    history = train(
        problem.net(), forward.residual_loss(problem), pool, feds, rounds=30, local=Local(5), init=glorot_uniform,
        evaluate=forward_study.solution_error, test=forward_study.test_set(problem, 2), evaluate_every=15,
    )  # fmt: skip
    assert (history.losses[-1] < 0.9 * history.losses[0]).all()
    exact, u = problem.solution(torch.as_tensor(problem.test)).numpy(), forward.solve(problem, history.model(1))
    expected = 100 * np.linalg.norm(u - exact) / np.linalg.norm(exact)
    assert history.metrics["error"][-1, 2] == pytest.approx(expected, rel=1e-4)
    assert u[[0, -1]] == pytest.approx([0, np.pi], abs=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: forward.poisson().points(3), "3 subdomains cannot be dealt evenly to 2 clients"),
        (lambda: forward.allen_cahn(3).points(2), "use a multiple of 3"),
        (lambda: forward.helmholtz(boundary=6), "6 shared boundary points: expected a multiple of 4"),
        (lambda: forward.helmholtz().points(25), "25 blocks per axis: expected 2 to 24"),
        (lambda: solutions.allen_cahn_reference(torch.tensor([[0.005, 0.1]])), "stored for x = -1"),
    ],
)
def test_unusable_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_two_clients_of_allen_cahn_share_the_sides_at_rising_times_and_the_initial_line():
    """400 points on x = -1 and 1 at the same 200 times of (0, 1], and 800 on t = 0: no point twice."""
    shared = forward.allen_cahn(2).shared
    at_start = shared[shared[:, 1] == 0]
    np.testing.assert_allclose(np.sort(at_start[:, 0]), np.linspace(-1, 1, 800), atol=1e-15)
    for x in (-1.0, 1.0):
        times = shared[(shared[:, 0] == x) & (shared[:, 1] > 0), 1]
        np.testing.assert_allclose(np.sort(times), np.arange(1, 201) / 200, atol=1e-15)
    assert len(shared) == len(np.unique(shared, axis=0)) == 1200
