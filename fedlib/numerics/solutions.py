"""Exact and reference solutions of all problems: what errors are measured against."""

from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from numpy.polynomial.chebyshev import chebint, chebval, chebvander
from scipy.fft import dct
from scipy.integrate import solve_bvp, solve_ivp
from torch import Tensor

from .solvers import chebyshev, etdrk4, march, rk4


def pendulum(u: np.ndarray, k: float | np.ndarray = 1.0, T: float = 1.0) -> np.ndarray:
    """Forced pendulum x1' = x2, x2' = -k sin x1 + u(t) on [0, T] from rest (Fed-DeepONet, Eq. 9).

    Args:
        u: torque on the half-step grid of S steps, [n, 2S + 1].
        k: stiffness, one number or one per function [n] (1/s^2).
        T: final time (s).

    Returns:
        x [n, S + 1, 2]: angle (rad) and angular velocity (rad/s) at S + 1 equispaced times.
    """
    k = np.broadcast_to(k, len(u))

    def rhs(x, torque):
        return np.stack([x[:, 1], -k * np.sin(x[:, 0]) + torque], axis=1)

    return rk4(rhs, np.zeros((len(u), 2)), u, 2 * T / (u.shape[1] - 1))


def evolve_allen_cahn(
    x: np.ndarray, times: int = 101, d: float = 1e-3, k: float = 5.0, n: int = 512, substeps: int = 5
) -> np.ndarray:
    """u_t = d u_xx + k (u - u^3), u(x, 0) = x^2 cos(pi x), u(+-1, t) = -1 on [-1, 1] x [0, 1] (FedSciML, Section 5.4).

    Chebyshev collocation for v = u + 1, which vanishes at the ends and stays even, so half of the points do;
    exponential Runge-Kutta of order 4 in time. Converged to 1e-8 with the defaults (``test_solutions``).

    Args:
        x: where u is wanted [a], in [-1, 1]. times: number of equispaced times in [0, 1], both ends included.
        n: degree in x, even. substeps: steps between two times.

    Returns:
        u [a, times].
    """
    nodes, D = chebyshev(n)
    inside, m = (D @ D)[1:-1, 1:-1], n // 2
    even = inside[:m, :m].copy()
    even[:, : m - 1] += inside[:m, :-m:-1]  # v(-x) = v(x)
    v = nodes[1 : m + 1] ** 2 * np.cos(np.pi * nodes[1 : m + 1]) + 1
    # u - u^3 = -2 v + 3 v^2 - v^3
    h = 1 / ((times - 1) * substeps)
    step = etdrk4(d * even - 2 * k * np.eye(m), lambda v: k * v**2 * (3 - v), v, h)
    right = march(step, v, times, substeps)
    full = np.concatenate([0 * right[:, :1], right, right[:, -2::-1], 0 * right[:, :1]], 1) - 1
    coefficients = dct(full, type=1) / n
    coefficients[:, [0, -1]] /= 2
    return chebval(x, coefficients.T).T


@cache
def allen_cahn_table(d: float = 1e-3, k: float = 5.0) -> np.ndarray:
    """u [201, 101] on equispaced x in [-1, 1] and t in [0, 1]."""
    return evolve_allen_cahn(np.linspace(-1, 1, 201), d=d, k=k)


def allen_cahn_reference(x: Tensor, d: float = 1e-3, k: float = 5.0) -> Tensor:
    """The reference at points (x, t) of the test grid, [n, 2] -> [n]."""
    index = 100 * (x + x.new_tensor([1.0, 0.0]))
    if (index - index.round()).abs().max() > 1e-6:
        raise ValueError("the Allen-Cahn reference is stored for x = -1, -0.99, ..., 1 and t = 0, 0.01, ..., 1 only")
    return torch.as_tensor(allen_cahn_table(d, k), dtype=x.dtype)[tuple(index.round().long().T)]


DIFFUSION = 0.01


def reaction_rate(x, version: str = "paper"):
    """k(x) = b + exp(-(x - 1/2)^2 / (2 s^2)): b = 0.1, s = 0.15 in the paper's text; b = 1, s = 1.05 in the authors'
    federated and central scripts, which is nearly constant.
    """
    if version not in ("paper", "code"):
        raise ValueError(f"k version {version!r}: expected 'paper' or 'code'")
    b, s = {"paper": (0.1, 0.15), "code": (1.0, 1.05)}[version]
    return b + np.exp(-((x - 0.5) ** 2) / (2 * s**2))


def source(x):
    """f(x) = sin(2 pi x), for arrays and tensors."""
    return (torch.sin if isinstance(x, Tensor) else np.sin)(2 * torch.pi * x)


def steady_reaction(x: np.ndarray, version: str = "paper", tol: float = 1e-9) -> np.ndarray:
    """u(x) of 0.01 u'' - k(x) u = sin(2 pi x), u(0) = u(1) = 0 (FedSciML, Section 5.6), by scipy's solve_bvp."""

    def slope(x, y):
        return np.stack([y[1], (reaction_rate(x, version) * y[0] + source(x)) / DIFFUSION])

    start = np.linspace(0, 1, 1001)
    solution = solve_bvp(
        slope, lambda a, b: np.array([a[0], b[0]]), start, np.zeros((2, 1001)), tol=tol, max_nodes=100_000
    )
    if not solution.success:
        raise ValueError(f"the reference did not reach tol = {tol}: {solution.message}; use a larger one")
    return solution.sol(x)[0]


def antiderivative(c: np.ndarray, x: np.ndarray) -> np.ndarray:
    """u' = v, u(0) = 0 for v = sum_j c_j T_j(2 x - 1), exactly: c [n, J], x [a] -> u [n, a]."""
    return np.atleast_2d(chebval(2 * np.asarray(x, float) - 1, chebint(c, lbnd=-1, axis=1).T)) / 2


def staircase(v: np.ndarray, rtol: float = 1e-3, atol: float = 1e-6) -> np.ndarray:
    """The authors' reference for the antiderivative: RK45 on the sensor value to the left of t, a staircase.

    v [n, m] at m equispaced sensors -> u [n, m] there. With tight tolerances this is the left Riemann sum.
    """
    m = v.shape[1]
    t = np.linspace(0, 1, m)

    def solve(row):
        held = lambda s, u: [row[min(int((m - 1) * s), m - 1)]]  # noqa: E731
        return solve_ivp(held, (0, 1), [0.0], "RK45", t, rtol=rtol, atol=atol).y[0]

    return np.stack([solve(row) for row in v])


def diffusion_reaction(
    v: Callable[[np.ndarray], np.ndarray],
    x: np.ndarray,
    times: int = 101,
    D: float = 0.01,
    k: float = 0.01,
    degree: int = 48,
    substeps: int = 1,
) -> np.ndarray:
    """u_t = D u_xx + k u^2 + v(x), u = 0 at t = 0 and at x = 0, 1 (FedSciML, Section 6.3).

    Chebyshev collocation in x, exponential Runge-Kutta of order 4 in t.

    Args:
        v: x [b] -> v [n, b], the n inputs as functions: they are wanted at the nodes. x: where u is wanted [a].
        degree: of the polynomial in x. substeps: steps between two times.

    Returns:
        u [n, a, times].

    Raises:
        ValueError: u may blow up before t = 1, or the step is too long for the reaction.
    """
    nodes, d = chebyshev(degree)
    nodes, inside = (nodes + 1) / 2, (4 * d @ d)[1:-1, 1:-1]
    source = v(nodes[1:-1]).T
    # without diffusion |u| <= sqrt(V / k) tan(sqrt(k V) t), V = max |v|: finite on [0, 1] for k V < (pi / 2)^2
    rate = np.sqrt(abs(k) * np.abs(source).max())
    if not rate < np.pi / 2:
        raise ValueError(f"k max |v| = {rate**2:.3g}: u may blow up before t = 1; expected less than (pi / 2)^2 = 2.47")
    h, stiff = 1 / ((times - 1) * substeps), 2 * rate * np.tan(rate)  # d(k u^2)/du is at most this
    if not stiff * h <= 1:
        raise ValueError(f"the step {h:.3g} is too long for the reaction: use {int(stiff * h * substeps) + 1} substeps")
    step = etdrk4(D * inside, lambda u: k * u**2 + source, source, h)
    u = march(step, 0 * source, times, substeps)
    to_x = (chebvander(2 * x - 1, degree) @ np.linalg.inv(chebvander(2 * nodes - 1, degree)))[:, 1:-1]
    return np.einsum("ab,tbn->nat", to_x, u, optimize=True)


def periodic_derivatives(N: int) -> tuple[np.ndarray, np.ndarray]:
    """Matrices of d/dx and d2/dx2 on N equispaced points of [0, 1): exact for trigonometric polynomials."""
    k, waves = 2 * np.pi * np.fft.rfftfreq(N, 1 / N)[:, None], np.fft.rfft(np.eye(N), axis=0)
    return np.fft.irfft(1j * k * waves, N, axis=0), np.fft.irfft(-(k**2) * waves, N, axis=0)


def burgers(v: np.ndarray, nu: float = 0.1, times: int = 101, substeps: int = 4) -> np.ndarray:
    """u_t + u u_x = nu u_xx with period 1 in x, u(x, 0) = v(x) (FedSciML, Section 6.4).

    Fourier collocation for -(u^2 / 2)_x, which keeps the mean; exponential Runge-Kutta of order 4 in t.

    Args:
        v: [n, N] at x = 0, 1/N, ..., 1 - 1/N. A function with v(1) != v(0) is wrapped, as the authors do it: a jump.
        nu: viscosity > 0. substeps: steps between two times.

    Returns:
        u [n, N + 1, times] at x = 0, 1/N, ..., 1, with u(1, t) = u(0, t).

    Raises:
        ValueError: steep fronts would be thinner than the grid, or the step is too long.
    """
    N, top, h = v.shape[1], np.abs(v).max(), 1 / ((times - 1) * substeps)  # max |u| never grows
    if not top <= 2 * nu * N:
        raise ValueError(f"max |v| = {top:.3g}, nu = {nu}: fronts need {int(top / (2 * nu)) + 1} points, not {N}")
    if not top**2 * h <= 4 * nu:
        raise ValueError(f"max |v| = {top:.3g}, nu = {nu}: use {int(top**2 * h * substeps / (4 * nu)) + 1} substeps")
    d, dd = periodic_derivatives(N)
    flux = -d / 2
    u = march(etdrk4(nu * dd, lambda u: flux @ u**2, v.T, h), v.T, times, substeps)
    return np.concatenate([u, u[:, :1]], axis=1).transpose(2, 1, 0)
