"""Gaussian random fields and the pendulum solver against theory and a second method."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk

from fedlib.numerics.solutions import pendulum
from fedlib.numerics.solvers import hermite, rk4
from fedlib.numerics.spaces import gaussian_kernel, grf, grf_basis
from fedlib.problems.pendulum import half_steps, pendulum_trajectories, pendulum_triplets
from fedlib.streams import stream


@pytest.mark.parametrize("length_scale", [0.05, 0.2, 1.0, 4.2])
def test_basis_reproduces_the_kernel_between_the_nodes(length_scale):
    t = np.sort(stream(0, "t").uniform(size=37))
    phi = grf_basis(t, length_scale)
    np.testing.assert_allclose(phi @ phi.T, gaussian_kernel(t, t, length_scale), atol=1e-9)


@pytest.mark.parametrize("length_scale", [0.05, 0.2, 1.0, 4.2])
def test_the_sign_of_every_feature_is_fixed(length_scale):
    """Eigenvectors come with either sign, depending on LAPACK and its threads; the draws must not."""
    assert (grf_basis(np.zeros(1), length_scale) > 0).all()


def test_draws_do_not_depend_on_the_sign_of_the_eigenvectors(monkeypatch):
    from fedlib import spaces

    t = np.linspace(0, 1, 9)
    before = grf(t, 3, 0.2, stream(0, "u"))
    flip = np.where(np.arange(201) % 2, -1.0, 1.0)
    plain = spaces.eigh
    monkeypatch.setattr(spaces, "eigh", lambda K: (plain(K)[0], plain(K)[1] * flip))
    np.testing.assert_allclose(grf(t, 3, 0.2, stream(0, "u")), before, atol=1e-12)


def test_sample_covariance():
    t = np.linspace(0, 1, 5)
    u = grf(t, 40_000, 0.2, stream(0, "u"))
    np.testing.assert_allclose(u.mean(0), 0, atol=0.02)
    np.testing.assert_allclose(u.T @ u / len(u), gaussian_kernel(t, t, 0.2), atol=0.03)


def test_a_draw_is_one_function_on_any_grid():
    coarse = grf(np.linspace(0, 1, 11), 3, 0.2, stream(0, "u"))
    fine = grf(np.linspace(0, 1, 101), 3, 0.2, stream(0, "u"))
    np.testing.assert_allclose(fine[:, ::10], coarse, atol=1e-12)


def test_unresolved_length_scale_is_refused():
    with pytest.raises(ValueError, match="not resolved by 201 nodes"):
        grf_basis(np.zeros(1), 0.001)


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


def test_hermite_has_order_4():
    errors = []
    for S in (8, 16, 32):
        t = np.linspace(0, 1, S + 1)
        y = np.linspace(0, 1, 200)
        x, dx = np.tile(np.sin(5 * t), (200, 1)), np.tile(5 * np.cos(5 * t), (200, 1))
        errors.append(np.abs(hermite(t, x, dx, y) - np.sin(5 * y)).max())
    np.testing.assert_allclose(np.diff(np.log2(errors)), -4, atol=0.2)


def test_triplets_lie_on_the_trajectories():
    data = pendulum_triplets(50, 100, 0.2, stream(3, "train"))
    assert data["u"].shape == (50, 100)
    rng = stream(3, "train")
    u = grf(half_steps(100), 50, 0.2, rng)
    x1 = pendulum_trajectories(u)["x1"].numpy()
    y = data["y"][:, 0].numpy()
    near = np.array([np.interp(y[i], np.linspace(0, 1, 100), x1[i]) for i in range(50)])
    np.testing.assert_allclose(data["s"].numpy(), near, atol=1e-4)
