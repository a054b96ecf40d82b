"""Data sets: generated, or fetched and verified."""

import numpy as np
import torch
from torch import Tensor

from .mnist import handwriting, mnist, small_digits  # noqa: F401
from .solvers import hermite, pendulum
from .spaces import grf
from .wake import cylinder_wake as cylinder_wake

OUT_OF_DISTRIBUTION = {
    "t": lambda t, amplitude=1.0, frequency=1.0: amplitude * t,
    "sin(pi t)": lambda t, amplitude=1.0, frequency=1.0: amplitude * np.sin(frequency * np.pi * t),
    "t sin(2 pi t)": lambda t, amplitude=1.0, frequency=1.0: amplitude * t * np.sin(2 * frequency * np.pi * t),
}
"""Inputs outside the training distribution (Fed-DeepONet, Fig. 4); amplitude and frequency are the widget's."""

SUBSTEPS = 2  # solver steps between two sensors: RK4 is then within 1e-8 of the exact solution


def half_steps(m: int) -> np.ndarray:
    """The solver's half-step grid on [0, 1] for m sensors; every (2 SUBSTEPS)-th entry is a sensor."""
    return np.linspace(0, 1, 2 * SUBSTEPS * (m - 1) + 1)


def pendulum_trajectories(u: np.ndarray, k: float | np.ndarray = 1.0) -> dict[str, Tensor]:
    """Inputs on the half-step grid [n, ...] -> u [n, m] and the angle x1 [n, m], both at the m sensors."""
    x = pendulum(u, k)
    return {"u": torch.as_tensor(u[:, :: 2 * SUBSTEPS]), "x1": torch.as_tensor(x[:, ::SUBSTEPS, 0].copy())}


def pendulum_triplets(
    n: int, m: int, length_scale: float, rng: np.random.Generator, k: float | np.ndarray = 1.0
) -> dict[str, Tensor]:
    """n training triplets (u, y, G(u)(y)): a fresh GRF input each, and one time y ~ U[0, 1] for it.

    Returns:
        u [n, m] (sensors), y [n, 1] (s), s [n] = x1(y) (rad), float64. Fed-DeepONet, Section 4.
    """
    t = half_steps(m)
    u, y = grf(t, n, length_scale, rng), rng.uniform(size=n)
    x = pendulum(u, k)
    s = hermite(t[::2], x[..., 0], x[..., 1], y)
    triplets = {"u": u[:, :: 2 * SUBSTEPS].copy(), "y": y[:, None], "s": s}
    return {name: torch.as_tensor(value) for name, value in triplets.items()}


def with_stiffness(u: Tensor, k: float | np.ndarray, hidden: bool = False) -> Tensor:
    """Branch input of the pendulum library: u [n, m] and the stiffness, mapped from [0.5, 1.5] to [-1, 1].

    hidden: the network is told 0 for every pendulum. Returns [n, m + 1]. (Fed-DeepONet, Experiment 4.)
    """
    column = torch.as_tensor(np.broadcast_to(2.0 * (np.asarray(k, float) - 1), len(u)).copy(), dtype=u.dtype)
    return torch.cat([u, column[:, None] * (not hidden)], dim=1)


def relative_l2(prediction: Tensor, truth: Tensor) -> Tensor:
    """||truth - prediction|| / ||truth|| over the last axis; dimensionless."""
    return (truth - prediction).norm(dim=-1) / truth.norm(dim=-1)


def gramacy_lee(z: Tensor) -> Tensor:
    """(z + 1/2)^4 - sin(10 pi z) / (2 z + 3) on [-1, 1]: Gramacy & Lee's function, shifted by 3/2.

    z [...] -> [...], dimensionless (FedSciML, Section 4.1).
    """
    return (z + 0.5) ** 4 - torch.sin(10 * torch.pi * z) / (2 * z + 3)


def schaffer(xy: Tensor, printed: bool = False) -> Tensor:
    """1/2 + (sin^2 a - 1/2) / (1 + r / 1000)^2 on [0, 1]^2, xy [..., 2] -> [...], dimensionless.

    a = r = 4 (x^2 + y^2), as in the authors' code, or ``printed``: a = x^2 - y^2, r = x^2 + y^2 (Schaffer N. 2,
    FedSciML, Section 4.2), which is nearly flat on the unit square.
    """
    x2, y2 = (xy**2).unbind(-1)
    a, r = (x2 - y2, x2 + y2) if printed else (4 * (x2 + y2), 4 * (x2 + y2))
    return 0.5 + (torch.sin(a) ** 2 - 0.5) / (1 + 0.001 * r) ** 2
