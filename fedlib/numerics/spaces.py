"""Function spaces that operators take their inputs from."""

import numpy as np
from numpy.polynomial.chebyshev import chebval
from scipy.linalg import eigh


def gaussian_kernel(s: np.ndarray, t: np.ndarray, length_scale: float) -> np.ndarray:
    """k(s, t) = exp(-(s - t)^2 / (2 l^2)); s [a], t [b] -> [a, b] (Fed-DeepONet, Section 4)."""
    return np.exp(-((s[:, None] - t[None, :]) ** 2) / (2 * length_scale**2))


def grf_basis(t: np.ndarray, length_scale: float, nodes: int = 201, cut: float = 1e-12) -> np.ndarray:
    """Features Phi with Phi(s) Phi(t)^T = k(s, t): the Nystroem form of the Karhunen-Loeve expansion.

    The kernel is diagonalised on ``nodes`` equispaced points of [0, 1] and extended to any t by
    Phi(t) = k(t, z) V Lambda^(-1/2). So a draw is a *function*, not a table: the sensors, the solver and an
    adaptive integrator all see the same one, without interpolation.

    Args:
        t: points in [0, 1], shape [a].
        length_scale: l > 0, in units of t; needs a few nodes per l.
        cut: eigenvalues below ``cut`` times the largest are dropped.

    Returns:
        Phi, float64 [a, J], most energetic feature first; J depends on l only.

    Raises:
        ValueError: l is not resolved by the nodes.
    """
    if not length_scale > 2 / (nodes - 1):
        raise ValueError(
            f"length_scale = {length_scale} is not resolved by {nodes} nodes on [0, 1]; "
            f"use a length_scale above {2 / (nodes - 1):.3g} or more nodes"
        )
    z = np.linspace(0, 1, nodes)
    lam, V = eigh(gaussian_kernel(z, z, length_scale))
    # an eigenvector has no sign of its own: without this line LAPACK's threads decide which functions are drawn
    lam, V = lam[::-1], (V * np.sign(V[0]))[:, ::-1]
    kept = lam > cut * lam[0]
    return gaussian_kernel(np.asarray(t, float), z, length_scale) @ (V[:, kept] / np.sqrt(lam[kept]))


def grf(t: np.ndarray, n: int, length_scale: float, rng: np.random.Generator) -> np.ndarray:
    """n draws u ~ GP(0, k) at the points t [a], as u [n, a], float64.

    The same stream gives the same n functions at any other t.
    """
    phi = grf_basis(t, length_scale)
    return rng.standard_normal((n, phi.shape[1])) @ phi.T


TERMS = 10
"""Chebyshev terms in all, T_0 .. T_9 (FedSciML, Section 2.2.4)."""


def support(kind: str, n: int) -> slice:
    """Which n of the TERMS Chebyshev terms a client's functions have.

    "forward": the first n; "inverse": the last n; "middle": n in the middle, n even. (FedSciML prints ranges of
    n + 1 terms, one of which begins at -1; these are its code's.)
    """
    first = {"forward": 0, "inverse": TERMS - n, "middle": (TERMS - n) // 2}
    if kind not in first:
        raise ValueError(f"support {kind!r}: expected one of {', '.join(first)}")
    if not 1 <= n <= TERMS or (kind == "middle" and n % 2):
        raise ValueError(f"{kind} support with n = {n}: expected 1 <= n <= {TERMS}, even for the middle")
    return slice(first[kind], first[kind] + n)


def chebyshev_draws(kind: str, n: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Coefficients [count, TERMS]: U[-1, 1] on the ``support``, 0 elsewhere."""
    c = np.zeros((count, TERMS))
    c[:, support(kind, n)] = rng.uniform(-1, 1, (count, n))
    return c


def chebyshev_series(c: np.ndarray, x: np.ndarray) -> np.ndarray:
    """v(x) = sum_j c_j T_j(2 x - 1) on [0, 1]: c [n, J], x [a] -> [n, a]."""
    return np.atleast_2d(chebval(2 * np.asarray(x, float) - 1, c.T))


def fourier_series(c: np.ndarray, x: np.ndarray, phases: tuple[float, float], decay: float = 1.2) -> np.ndarray:
    """Functions of period 1: v(x) = sum_k k^-decay (c_0k sin(2 pi k x + phases_0) + c_1k sin(2 pi k x + phases_1)).

    Client 1 of the authors' journal code has phases (0, delta), client 2 (pi/2, pi/2 + delta): sines and cosines for
    delta = 0, one and the same space for delta = pi/2.

    Args:
        c: coefficients [n, 2, waves]. x: [a].

    Returns:
        v [n, a].
    """
    k = np.arange(1, c.shape[2] + 1)
    waves = np.sin(2 * np.pi * k[:, None] * x + np.asarray(phases)[:, None, None])  # [2, waves, a]
    return np.einsum("nik,k,ika->na", c, k**-decay, waves)
