"""Steppers and bases have their orders."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from fedlib.numerics import solvers
from fedlib.numerics.solvers import hermite, rk4


def test_rk4_has_order_4():
    """x' = x cos t + u' ... with the exact solution e^(sin t): the forcing carries cos t."""
    errors = []
    for S in (10, 20, 40, 80):
        cos = np.cos(np.linspace(0, 2, 2 * S + 1))[None]
        x = rk4(lambda x, u: x * u[:, None], np.ones((1, 1)), cos, 2 / S)
        errors.append(abs(x[0, -1, 0] - np.exp(np.sin(2))))
    slopes = np.diff(np.log2(errors))
    np.testing.assert_allclose(slopes, -4, atol=0.15)


def test_rk4_needs_the_half_step_grid():
    with pytest.raises(ValueError, match="2S \\+ 1"):
        rk4(lambda x, u: x, np.ones((1, 1)), np.ones((1, 4)), 0.1)


def test_hermite_has_order_4():
    errors = []
    for S in (8, 16, 32):
        t = np.linspace(0, 1, S + 1)
        y = np.linspace(0, 1, 200)
        x, dx = np.tile(np.sin(5 * t), (200, 1)), np.tile(5 * np.cos(5 * t), (200, 1))
        errors.append(np.abs(hermite(t, x, dx, y) - np.sin(5 * y)).max())
    np.testing.assert_allclose(np.diff(np.log2(errors)), -4, atol=0.2)


def test_chebyshev_matrix_is_exact_for_polynomials_and_etdrk4_has_order_4():
    x, D = solvers.chebyshev(12)
    np.testing.assert_allclose(D @ x**12, 12 * x**11, atol=1e-11)
    L = np.array([[-5.0, 2.0], [0.0, -1.0]])

    def end(h):
        v, step = np.array([1.0, 0.5]), solvers.etdrk4(L, lambda v: v - v**3, np.ones(2), h)
        for _ in range(round(1 / h)):
            v = step(v)
        return v

    exact = solve_ivp(lambda _, v: L @ v + v - v**3, (0, 1), [1.0, 0.5], rtol=1e-12, atol=1e-14).y[:, -1]
    errors = [np.abs(end(h) - exact).max() for h in (0.1, 0.05, 0.025)]
    assert np.log2(errors[1] / errors[2]) == pytest.approx(4, abs=0.3)
