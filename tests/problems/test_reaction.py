"""Diffusion and reaction: the exact pair has no loss, references agree with a second method, k is learnt."""

import numpy as np
import pytest
import torch
from numpy.polynomial import chebyshev as C

from fedlib.federated import reference
from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.stack import load, stack
from fedlib.federated.train import train
from fedlib.federated.work import knowing
from fedlib.models.jets import function_jet
from fedlib.models.networks import glorot_uniform
from fedlib.numerics import solutions
from fedlib.numerics.solvers import chebyshev
from fedlib.problems import reaction


def by_collocation(version, n=64):
    """A second method: Chebyshev collocation -> coefficients of u in z = 2 x - 1."""
    z, D = chebyshev(n)
    x = (1 + z) / 2
    A = solutions.DIFFUSION * 4 * D @ D - np.diag(solutions.reaction_rate(x, version))
    A[[0, -1]] = np.eye(n + 1)[[0, -1]]
    rhs = solutions.source(x)
    rhs[[0, -1]] = 0
    return C.chebfit(z, np.linalg.solve(A, rhs), n)


@pytest.mark.parametrize("version", ["paper", "code"])
def test_the_reference_agrees_with_a_second_method(version):
    x = np.linspace(0, 1, 101)
    u = solutions.steady_reaction(x, version)
    np.testing.assert_allclose(u, C.chebval(2 * x - 1, by_collocation(version)), atol=1e-9)
    np.testing.assert_allclose(u, -u[::-1], atol=1e-10)  # antisymmetric: u vanishes where k peaks
    assert np.abs(u).max() > 0.1


def test_the_two_versions_of_k_differ():
    assert solutions.reaction_rate(0.5) == pytest.approx(1.1)
    assert solutions.reaction_rate(0.0) == pytest.approx(0.1 + np.exp(-0.5 / 0.09))
    assert np.ptp(solutions.reaction_rate(np.linspace(0, 1, 11), "code")) < 0.11
    with pytest.raises(ValueError, match="'paper' or 'code'"):
        solutions.reaction_rate(0.5, "printed")


def test_the_exact_pair_has_no_loss():
    points = np.linspace(0.05, 0.95, 9)[:, None]
    coefficients = by_collocation("paper", 40)

    def u(x):
        angle = torch.arccos(2 * x[:, 0] - 1)
        return sum(c * torch.cos(i * angle) for i, c in enumerate(coefficients))

    def perfect(x, value_only=False, factor=1.0):
        jet = function_jet(lambda x: u(x) / reaction.vanishing(x), x, ("xx",), "x")
        k = factor * torch.as_tensor(solutions.reaction_rate(x[:, 0].numpy()))
        return (jet[""][:, None] if value_only else {n: v[:, None] for n, v in jet.items()}), k

    x = torch.as_tensor(points)
    batch = {"x": x, "u": u(x), "w": torch.full((9,), 1 / 9)}
    loss, batch = reaction.reaction_loss, batch | reaction.reaction_constants(points)
    assert loss(perfect, batch) < 1e-12
    assert loss(lambda *a: perfect(*a, factor=1.2), batch) > 1e-4
    assert loss(perfect, batch | {"u": batch["u"] + 0.1}) == pytest.approx(0.01)


def test_any_pair_of_networks_vanishes_at_the_ends_and_the_halves_are_separate():
    net = load(reaction.Pair(), stack(reaction.Pair(), [(1,)], glorot_uniform)[0])
    test = {k: v[0].float() for k, v in reaction.reaction_test(1).items()}
    found = reaction.reaction_errors(net, test)
    assert found["u"][[0, -1]].abs().max() == 0 and found["k"].abs().max() > 0
    names = [n for n, _ in net.named_parameters() if n.endswith("weight")]
    assert len([n for n in names if n.startswith("u.")]) == len([n for n in names if n.startswith("k.")]) == 4
    before = found["k"]
    for parameter in net.u.parameters():
        parameter.data.add_(0.1)
    assert (reaction.reaction_errors(net, test)["k"] == before).all()


def test_reaction_data_are_dealt_by_the_index_rule():
    pool, shards = reaction.reaction_data([2, 24])
    assert shards[2][0].tolist() == list(range(12)) and shards[24][1].tolist() == list(range(1, 24, 2))
    np.testing.assert_allclose(pool["u"], solutions.steady_reaction(np.linspace(0, 1, 24)))
    assert reaction.reaction_points().shape == (10, 1)


def test_the_reaction_stack_equals_the_plain_loop():
    pool, shards = reaction.reaction_data([4])
    net, known = reaction.Pair().double(), reaction.reaction_constants(reaction.reaction_points())
    loss = knowing(reaction.reaction_loss, known)
    fed = Federation(shards[4], lr=1e-3)
    plain = reference.fedavg_adam(net, loss, pool, fed, rounds=4, local=Local(5), init=glorot_uniform)
    fast = train(net, loss, pool, [fed], rounds=4, local=Local(5), init=glorot_uniform, dtype=torch.float64)
    torch.testing.assert_close(fast.model(0), plain, rtol=0, atol=1e-10)


def test_k_is_learnt_where_u_is_not_zero():
    """A short run from a good start: 24 observations and ten residual points determine k away from u = 0."""
    pool, _ = reaction.reaction_data([2])
    test = reaction.reaction_test(1)
    history = train(
        reaction.Pair(), reaction.reaction_loss, pool,
        [Federation([np.arange(24)], lr=3e-3)], rounds=1500, local=Local(1), init=glorot_uniform,
        constants=reaction.reaction_constants(reaction.reaction_points()),
        evaluate=reaction.reaction_errors, test=test, evaluate_every=1500,
    )  # fmt: skip
    assert history.metrics["error_u"][-1, 0] < 2
    assert history.metrics["error_k"][-1, 0] < 40
