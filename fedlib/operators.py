"""Operators v -> u to learn (FedSciML, Section 6): reference solutions, float64, vectorised over functions.

Times are t in [0, 1], equispaced with both ends, and the space is x in [0, 1].
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.polynomial.chebyshev import chebint, chebval, chebvander
from scipy.integrate import solve_ivp
from torch import Tensor

from .solvers import chebyshev, etdrk4
from .spaces import chebyshev_series


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


def march(step: Callable, state: np.ndarray, times: int, substeps: int) -> np.ndarray:
    """States [times, ...] after 0, 1, 2, ... times ``substeps`` steps; ValueError unless all are finite."""
    states = [state]
    for _ in range(times - 1):
        for _ in range(substeps):
            state = step(state)
        states.append(state)
    if not np.isfinite(state).all():
        raise ValueError("the reference solution became non-finite: use more substeps or smaller inputs")
    return np.array(states)


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


@dataclass(frozen=True)
class Operator:
    """What a federation learns.

    Args:
        branch, trunk: layer widths of its DeepONet. points: where u is wanted, [P, d].
        solve: v at the m sensors [n, m] and Chebyshev coefficients [n, J] of the inputs -> u [n, P].
    """

    name: str
    branch: tuple[int, ...]
    trunk: tuple[int, ...]
    points: np.ndarray
    solve: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def pairs(self, c: np.ndarray) -> dict[str, Tensor]:
        """Coefficients [n, J] -> inputs at equispaced sensors u [n, m] and solutions at the points s [n, P], float32."""
        v = chebyshev_series(c, np.linspace(0, 1, self.branch[0]))
        return {name: torch.as_tensor(a, dtype=torch.float32) for name, a in (("u", v), ("s", self.solve(v, c)))}


def learn_antiderivative() -> Operator:
    """Sensors and points are the same 100 (FedSciML, Section 6.2 and Table 4)."""
    x = np.linspace(0, 1, 100)
    return Operator("antiderivative", (100, 40, 40), (1, 40, 40), x[:, None], lambda v, c: antiderivative(c, x))


def tensor_grid(strides: tuple[int, int]) -> tuple[slice, slice, np.ndarray]:
    """Every i-th of 101 places and every j-th of 101 times: slices, and points (x, t) [P, 2] with x slow, t fast."""
    if any(100 % s for s in strides):
        raise ValueError(f"strides {strides}: expected divisors of 100, so that both ends of the grid stay in it")
    i, j = (slice(None, None, s) for s in strides)
    line = np.linspace(0, 1, 101)
    return i, j, np.stack(np.meshgrid(line[i], line[j], indexing="ij"), -1).reshape(-1, 2)


def learn_diffusion_reaction(strides: tuple[int, int] = (1, 1)) -> Operator:
    """101 sensors, u on every strides-th line of the paper's 101 x 101 grid (Section 6.3, Table 4)."""
    i, j, points = tensor_grid(strides)

    def solve(v, c):
        u = diffusion_reaction(lambda x: chebyshev_series(c, x), np.linspace(0, 1, 101)[i])
        return u[:, :, j].reshape(len(v), -1)

    return Operator("diffusion-reaction", (101, 100, 100, 100), (2, 100, 100, 100), points, solve)


def learn_burgers(strides: tuple[int, int] = (1, 1), nu: float = 0.1) -> Operator:
    """101 sensors; inputs are wrapped: v(1) is seen by the network only (Section 6.4, Table 4)."""
    i, j, points = tensor_grid(strides)
    solve = lambda v, c: burgers(v[:, :-1], nu)[:, i, j].reshape(len(v), -1)  # noqa: E731
    return Operator("Burgers", (101, 64, 64), (2, 64, 64), points, solve)


def squared_error(y: Tensor) -> Callable:
    """The loss of one client, 1/(n P) sum_ij (G(u_i)(y_j) - s_ij)^2, at points y [P, d] that everybody shares."""

    def loss(predict, batch):
        return (batch["w"] * ((predict(batch["u"], y) - batch["s"]) ** 2).mean(1)).sum()

    return loss


def relative_error(y: Tensor) -> Callable:
    """evaluate(predict, test): Frobenius norm over all functions and points, |G(u)(y) - s| / |s| in %."""
    return lambda predict, test: {"e": 100 * (predict(test["u"], y) - test["s"]).norm() / test["s"].norm()}
