"""Operators v -> u to learn (FedSciML, Section 6): reference solutions, float64, vectorised over functions.

Times are t in [0, 1], equispaced with both ends, and the space is x in [0, 1].
"""

from collections.abc import Callable, Sequence
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
        q: weights of the points in the loss, [P], sum 1.
        solve: v at the m sensors [n, m] and Chebyshev coefficients [n, J] of the inputs -> u [n, P].
    """

    name: str
    branch: tuple[int, ...]
    trunk: tuple[int, ...]
    points: np.ndarray
    q: np.ndarray
    solve: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def pairs(self, c: np.ndarray) -> dict[str, Tensor]:
        """Coefficients [n, J] -> float32 inputs u [n, m] at equispaced sensors and solutions s [n, P] at the points."""
        v = chebyshev_series(c, np.linspace(0, 1, self.branch[0]))
        return {name: torch.as_tensor(a, dtype=torch.float32) for name, a in (("u", v), ("s", self.solve(v, c)))}


def learn_antiderivative() -> Operator:
    """Sensors and points are the same 100 (FedSciML, Section 6.2 and Table 4)."""
    x = np.linspace(0, 1, 100)
    solve = lambda v, c: antiderivative(c, x)  # noqa: E731
    return Operator("antiderivative", (100, 40, 40), (1, 40, 40), x[:, None], np.full(100, 0.01), solve)


ALL = tuple(range(101))
"""The paper's places and times: 0, 0.01, ..., 1."""


def tensor_grid(places: Sequence[int], times: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Some lines of the 101 x 101 grid: points (x, t) [P, 2], x slow and t fast, and weights q [P], sum 1.

    A line stands for all that are nearest to it, so that the loss stays the paper's mean over the whole grid.
    """

    def widths(i):
        if i[0] != 0 or i[-1] != 100 or min(np.diff(i)) < 1:
            raise ValueError(f"grid lines {list(i)}: expected rising whole numbers from 0 to 100")
        return np.diff([-0.5, *(np.add(i[1:], i[:-1]) / 2), 100.5]) / 101

    points = np.stack(np.meshgrid(np.divide(places, 100), np.divide(times, 100), indexing="ij"), -1)
    return points.reshape(-1, 2), np.outer(widths(places), widths(times)).ravel()


def learn_diffusion_reaction(places: Sequence[int] = ALL, times: Sequence[int] = ALL) -> Operator:
    """101 sensors, u on some lines of the paper's 101 x 101 grid (Section 6.3, Table 4)."""

    def solve(v, c):
        u = diffusion_reaction(lambda x: chebyshev_series(c, x), np.divide(places, 100))
        return u[:, :, list(times)].reshape(len(v), -1)

    return Operator("diffusion-reaction", (101,) + (100,) * 3, (2,) + (100,) * 3, *tensor_grid(places, times), solve)


def learn_burgers(places: Sequence[int] = ALL, times: Sequence[int] = ALL, nu: float = 0.1) -> Operator:
    """101 sensors; inputs are wrapped: only the network sees v(1) (Section 6.4, Table 4)."""

    def solve(v, c):
        return burgers(v[:, :-1], nu)[:, list(places)][:, :, list(times)].reshape(len(v), -1)

    return Operator("Burgers", (101, 64, 64), (2, 64, 64), *tensor_grid(places, times), solve)


def squared_error(operator: Operator) -> Callable:
    """The loss of one client with n functions, sum_i w_i sum_j q_j (G(v_i)(y_j) - s_ij)^2, w_i = 1/n, q_j = 1/P."""
    points, weights = torch.as_tensor(operator.points), torch.as_tensor(operator.q)

    def loss(predict, batch):
        y, q = points.to(batch["u"]), weights.to(batch["u"])
        return batch["w"] @ ((predict(batch["u"], y) - batch["s"]) ** 2 @ q)

    return loss


def relative_error(operator: Operator) -> Callable:
    """evaluate(predict, test): |G(v)(y) - s| / |s| in %, Frobenius norms over all functions and points."""
    points, weights = torch.as_tensor(operator.points), torch.as_tensor(operator.q)

    def evaluate(predict, test):
        y, q = points.to(test["u"]), weights.to(test["u"])
        gap, size = ((s**2 @ q).sum().sqrt() for s in (predict(test["u"], y) - test["s"], test["s"]))
        return {"e": 100 * gap / size}

    return evaluate
