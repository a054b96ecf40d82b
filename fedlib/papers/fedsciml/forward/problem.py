"""FedSciML, Sections 5.2 to 5.4: differential equations A[u] = f, solved together by clients who each know f in places.

An equation is a function of a dozen lines that returns an ``Experiment``. To add one, write it below, and give it a
line in ``study.STUDIES``.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from ....federated.experiment import Experiment, halved
from ....federated.partitions import halton, hammersley, index_rule, owned, per_client
from ....federated.pinn import Equation, as_points, pinn
from ....models.jets import Sine
from ....numerics.solutions import allen_cahn_reference


def tensor_grid(*axes: np.ndarray) -> np.ndarray:
    """Tensor grid of one-dimensional axes as points [n, d], the first axis slowest."""
    return np.stack([c.ravel() for c in np.meshgrid(*axes, indexing="ij")], 1)


def poisson_equation() -> Equation:
    """-u'' = sum i sin(i x), i = 1, 2, 3, 4, 8, on [0, pi]; u(0) = 0, u(pi) = pi (FedSciML, Section 5.2)."""
    waves = (1, 2, 3, 4, 8)
    return Equation(
        operator=lambda u: -u["xx"],
        f=lambda x: sum(i * (i * x[:, 0]).sin() for i in waves),
        g=lambda x: x[:, 0],
        b=lambda x: x[:, 0].tanh() * (torch.pi - x[:, 0]).tanh(),
        solution=lambda x: x[:, 0] + sum((i * x[:, 0]).sin() / i for i in waves),
        derivatives=["xx"],
    )


def poisson(n: int = 32) -> Experiment:
    """``poisson_equation`` at n equispaced points, in pieces that two clients own in turn."""
    x = as_points(np.linspace(0, np.pi, n)[:, None], "x")
    return pinn(
        "Poisson", poisson_equation(), (1, 20, 20, 20, 1), "x",
        points=lambda level: (x, index_rule(n, 2, per_client(level, 2))),
        test=np.linspace(0, np.pi, 100)[:, None], rounds=1000,
    )  # fmt: skip


def poisson_in_halves() -> Experiment:
    """Poisson's equation, every second test point for the errors, those between them for choices."""
    return halved(poisson())


def helmholtz(k0: float = 4 * np.pi, side: int = 24, boundary: int = 96) -> Experiment:
    """-Laplace(u) - k0^2 u = k0^2 sin(k0 x) sin(k0 y) on [0, 1]^2, zero on the boundary (FedSciML, Section 5.3).

    A level is the number s of blocks per axis, each with floor(side / s)^2 Hammersley points of its own. boundary: how
    many points of the boundary all clients share, equispaced; the authors draw 96 there by Hammersley.
    """
    if boundary % 4:
        raise ValueError(f"{boundary} shared boundary points: expected a multiple of 4, as many on each side")

    def points(s):
        if not 2 <= s <= side:
            raise ValueError(f"{s} blocks per axis: expected 2 to {side}, so that every block has a point")
        local = hammersley((side // s) ** 2)
        i, j = tensor_grid(np.arange(s), np.arange(s)).T
        owner = np.repeat((i + j) % 2, len(local))
        if s % 2:  # the authors split the last block of an odd board into its lower and upper half
            owner[-len(local) :] = np.arange(len(local)) >= len(local) // 2
        x = ((np.stack([i, j], 1)[:, None] + local) / s).reshape(-1, 2)
        return torch.as_tensor(x), owned(owner, 2)

    def solution(x):  # not by prod(1), for whose derivative torch loads its compiler
        return (k0 * x[:, 0]).sin() * (k0 * x[:, 1]).sin()

    along = np.linspace(0, 1, boundary // 4, endpoint=False)
    frame = np.concatenate([[(z, 0), (1, z), (1 - z, 1), (0, 1 - z)] for z in along]) if boundary else None
    inner = np.arange(1, 61) / 61
    equation = Equation(
        operator=lambda u: -u["xx+yy"] - k0**2 * u[""],
        f=lambda x: k0**2 * solution(x),
        g=lambda x: 0 * x[:, 0],
        b=lambda x: x[:, 0] * (1 - x[:, 0]) * x[:, 1] * (1 - x[:, 1]),
        solution=solution,
        derivatives=["xx+yy"],
    )
    return pinn(
        "Helmholtz", equation, (2, 64, 64, 64, 1), "xy", activation=Sine,
        points=points, shared=frame, cut=2, level="blocks per axis", test=tensor_grid(inner, inner), rounds=2000,
    )  # fmt: skip


def allen_cahn(
    clients: int = 2, lines: int = 80, times: int = 100, boundary: int = 400, initial: int = 800,
    d: float = 1e-3, k: float = 5.0, activation: Callable[[], nn.Module] = nn.Tanh,
) -> Experiment:  # fmt: skip
    """u_t = d u_xx + k (u - u^3), u(x, 0) = x^2 cos(pi x), u(+-1, t) = -1, x in [-1, 1], t in [0, 1].

    (FedSciML, Section 5.4.) Two clients: ``lines`` x-lines with ``times`` equispaced times each, and shared points on
    the boundary and the initial line. Three: lines x times points in all, Hammersley in each x-slab, nothing shared.
    activation: tanh in the authors' code, sine in the paper's Table 4.
    """
    tensor = as_points(tensor_grid(np.linspace(-1, 1, lines), np.linspace(0, 1, times)), "xt")

    def slabs(level):
        m = lines * times // level
        per_client(level, clients)
        local = np.stack([halton(m)[:, 0], np.arange(m) / m], 1)
        x = np.concatenate([[2 * i / level - 1, 0] + [2 / level, 1] * local for i in range(level)])
        return as_points(x, "xt"), owned(np.repeat(np.arange(level) % clients, m), clients)

    def line_pieces(level):
        shards = index_rule(lines, 2, per_client(level, 2))
        return tensor, [(times * shard[:, None] + np.arange(times)).ravel() for shard in shards]

    t = 1 - np.arange(boundary // 2) / max(1, boundary // 2)  # t = 0 belongs to the initial line
    sides, start = tensor_grid(np.array([-1.0, 1.0]), t), tensor_grid(np.linspace(-1, 1, initial), np.zeros(1))
    two = clients == 2
    equation = Equation(
        operator=lambda u: u["t"] - d * u["xx"] + k * (u[""] ** 3 - u[""]),
        f=lambda x: 0 * x[:, 0],
        g=lambda x: x[:, 0] ** 2 * (torch.pi * x[:, 0]).cos(),
        b=lambda x: x[:, 1] * (1 - x[:, 0] ** 2),
        solution=lambda x: allen_cahn_reference(x, d, k),
        derivatives=["t", "xx"],
    )
    return pinn(
        f"Allen-Cahn, {clients} clients", equation, (2, 64, 64, 64, 1), "xt", activation=activation,
        points=line_pieces if two else slabs, shared=np.concatenate([sides, start]) if two else None,
        test=tensor_grid(np.linspace(-1, 1, 201), np.linspace(0, 1, 101)), rounds=10_000,
    )  # fmt: skip


def euler_beam(n: int = 50, share: bool = True) -> Experiment:
    """u'''' = -1 on [0, 1], clamped u(0) = u'(0) = 0 by x^2 N, free u''(1) = u'''(1) = 0 as soft conditions.

    (The authors' journal code; its points are not published, here n equispaced inner ones. share: both ends, too.)
    """
    x = as_points(np.arange(1, n + 1)[:, None] / (n + 1), "x")
    equation = Equation(
        operator=lambda u: u["xxxx"],
        f=lambda x: -torch.ones_like(x[:, 0]),
        g=lambda x: 0 * x[:, 0],
        b=lambda x: x[:, 0] ** 2,
        solution=lambda x: (-(x**4) / 24 + x**3 / 6 - x**2 / 4)[:, 0],
        derivatives=["xxxx"],
    )
    return pinn(
        "Euler beam", equation, (1, 20, 20, 20, 1), "x",
        points=lambda level: (x, index_rule(n, 2, per_client(level, 2))),
        ends=np.array([[1.0]]), end_terms=lambda u: torch.stack([u["xx"], u["xxx"]]),
        shared=np.array([[0.0], [1.0]]) if share else None, test=np.arange(1, 101)[:, None] / 101, rounds=1000,
    )  # fmt: skip


CLOSED_FORM = {"poisson": lambda n: np.pi / n, "allen_cahn_2": lambda n: 2 / n, "beam": lambda n: 1 / n}
"""W1 of two clients who own n intervals of a line in turn: its length over n."""
