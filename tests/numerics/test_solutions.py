"""Reference solutions against closed forms, orders of accuracy and second methods."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.special import ellipk

from fedlib.numerics import solutions, solvers
from fedlib.numerics.solutions import pendulum
from fedlib.numerics.solvers import rk4
from fedlib.numerics.spaces import chebyshev_draws, chebyshev_series, fourier_series, grf
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


def test_free_pendulum_has_the_period_of_the_elliptic_integral():
    """x'' = -sin x from rest at amplitude a: period 4 K(sin^2(a/2)); u shifts nothing."""
    a, S = 1.2, 400
    period = 4 * ellipk(np.sin(a / 2) ** 2)
    x = rk4(
        lambda x, u: np.stack([x[:, 1], -np.sin(x[:, 0])], 1),
        np.array([[a, 0.0]]),
        np.zeros((1, 2 * S + 1)),
        period / S,
    )
    np.testing.assert_allclose(x[0, -1], [a, 0], atol=1e-7)


def test_small_swings_of_stiffness_k_follow_the_linear_closed_form():
    """x'' = -k x + a has x = (a / k) (1 - cos(sqrt(k) t))."""
    k, a = np.array([0.5, 1.0, 1.5]), 1e-4
    x = pendulum(np.full((3, 201), a), k)[..., 0]
    t = np.linspace(0, 1, 101)
    np.testing.assert_allclose(x, a / k[:, None] * (1 - np.cos(np.sqrt(k)[:, None] * t)), atol=1e-11)


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


def test_diffusion_reaction_agrees_with_a_stiff_method_of_lines():
    """Central differences on h = 1/400 and 1/800 with LSODA, extrapolated: 2e-5."""
    c = draws(2)
    ours = solutions.diffusion_reaction(lambda x: chebyshev_series(c, x), X, times=11)
    for i in range(2):
        found = []
        for N in (400, 800):
            v = chebyshev_series(c[i : i + 1], np.linspace(0, 1, N + 1))[0, 1:-1]

            def rhs(t, u, v=v, N=N):
                full = np.pad(u, 1)
                return 0.01 * (full[2:] - 2 * u + full[:-2]) * N**2 + 0.01 * u**2 + v

            s = solve_ivp(rhs, (0, 1), 0 * v, "LSODA", np.linspace(0, 1, 11), rtol=1e-8, atol=1e-10, lband=1, uband=1)
            found.append(np.pad(s.y, ((1, 1), (0, 0)))[:: N // 100])
        exact = (4 * found[1] - found[0]) / 3
        np.testing.assert_allclose(ours[i, :, 1:], exact[:, 1:], atol=2e-5)
        assert np.linalg.norm(ours[i] - exact) < 3e-6 * np.linalg.norm(exact)


def cole_hopf(x, t, nu, a=1.5):
    """u = -2 nu phi_x / phi with phi = a + exp(-4 pi^2 nu t) cos(2 pi x), a solution of the heat equation."""
    decay = np.exp(-4 * np.pi**2 * nu * t)
    return 4 * np.pi * nu * decay * np.sin(2 * np.pi * x) / (a + decay * np.cos(2 * np.pi * x))


@pytest.mark.parametrize("nu", [0.1, 0.02])
def test_burgers_has_the_solution_of_cole_and_hopf(nu):
    v = cole_hopf(X[:-1], 0, nu)[None]
    u = solutions.burgers(v, nu)
    np.testing.assert_allclose(u[0], cole_hopf(X[:, None], X, nu), atol=1e-7)


def ftcs(v, nu=0.1, steps=10_000):
    """The authors' method: explicit Euler and central differences, 101 of the time levels."""
    u, h, out = v.copy(), 1 / v.shape[1], [v]
    for s in range(steps):
        left, right = np.roll(u, 1, 1), np.roll(u, -1, 1)
        u = u + (nu * (right - 2 * u + left) / h**2 - u * (right - left) / (2 * h)) / steps
        if (s + 1) % (steps // 100) == 0:
            out.append(u)
    return np.array(out).transpose(1, 2, 0)


def test_burgers_agrees_with_the_authors_method():
    """Smooth inputs and wrapped ones with a jump of about 2; the difference is the finite differences' error."""
    smooth = fourier_series(stream(0, "fourier").uniform(-1, 1, (10, 2, 9)), X[:-1], (0.0, 0.3))
    wrapped = chebyshev_series(draws(10), X)[:, :-1]
    for v in (smooth, wrapped):
        ours, theirs = solutions.burgers(v), ftcs(v)
        assert np.linalg.norm(ours[:, :-1] - theirs) < 1e-3 * np.linalg.norm(theirs)
        np.testing.assert_allclose(
            ours[:, :-1].mean(1), np.tile(v.mean(1)[:, None], 101), atol=1e-12
        )  # the mean is kept


def test_burgers_agrees_with_a_stiff_integrator():
    """The same derivative by FFT, LSODA in time: 2e-6."""
    v = fourier_series(stream(0, "fourier").uniform(-1, 1, (1, 2, 9)), X[:-1], (0.0, 0.3))
    k = 2j * np.pi * np.fft.fftfreq(100, 0.01)
    k1 = np.where(np.arange(100) == 50, 0, k)

    def rhs(t, u):
        return np.fft.ifft(0.1 * k**2 * np.fft.fft(u) - k1 * np.fft.fft(u**2) / 2).real

    s = solve_ivp(rhs, (0, 1), v[0], "LSODA", X, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(solutions.burgers(v)[0, :-1], s.y, atol=2e-6)


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


def residual_by_differences(cells):
    """Largest Allen-Cahn residual of the reference by central differences, 0.2 <= t <= 0.9."""
    x = np.linspace(-1, 1, cells + 1)
    u = solutions.evolve_allen_cahn(x, times=cells // 4 + 1, n=320)
    h, dt = 2 / cells, 4 / cells
    u_t = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dt)
    u_xx = (u[2:, 1:-1] - 2 * u[1:-1, 1:-1] + u[:-2, 1:-1]) / h**2
    v = u[1:-1, 1:-1]
    r = np.abs(u_t - 0.001 * u_xx + 5 * (v**3 - v))
    return r[:, r.shape[1] // 5 : int(0.9 * r.shape[1])].max()


def test_the_allen_cahn_reference_has_the_residual_of_the_difference_scheme():
    coarse, middle, fine = (residual_by_differences(cells) for cells in (400, 800, 1600))
    assert 3.5 < middle / fine < 4.5
    assert fine < coarse / 10


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
