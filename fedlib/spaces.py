"""Function spaces that operators take their inputs from."""

import numpy as np
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
