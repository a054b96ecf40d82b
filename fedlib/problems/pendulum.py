"""The pendulum under a torque: inputs, trajectories and training triplets (Fed-DeepONet, Section 4)."""

import numpy as np
import torch
from torch import Tensor

from ..numerics.solutions import pendulum
from ..numerics.solvers import hermite
from ..numerics.spaces import grf

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
