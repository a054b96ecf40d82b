"""Operators by sums: what is learnt is what it should be, of problems whose solution is known."""

import numpy as np
import torch

from fedlib.federated import sums
from fedlib.papers.beyond.one_round import operators
from fedlib.papers.fedsciml.operators.problem import ALL
from fedlib.streams import stream


def test_a_lag_kernel_is_the_one_that_made_the_data():
    rng = stream(0, "lags")
    v, k, start = rng.standard_normal((40, 12)), rng.standard_normal(12), 0.7
    u = np.array([np.convolve(row, k)[:12] + start * row[0] for row in v])
    message = operators.lag_sums(*map(torch.as_tensor, (v, u)))
    np.testing.assert_allclose(sums.solve(message).step, [*k, start], atol=1e-8)


def marched(v):
    """Explicit steps that a learnt one can be: heat with a source and u^2, from 0 and between ends that are 0."""
    u = np.zeros_like(v)
    fields = [u]
    for _ in ALL[1:]:
        left, right = (np.roll(u, shift, 1) for shift in (1, -1))
        u = u + 0.2 * (left - 2 * u + right) + 0.01 * u**2 + 0.01 * v
        u[:, [0, -1]] = 0
        fields.append(u)
    return np.stack(fields, -1).reshape(len(u), -1)


def test_a_learnt_step_is_the_scheme_that_made_the_data():
    v = stream(0, "step").uniform(-1, 1, (10, 101))
    fields = torch.as_tensor(v), torch.as_tensor(marched(v))
    solution = operators.stable(operators.step_sums(*fields, 2, 2), 2)
    expected = [0, 0.2, -0.4, 0.2, 0, 0, 0, 0.01, 0, 0, 0, 0, 0.01, 0, 0]
    np.testing.assert_allclose(solution.step, expected, atol=1e-6)
    np.testing.assert_allclose(operators.rolled_out(solution.step, *fields, 2, 2), fields[1], atol=1e-5)


def test_neighbours_beyond_the_ends_are_those_of_an_odd_field():
    """A sine goes on as it is: neighbours of every place are the same sine, shifted."""
    sine = lambda x: np.sin(np.pi * 3 * x / 100)  # noqa: E731
    x, l = np.arange(101), np.arange(-4, 5)
    near, _ = operators.terms(*[torch.as_tensor(sine(x))[None]] * 2, 4, 1)
    np.testing.assert_allclose(near[0], sine(x[:, None] + l), atol=1e-12)


def test_no_small_wave_grows():
    """Fields that double in ten steps."""
    v = torch.as_tensor(stream(0, "growth").uniform(-1, 1, (10, 101)))
    s = v[:, :, None] * 2.0 ** (torch.arange(101) / 10)
    message = operators.step_sums(v, s.flatten(1), 1, 1)
    free, held = sums.solve(message), operators.stable(message, 1)
    assert 1 + free.step[:3].sum() > 1.05 and held.ridge > free.ridge
    assert abs(1 + held.step[:3].sum()) <= 1.001
