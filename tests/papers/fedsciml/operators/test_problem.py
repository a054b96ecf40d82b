"""Operator learning: the loss, the grids of the pairs, and who knows what."""

import numpy as np
import pytest
import torch

from fedlib.numerics import solutions
from fedlib.numerics.spaces import chebyshev_draws, chebyshev_series
from fedlib.papers.fedsciml.operators import problem as operators
from fedlib.streams import stream

from ....conftest import pairwise


def draws(n, count=6, kind="forward"):
    return chebyshev_draws(kind, n, count, stream(0, "test operator learning", n))


def test_the_loss_is_the_mean_over_functions_and_points(deeponet):
    problem = operators.learn_antiderivative()
    batch = {name: value.double() for name, value in problem.pairs(draws(10)).items()}
    weights = torch.tensor([1, 1, 1, 1, 0, 0]).double() / 4  # four functions, two of padding
    deeponet.requires_grad_(False)
    batch |= {name: value.double() for name, value in problem.constants().items()}
    loss = operators.operator_loss(deeponet, batch | {"w": weights})
    total = 0.0
    for i in range(4):
        for j in range(100):
            guess = pairwise(deeponet, batch["u"][i : i + 1], torch.as_tensor(problem.points[j : j + 1]))
            total += float((guess - batch["s"][i, j]) ** 2)
    assert float(loss) == pytest.approx(total / 400, rel=1e-6)
    e = operators.operator_error(deeponet, batch)["e"]
    gap = pairwise(deeponet, batch["u"], torch.as_tensor(problem.points)) - batch["s"]
    assert float(e) == pytest.approx(100 * float(gap.norm() / batch["s"].norm()), rel=1e-6)


@pytest.mark.parametrize("learn", [operators.learn_burgers, operators.learn_diffusion_reaction])
def test_a_coarse_grid_is_a_part_of_the_whole_and_its_weights_keep_the_mean(learn):
    places, times = list(range(0, 101, 5)), [0, 1, 2, 3, 4, 6, 9, 13, 19, 28, 40, 55, 75, 100]
    part, whole = learn(places, times), learn()
    c = draws(5)
    u = whole.pairs(c)["s"].reshape(6, 101, 101)
    s = part.pairs(c)["s"]
    torch.testing.assert_close(s, u[:, places][:, :, times].reshape(6, -1), rtol=0, atol=1e-6)
    at = part.points.reshape(21, 14, 2)
    np.testing.assert_allclose(at[3, 5], [0.15, 0.06])  # x slow, t fast
    np.testing.assert_allclose(whole.q, 1 / 101**2)
    assert part.q.sum() == pytest.approx(1)
    full, coarse = ((torch.as_tensor(q).float() * v**2).sum() for q, v in ((whole.q, u.flatten(1)), (part.q, s)))
    assert float(coarse) == pytest.approx(float(full), rel=0.03)
    if learn == operators.learn_burgers:  # starts from v on [0, 1) and closes with v(0)
        torch.testing.assert_close(u[:, [*range(100), 0], 0], u[..., 0], rtol=0, atol=0)
        torch.testing.assert_close(u[:, :-1, 0], whole.pairs(c)["u"][:, :-1])


def test_a_grid_without_its_ends_is_refused():
    for lines in ([0, 50], [0, 50, 50, 100], [1, 100]):
        with pytest.raises(ValueError, match="rising whole numbers from 0 to 100"):
            operators.tensor_grid(lines, [0, 100])


def test_each_client_owns_its_own_terms_and_all_are_tested_on_all():
    experiment = operators.federated_operator("burgers_3", 4, 3, (0, 100), (0, 100))
    data = experiment.data(2, 1)
    x = np.linspace(0, 1, 101)
    drawn = [operators.draws(kind, 2, 4, 1) for kind in operators.SUPPORTS]
    for c, first, owner in zip(drawn, (0, 4, 8), data.owners, strict=True):
        np.testing.assert_allclose(data.pool["u"][owner], chebyshev_series(c, x), atol=1e-6)
        assert [*np.flatnonzero(c.any(0))] == [first, first + 1], "the terms that it knows"
    assert len({c[c != 0].tobytes() for c in drawn}) == 3, "streams of their own"
    assert operators.known_terms()[1] == [0, 0, 0, 0, 0, 2, 4, 6, 8, 10], "that two clients know"
    np.testing.assert_allclose(
        data.test["u"], chebyshev_series(operators.draws("forward", 10, 3, 1, "test"), x), atol=1e-6
    )
    assert data.pool["s"].shape == (12, 4) and data.test["s"].shape == (3, 101**2)
    assert experiment.data(6, 1).test is data.test, "solved once"


def test_the_error_is_that_of_the_whole_grid_and_of_the_loss_where_they_are_one():
    for name, shown in (("burgers_2", True), ("antiderivative", False)):
        experiment = operators.federated_operator(name, 2, 3, (0, 50, 100), (0, 100))
        test = {key: values.double() for key, values in experiment.data(5, 0).test.items()}
        assert ({*operators.GRID} <= {*test}) == shown
        whole = operators.learn(name)
        predict = lambda u, y: u[:, :1] * y[:, 0]  # noqa: E731
        got = experiment.evaluate(predict, {**test, **experiment.constants})["error"]
        guess, s = predict(test["u"], torch.as_tensor(whole.points)), test["s"]
        assert float(got) == pytest.approx(100 * float((guess - s).norm() / s.norm()), rel=1e-4)


def test_the_staircase_is_the_left_riemann_sum():
    c = operators.draws("forward", 10, 5, 0)
    x = np.linspace(0, 1, 100)
    left = np.cumsum(chebyshev_series(c, x), 1)[:, :-1] / 99
    exact = solutions.antiderivative(c, x)
    gap = np.concatenate([np.zeros((5, 1)), left], 1) - exact
    want = 100 * np.linalg.norm(gap) / np.linalg.norm(exact)
    assert operators.staircase_error(c) == pytest.approx(want, rel=0.05)


def test_viscosity_leaves_at_most_what_it_leaves_of_the_longest_wave():
    """Small inputs obey the heat equation: wave m decays by exp(-nu (2 pi m)^2), m >= 1."""
    c = 1e-3 * operators.draws("forward", 10, 5, 0)
    left = [operators.fading(c, nu) for nu in (0.1, 0.15)]
    bounds = [100 * np.exp(-nu * 4 * np.pi**2) for nu in (0.1, 0.15)]
    assert all(0.01 * bound < e < 1.001 * bound for e, bound in zip(left, bounds, strict=True))
    assert left[1] / left[0] == pytest.approx(np.exp(-0.05 * 4 * np.pi**2), rel=0.02), "only the longest wave is left"
