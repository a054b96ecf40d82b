"""The pendulum under a torque: inputs, trajectories, triplets, loss and errors (Fed-DeepONet, Section 4)."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from ...numerics.metrics import relative_l2
from ...numerics.solutions import pendulum
from ...numerics.solvers import hermite
from ...numerics.spaces import grf
from ...streams import stream

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


def pendulum_trajectories(u: np.ndarray, k: float | np.ndarray = 1.0, T: float = 1.0) -> dict[str, Tensor]:
    """Inputs on the half-step grid [n, ...] -> u [n, m] and the angle x1 [n, m], both at the m sensors; in T s."""
    x = pendulum(u, k, T)
    return {"u": torch.as_tensor(u[:, :: 2 * SUBSTEPS]), "x1": torch.as_tensor(x[:, ::SUBSTEPS, 0].copy())}


def pendulum_triplets(
    n: int, m: int, length_scale: float, rng: np.random.Generator, k: float | np.ndarray = 1.0, T: float = 1.0
) -> dict[str, Tensor]:  # fmt: skip
    """n training triplets (u, y, G(u)(y)): a fresh GRF input each, and one time y ~ U[0, 1] for it, in units of T s.

    Returns:
        u [n, m] (sensors), y [n, 1], s [n] = x1(T y) (rad), float64. Fed-DeepONet, Section 4, has T = 1.
    """
    t = half_steps(m)
    u, y = grf(t, n, length_scale / T, rng), rng.uniform(size=n)
    x = pendulum(u, k, T)
    s = hermite(t[::2], x[..., 0], T * x[..., 1], y)
    triplets = {"u": u[:, :: 2 * SUBSTEPS].copy(), "y": y[:, None], "s": s}
    return {name: torch.as_tensor(value) for name, value in triplets.items()}


def with_stiffness(u: Tensor, k: float | np.ndarray, hidden: bool = False) -> Tensor:
    """Branch input of the pendulum library: u [n, m] and the stiffness, mapped from [0.5, 1.5] to [-1, 1].

    hidden: the network is told 0 for every pendulum. Returns [n, m + 1]. (Fed-DeepONet, Experiment 4.)
    """
    column = torch.as_tensor(np.broadcast_to(2.0 * (np.asarray(k, float) - 1), len(u)).copy(), dtype=u.dtype)
    return torch.cat([u, column[:, None] * (not hidden)], dim=1)


def times(m: int) -> Tensor:
    """The sensors as points of the trunk [m, 1] (s), float32."""
    return torch.as_tensor(np.linspace(0, 1, m), dtype=torch.float32)[:, None]


def random_tests(
    n: int, m: int, length_scale: float, seed: int, k: float | np.ndarray = 1.0, use: str = "test"
) -> dict[str, Tensor]:
    """Trajectories of n draws of a GRF. use: of its stream, "test", or "validation" for those by which one chooses."""
    return pendulum_trajectories(grf(half_steps(m), n, length_scale, stream(seed, use)), k)


def unseen_tests(
    m: int, stiffness: Sequence[float] | np.ndarray = (1.0,), T: float = 1.0
) -> dict[str, Tensor]:  # fmt: skip
    """Trajectories of the 3 inputs outside the training distribution, with n stiffnesses [n] or own ones [3, n]."""
    u = np.stack([f(T * half_steps(m)) for f in OUT_OF_DISTRIBUTION.values()])
    k = np.broadcast_to(stiffness, (len(u), np.shape(stiffness)[-1]))
    return pendulum_trajectories(np.repeat(u, k.shape[1], axis=0), k.ravel(), T)


def both_tests(
    random: Mapping[str, Tensor], unseen: Mapping[str, Tensor], **more: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """What ``errors`` is tested on: "GRF u", "GRF x1", "unseen u", "unseen x1", and the same for each set of more."""
    sets = {"GRF": random, "unseen": unseen, **more}
    return {f"{name} {k}": cases[k] for name, cases in sets.items() for k in ("u", "x1")}


def loss(predict: Callable, batch: Mapping[str, Tensor]) -> Tensor:
    """Mean square of G(u_i)(y_i) - s_i over a client's triplets, for its weights are w_i = 1 / n."""
    return (batch["w"] * (predict(batch["u"], batch["y"]) - batch["s"]) ** 2).sum()


def errors(predict: Callable, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """``evaluate`` of ``train``: the relative L2 error (%) of every trajectory of each set of ``both_tests``, at the
    times test["times"] [m, 1].

    A hundred trajectories at a time: for each of them the network makes [m, p] products.
    """

    def of_set(name: str) -> Tensor:
        pieces = zip(test[f"{name} u"].split(100), test[f"{name} x1"].split(100), strict=True)
        return torch.cat([100 * relative_l2(predict(u[:, None], test["times"]), x1) for u, x1 in pieces])

    return {name: of_set(name) for name in (key.removesuffix(" u") for key in test if key.endswith(" u"))}


def mean_errors(predict: Callable, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """``evaluate`` of ``train``: means over the trajectories in %."""
    return {name: e.mean() for name, e in errors(predict, test).items()}
