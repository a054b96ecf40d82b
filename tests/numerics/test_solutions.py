"""Reference solutions against closed forms, orders of accuracy and second methods."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from fedlib.numerics import solutions, solvers
from fedlib.numerics.solutions import pendulum
from fedlib.numerics.spaces import chebyshev_draws, chebyshev_series, grf
from fedlib.papers.fed_deeponet.physics import half_steps
from fedlib.streams import stream


def test_pendulum_agrees_with_dop853():
    t = half_steps(100)
    u, k = grf(t, 5, 0.2, stream(0, "u")), np.linspace(0.5, 1.5, 5)
    x = pendulum(u, k)
    for i in range(5):

        def rhs(s, z, i=i):
            torque = grf(np.array([s]), 5, 0.2, stream(0, "u"))[i, 0]
            return [z[1], -k[i] * np.sin(z[0]) + torque]

        exact = solve_ivp(rhs, (0, 1), [0, 0], "DOP853", t[::20], rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(x[i, ::10], exact.y.T, atol=1e-8)


X = np.linspace(0, 1, 101)


def draws(count, kind="forward", n=10, seed=0):
    return chebyshev_draws(kind, n, count, stream(seed, "test operators"))


def test_antiderivative_is_the_integral():
    c = draws(3)
    u = solutions.antiderivative(c, X)
    assert np.abs(u[:, 0]).max() < 1e-15
    for i in range(3):
        for j in (1, 37, 100):
            assert u[i, j] == pytest.approx(
                quad(lambda s, i=i: chebyshev_series(c[i : i + 1], s)[0, 0], 0, X[j])[0], abs=1e-10
            )


def test_the_staircase_is_a_left_riemann_sum_far_from_the_integral():
    """3 % off over the full space, 13 % for the last five terms (own measurement on the paper's fact page)."""
    x = np.linspace(0, 1, 100)
    error = {}
    for kind, n in (("forward", 10), ("inverse", 5)):
        c = draws(100, kind, n)
        exact = solutions.antiderivative(c, x)
        error[kind] = np.linalg.norm(solutions.staircase(chebyshev_series(c, x)) - exact) / np.linalg.norm(exact)
    assert error["forward"] == pytest.approx(0.03, abs=0.01)
    assert error["inverse"] == pytest.approx(0.13, abs=0.02)
    v = chebyshev_series(draws(2), np.linspace(0, 1, 11))
    riemann = np.concatenate([np.zeros((2, 1)), np.cumsum(v[:, :-1], 1) / 10], 1)
    np.testing.assert_allclose(solutions.staircase(v, 1e-9, 1e-11), riemann, atol=1e-6)


def test_diffusion_without_reaction_has_the_closed_form_of_a_sine():
    for j in (1, 4):
        rate = 0.01 * (np.pi * j) ** 2
        u = solutions.diffusion_reaction(lambda x, j=j: np.sin(np.pi * j * x)[None], X, k=0)
        exact = np.sin(np.pi * j * X)[:, None] * -np.expm1(-rate * X) / rate
        np.testing.assert_allclose(u[0], exact, atol=1e-10)


def test_reaction_without_diffusion_is_a_tangent():
    """u' = k u^2 + v: u = sqrt(v / k) tan(sqrt(v k) t) away from the ends, where nothing diffuses to in time."""
    u = solutions.diffusion_reaction(lambda x: np.full((1, len(x)), 2.0), np.array([0.5]), D=1e-4, k=0.5, degree=96)
    np.testing.assert_allclose(u[0, 0], 2 * np.tan(X), atol=1e-8)


def cole_hopf(x, t, nu, a=1.5):
    """u = -2 nu phi_x / phi with phi = a + exp(-4 pi^2 nu t) cos(2 pi x), a solution of the heat equation."""
    decay = np.exp(-4 * np.pi**2 * nu * t)
    return 4 * np.pi * nu * decay * np.sin(2 * np.pi * x) / (a + decay * np.cos(2 * np.pi * x))


@pytest.mark.parametrize("nu", [0.1, 0.02])
def test_burgers_has_the_solution_of_cole_and_hopf(nu):
    v = cole_hopf(X[:-1], 0, nu)[None]
    u = solutions.burgers(v, nu)
    np.testing.assert_allclose(u[0], cole_hopf(X[:, None], X, nu), atol=1e-7)


def test_unstable_settings_are_refused_and_those_at_the_limit_are_finite():
    v = 4 * np.sin(2 * np.pi * X[:-1])[None]
    with pytest.raises(ValueError, match="fronts need 201 points, not 100"):
        solutions.burgers(v, nu=0.01)
    with pytest.raises(ValueError, match="use 5 substeps"):
        solutions.burgers(v, nu=0.1, times=11, substeps=1)
    assert np.isfinite(solutions.burgers(v, nu=0.1, times=11, substeps=5)).all()
    with pytest.raises(ValueError, match="blow up"):
        solutions.diffusion_reaction(lambda x: np.full((1, len(x)), 3.0), X, k=1.0)
    with pytest.raises(ValueError, match="too long for the reaction"):
        solutions.diffusion_reaction(lambda x: np.full((1, len(x)), 2.0), X, times=2, k=1.0)
    with pytest.raises(ValueError, match="non-finite"):
        solvers.march(lambda u: u * np.inf, np.ones(2), 3, 1)


def method_of_lines(cells):
    """Second-order differences in x and scipy's stiff LSODA in time, at 201 points and 11 times."""
    x = np.linspace(-1, 1, cells + 1)

    def rhs(_, u):
        out = np.zeros_like(u)
        out[1:-1] = 0.001 * (u[2:] - 2 * u[1:-1] + u[:-2]) * (cells / 2) ** 2 + 5 * (u[1:-1] - u[1:-1] ** 3)
        return out

    t = np.linspace(0, 1, 11)
    settings = dict(method="LSODA", rtol=1e-9, atol=1e-11, lband=1, uband=1)
    return solve_ivp(rhs, (0, 1), x**2 * np.cos(np.pi * x), t_eval=t, **settings).y[:: cells // 200]


def test_the_allen_cahn_reference_is_converged_and_agrees_with_a_second_method():
    u = solutions.allen_cahn_table()
    finer = solutions.evolve_allen_cahn(np.linspace(-1, 1, 201), n=576, substeps=8)
    assert np.abs(u - finer).max() < 1e-8
    richardson = (4 * method_of_lines(3200) - method_of_lines(1600)) / 3
    assert np.abs(u[:, ::10] - richardson).max() < 1e-7
    x = np.linspace(-1, 1, 201)
    np.testing.assert_allclose(u[:, 0], x**2 * np.cos(np.pi * x), atol=1e-13)
    np.testing.assert_allclose(u[[0, -1]], -1, atol=1e-13)
