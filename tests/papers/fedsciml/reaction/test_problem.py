"""Diffusion and reaction: the exact pair has no loss, references agree with a second method."""

import numpy as np
import pytest
import torch
from numpy.polynomial import chebyshev as C

from fedlib.federated.experiment import data_of
from fedlib.federated.stack import load, stack
from fedlib.models.jets import function_jet
from fedlib.models.networks import glorot_uniform
from fedlib.numerics import solutions
from fedlib.numerics.solvers import chebyshev
from fedlib.papers.fedsciml.reaction import problem


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
        jet = function_jet(lambda x: u(x) / problem.vanishing(x), x, ("xx",), "x")
        k = factor * torch.as_tensor(solutions.reaction_rate(x[:, 0].numpy()))
        return (jet[""][:, None] if value_only else {n: v[:, None] for n, v in jet.items()}), k

    x = torch.as_tensor(points)
    batch = {"x": x, "u": u(x), "w": torch.full((9,), 1 / 9)} | problem.constants(points)
    assert problem.loss(perfect, batch) < 1e-12
    assert problem.loss(lambda *a: perfect(*a, factor=1.2), batch) > 1e-4
    off = 0.1 * (-1.0) ** torch.arange(9)
    assert problem.loss(perfect, batch | {"u": batch["u"] + off}) == pytest.approx(0.01)
    test = {name: value[5:-5] for name, value in problem.truth("paper").items()}
    errors = problem.evaluate(lambda *a: perfect(*a, factor=1.2), test)
    assert errors["error_u"] < 1e-4 and errors["error_k"] == pytest.approx(20)


def test_any_pair_of_networks_vanishes_at_the_ends_and_the_halves_are_separate():
    net = load(problem.Pair(), stack(problem.Pair(), [(1,)], glorot_uniform)[0])
    test = {name: value.float() for name, value in problem.truth("paper").items()}
    u, before = problem.answer(net, test).unbind(1)
    assert u[[0, -1]].abs().max() == 0 and before.abs().max() > 0
    names = [n for n, _ in net.named_parameters() if n.endswith("weight")]
    assert len([n for n in names if n.startswith("u.")]) == len([n for n in names if n.startswith("k.")]) == 4
    for parameter in net.u.parameters():
        parameter.data.add_(0.1)
    assert (problem.answer(net, test)[:, 1] == before).all()


def test_observations_are_dealt_by_the_index_rule_and_points_are_equispaced():
    coarse, fine = (data_of(problem.reaction(), level) for level in (2, 24))
    assert coarse.owners[0].tolist() == list(range(12)) and fine.owners[1].tolist() == list(range(1, 24, 2))
    np.testing.assert_allclose(coarse.pool["u"], solutions.steady_reaction(np.linspace(0, 1, 24)))
    np.testing.assert_allclose(problem.equation_points(8, True)[:, 0], np.arange(10) / 9)
    np.testing.assert_allclose(problem.equation_points(8, False)[:, 0], np.arange(1, 9) / 9)
    np.testing.assert_array_equal(problem.weak(np.array([0.0, 1, -5, 0.9, -1.1])), [True, False, False, True, False])
    assert problem.reaction().distance(coarse) > 10 * problem.reaction().distance(fine) > 0
