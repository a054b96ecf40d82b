"""Letters and operators by sums: what is learnt is what it should be, of problems whose solution is known."""

import numpy as np
import torch

from fedlib.federated import sums
from fedlib.papers.beyond.one_round import letters, operators
from fedlib.papers.fedsciml.operators.problem import ALL
from fedlib.papers.fedstnn.letters import problem as theirs
from fedlib.streams import stream


def test_a_map_is_the_least_squares_one_whoever_owns_what():
    rng = stream(0, "map")
    A, W = rng.standard_normal((60, 7)), rng.standard_normal((7, 5))
    S = A @ W + 0.1 * rng.standard_normal((60, 5))
    clients = [slice(0, 3), slice(3, 40), slice(40, 60)]
    messages = [operators.map_sums(torch.as_tensor(A[k]), torch.as_tensor(S[k])) for k in clients]
    learnt, gcv = operators.map_solved(messages)
    np.testing.assert_allclose(learnt, np.linalg.lstsq(A, S, rcond=None)[0], atol=0.01)
    assert 0.7 < gcv / 0.1**2 < 1.5, "the noise"
    alone, other = operators.map_solved([operators.map_sums(torch.as_tensor(A), torch.as_tensor(S))])
    np.testing.assert_allclose(learnt, alone, atol=1e-10)
    assert abs(gcv / other - 1) < 1e-9


def test_a_lag_kernel_is_the_one_that_made_the_data():
    rng = stream(0, "lags")
    v, k, start = rng.standard_normal((40, 12)), rng.standard_normal(12), 0.7
    u = np.array([np.convolve(row, k)[:12] + start * row[0] for row in v])
    message = operators.lag_sums(*map(torch.as_tensor, (v, u)))
    np.testing.assert_allclose(sums.solve(message).step, [*k, start], atol=1e-8)


def test_quadratic_features_are_products_of_the_coefficients():
    c = stream(0, "coefficients").uniform(-1, 1, (3, 10))
    v = operators.chebyshev_series(c, np.linspace(0, 1, 101))
    products = operators.quadratic(torch.as_tensor(v))
    assert products.shape == (3, 66)
    np.testing.assert_allclose(products[:, :11], np.c_[np.ones(3), c], atol=1e-10)
    np.testing.assert_allclose(products[:, 11:13], c[:, :1] * c[:, :2], atol=1e-10)


def marched(u, v, periodic):
    """Explicit steps that a learnt one can be: heat with a source and u^2 between zero ends, or on a circle."""
    fields = [u]
    for _ in ALL[1:]:
        left, right = (np.roll(u, shift, 1) for shift in (1, -1))
        u = u + 0.2 * (left - 2 * u + right) + 0.01 * u**2 + (0 if periodic else 0.01 * v)
        if not periodic:
            u[:, [0, -1]] = 0
        fields.append(u)
    u = np.stack(fields, -1)
    return (np.concatenate([u, u[:, :1]], 1) if periodic else u).reshape(len(u), -1)


def test_a_learnt_step_is_the_scheme_that_made_the_data():
    rng = stream(0, "step")
    for periodic in (True, False):
        v = rng.uniform(-1, 1, (10, 101))
        start = v[:, :-1] if periodic else np.zeros((10, 101))
        fields = torch.as_tensor(v), torch.as_tensor(marched(start, v, periodic))
        step = operators.Step(2, 2, periodic)
        solution = step.solved(step.message(*fields))
        expected = [0, 0.2, -0.4, 0.2, 0, 0, 0, 0.01, 0, 0] + ([] if periodic else [0, 0, 0.01, 0, 0])
        np.testing.assert_allclose(solution.step, expected, atol=1e-6)
        np.testing.assert_allclose(step.rolled_out(solution.step, *fields), fields[1], atol=1e-5)


def test_neighbours_beyond_the_ends_are_those_of_an_odd_or_of_a_periodic_field():
    """Sines go on as they are: neighbours of every place are the same sine, shifted."""
    l = np.arange(-4, 5)
    for periodic, waves in ((True, 2), (False, 3)):
        x = np.arange(100 if periodic else 101)
        sine = lambda x, waves=waves: np.sin(np.pi * waves * x / 100)  # noqa: E731
        near = operators.Step(4, 1, periodic).around(torch.as_tensor(sine(x))[None])
        np.testing.assert_allclose(near[0], sine(x[:, None] + l), atol=1e-12)


def test_no_small_wave_grows():
    """Fields that double in every step."""
    v = torch.as_tensor(stream(0, "growth").uniform(-1, 1, (10, 101)))
    s = (v[:, :-1, None] * 2.0 ** (torch.arange(101) / 10)).repeat(1, 1, 1)
    step = operators.Step(1, 1, True)
    message = step.message(v, torch.cat([s, s[:, :1]], 1).flatten(1))
    free, held = sums.solve(message), step.solved(message)
    assert 1 + free.step.sum() > 1.05 and held.ridge > free.ridge
    assert abs(1 + held.step.sum()) <= 1.001


def test_letters_are_notebook_09s_and_a_shared_pixel_is_a_row_of_each():
    data, dealt = letters.linear_letters(10, 5.0, 0).data(400, 3), theirs.drawing().data(400, 3)
    assert len(data.owners) == 30 and len(data.pool["x"]) == 30 * 412
    for mine, pixels in zip(data.owners, dealt.owners, strict=True):
        np.testing.assert_array_equal(data.pool["x"][mine], dealt.pool["x"][pixels])
        np.testing.assert_array_equal(data.pool["y"][mine, 0], dealt.pool["y"][pixels])
    of = letters.letters_in_one_round([0], [100, 300], [5.0], 400)
    assert of.error.sel(m=300) < of.error.sel(m=100) and (of.edge > of.error).all()
    assert of.bytes.sel(m=100).item() == 8 * 102 * 103 / 2
