"""Forward problems for physics-informed networks, each a small frozen object.

Every problem is A[u] = f on a box, with the boundary and initial conditions built in: u = g + b N, where N is the
network, g satisfies the conditions and b vanishes where they hold. g, b and f are fixed functions, so their jets
at the training points are data of the pool, and a step computes the jet of N only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import qmc
from torch import Tensor, nn

from ..federated.partitions import hammersley, index_rule, owned, per_client
from ..federated.stack import predict
from ..models.jets import VALUE_ONLY, Jet, JetNet, Sine, closed, function_jet, product, product_rule
from ..models.networks import mlp
from ..numerics.solutions import allen_cahn_reference


@dataclass(frozen=True)
class Problem:
    """A[u] = f with u = g + b N.

    Args:
        coordinates: a letter per input, e.g. "xt". domain: (low, high) of each.
        derivatives: channels that the operator needs. operator: jet of u -> A[u] at the points.
        f, g, b, solution: torch functions of the points [n, d] -> [n]; solution is the exact or reference u.
        points: level -> (private points [N, d], one index array per client). levels: the paper's.
        shared: points [S, d] that every client owns besides. test: where the error is measured [T, d].
        cut: how many leading coordinates the partition cuts; clients have the same points in the others.
        ends, end_terms: points [n, d] and operator of soft conditions there, known to every client; their squares are
            added to the loss.
        widths, activation, rounds: the paper's network and communication; E = 5 local steps, Adam 1e-3.
    """

    name: str
    coordinates: str
    domain: tuple[tuple[float, float], ...]
    derivatives: tuple[str, ...]
    operator: Callable[[Jet], Tensor]
    f: Callable[[Tensor], Tensor]
    g: Callable[[Tensor], Tensor]
    b: Callable[[Tensor], Tensor]
    solution: Callable[[Tensor], Tensor]
    points: Callable[[int], tuple[np.ndarray, list[np.ndarray]]]
    levels: tuple[int, ...]
    test: np.ndarray
    shared: np.ndarray
    widths: tuple[int, ...]
    rounds: int
    cut: int
    activation: Callable[[], nn.Module] = nn.Tanh
    clients: int = 2
    ends: np.ndarray | None = None
    end_terms: Callable[[Jet], Tensor] | None = None

    def net(self) -> JetNet:
        """The network N with its jet."""
        return JetNet(mlp(self.widths, self.activation), self.coordinates, self.derivatives)


def fields(problem: Problem, x: np.ndarray) -> dict[str, Tensor]:
    """What a client knows at its points x [n, d]: x, f [n], and the jets of g and b as columns [n, channels]."""
    x = torch.as_tensor(x, dtype=torch.float64)
    known = {"x": x, "f": problem.f(x)}
    for name in "gb":
        jets = function_jet(getattr(problem, name), x, problem.derivatives, problem.coordinates)
        known[name] = torch.stack(list(jets.values()), 1)
    return known


def constrained(problem: Problem) -> Callable[[Jet, Mapping[str, Tensor]], Jet]:
    """(jet of N, fields) -> jet of u = g + b N, each [n]."""
    rules = {name: product_rule(name) for name in closed(problem.derivatives)}

    def transform(network: Jet, at: Mapping[str, Tensor]) -> Jet:
        g, b = (dict(zip(rules, at[name].unbind(-1), strict=True)) for name in "gb")
        bN = product(b, {name: v[:, 0] for name, v in network.items()}, rules)
        return {name: g[name] + bN[name] for name in rules}

    return transform


def residual_loss(problem: Problem) -> Callable:
    """The engine's loss of ONE client: sum of w (A[u] - f)^2, and the soft conditions at the ends, if there are any."""
    transform = constrained(problem)

    def loss(predict, batch):
        u = transform(predict(batch["x"]), batch)
        total = (batch["w"] * (problem.operator(u) - batch["f"]) ** 2).sum()
        if problem.ends is None:
            return total
        at = {name.removeprefix("end_"): value for name, value in batch.items() if name.startswith("end_")}
        return total + (problem.end_terms(transform(predict(at["x"]), at)) ** 2).sum()

    return loss


def constants(problem: Problem) -> dict[str, Tensor]:
    """What every client knows besides its points: the ``fields`` of the ends."""
    return {} if problem.ends is None else {f"end_{k}": v for k, v in fields(problem, problem.ends).items()}


def layout(problem: Problem, levels: Sequence[int], share: bool = True):
    """The points of all levels in one pool, and who owns them.

    share: every client also owns the problem's shared points.

    Returns:
        (pool of ``fields``, private {level: K index arrays}, shards {level: K index arrays}).
    """
    sets = {level: problem.points(level) for level in levels}
    first = np.cumsum([0] + [len(x) for x, _ in sets.values()])
    private = {level: [start + s for s in own] for start, (level, (_, own)) in zip(first, sets.items(), strict=False)}
    common = first[-1] + np.arange(len(problem.shared) if share else 0)
    pool = fields(problem, np.concatenate([*(x for x, _ in sets.values()), problem.shared]))
    return pool, private, {level: [np.concatenate([s, common]) for s in own] for level, own in private.items()}


def solve(problem: Problem, row: Tensor, x: np.ndarray | None = None) -> np.ndarray:
    """u = g + b N of one model with parameters row [P], at points [n, d] (the test points by default) -> [n]."""
    x = torch.as_tensor(problem.test if x is None else x)
    N = predict(problem.net(), row, x.to(row.dtype), VALUE_ONLY)[:, 0]
    return (problem.g(x) + problem.b(x) * N).numpy()


def grid(*axes: np.ndarray) -> np.ndarray:
    """Tensor grid of one-dimensional axes as points [n, d], the first axis slowest."""
    return np.stack([c.ravel() for c in np.meshgrid(*axes, indexing="ij")], 1)


def poisson(n: int = 32) -> Problem:
    """-u'' = sum_{i <= 4} i sin(i x) + 8 sin(8 x) on [0, pi], u(0) = 0, u(pi) = pi (FedSciML, Section 5.2)."""
    x = np.linspace(0, np.pi, n)[:, None]

    return Problem(
        name="Poisson", coordinates="x", domain=((0, np.pi),), derivatives=("xx",),
        operator=lambda u: -u["xx"],
        f=lambda x: sum(i * (i * x[:, 0]).sin() for i in (1, 2, 3, 4, 8)),
        g=lambda x: x[:, 0],
        b=lambda x: x[:, 0].tanh() * (torch.pi - x[:, 0]).tanh(),
        solution=lambda x: x[:, 0] + sum((i * x[:, 0]).sin() / i for i in (1, 2, 3, 4, 8)),
        points=lambda level: (x, index_rule(n, 2, per_client(level, 2))),
        levels=(2, 4, 6, 8, 10, 16, 32), test=np.linspace(0, np.pi, 100)[:, None], shared=x[:0],
        widths=(1, 20, 20, 20, 1), rounds=1000, cut=1,
    )  # fmt: skip


def helmholtz(k0: float = 4 * np.pi, side: int = 24, boundary: int = 96) -> Problem:
    """-Laplace(u) - k0^2 u = k0^2 sin(k0 x) sin(k0 y) on [0, 1]^2, zero on the boundary (FedSciML, Section 5.3).

    A level is the number s of blocks per axis, each with floor(side / s)^2 Hammersley points of its own.
    shared: equispaced points on the boundary; the authors draw 96 there by Hammersley.
    """

    if boundary % 4:
        raise ValueError(f"{boundary} shared boundary points: expected a multiple of 4, as many on each side")

    def points(s):
        if not 2 <= s <= side:
            raise ValueError(f"{s} blocks per axis: expected 2 to {side}, so that every block has a point")
        local = hammersley((side // s) ** 2)
        i, j = grid(np.arange(s), np.arange(s)).T
        owner = np.repeat((i + j) % 2, len(local))
        if s % 2:  # the authors split the last block of an odd board into its lower and upper half
            owner[-len(local) :] = np.arange(len(local)) >= len(local) // 2
        return ((np.stack([i, j], 1)[:, None] + local) / s).reshape(-1, 2), owned(owner, 2)

    along = np.linspace(0, 1, boundary // 4, endpoint=False)
    frame = np.concatenate([[(z, 0), (1, z), (1 - z, 1), (0, 1 - z)] for z in along]) if boundary else np.zeros((0, 2))
    inner = np.arange(1, 61) / 61
    return Problem(
        name="Helmholtz", coordinates="xy", domain=((0, 1), (0, 1)), derivatives=("xx+yy",),
        operator=lambda u: -u["xx+yy"] - k0**2 * u[""],
        f=lambda x: k0**2 * (k0 * x).sin().prod(1),
        g=lambda x: 0 * x[:, 0],
        b=lambda x: (x * (1 - x)).prod(1),
        solution=lambda x: (k0 * x).sin().prod(1), points=points,
        levels=tuple(s for s in (2, 4, 6, 10, 12, 24) if s <= side), test=grid(inner, inner), shared=frame,
        widths=(2, 64, 64, 64, 1), activation=Sine, rounds=2000, cut=2,
    )  # fmt: skip


def allen_cahn(
    clients: int = 2, lines: int = 80, times: int = 100, boundary: int = 400, initial: int = 800,
    d: float = 1e-3, k: float = 5.0, activation: Callable[[], nn.Module] = nn.Tanh,
) -> Problem:  # fmt: skip
    """u_t = d u_xx + k (u - u^3), u(x, 0) = x^2 cos(pi x), u(+-1, t) = -1, x in [-1, 1], t in [0, 1].

    (FedSciML, Section 5.4.) Two clients: ``lines`` x-lines with ``times`` equispaced times each, and shared points on
    the boundary and the initial line. Three: lines x times points in all, Hammersley in each x-slab, nothing shared.
    activation: tanh in the authors' code, sine in the paper's Table 4.
    """
    tensor = grid(np.linspace(-1, 1, lines), np.linspace(0, 1, times))

    def slabs(level):
        m = lines * times // level
        per_client(level, clients)
        local = np.stack([qmc.Halton(1, scramble=False).random(m)[:, 0], np.arange(m) / m], 1)
        x = np.concatenate([[2 * i / level - 1, 0] + [2 / level, 1] * local for i in range(level)])
        return x, owned(np.repeat(np.arange(level) % clients, m), clients)

    def line_pieces(level):
        own = index_rule(lines, 2, per_client(level, 2))
        return tensor, [(times * s[:, None] + np.arange(times)).ravel() for s in own]

    t = 1 - np.arange(boundary // 2) / max(1, boundary // 2)  # t = 0 belongs to the initial line
    common = [grid(np.array([-1.0, 1.0]), t), grid(np.linspace(-1, 1, initial), np.zeros(1))]
    two = clients == 2
    xs, ts = np.linspace(-1, 1, 201), np.linspace(0, 1, 101)
    return Problem(
        name=f"Allen-Cahn, {clients} clients", coordinates="xt", domain=((-1, 1), (0, 1)), derivatives=("t", "xx"),
        operator=lambda u: u["t"] - d * u["xx"] + k * (u[""] ** 3 - u[""]),
        f=lambda x: 0 * x[:, 0],
        g=lambda x: x[:, 0] ** 2 * (torch.pi * x[:, 0]).cos(),
        b=lambda x: x[:, 1] * (1 - x[:, 0] ** 2),
        solution=lambda x: allen_cahn_reference(x, d, k), points=line_pieces if two else slabs,
        levels=(2, 4, 6, 8, 10, 20, 32, 40) if two else tuple(clients * p for p in (1, 2, 3, 4, 5, 6, 10, 20)),
        test=grid(xs, ts), shared=np.concatenate(common) if two else tensor[:0],
        widths=(2, 64, 64, 64, 1), activation=activation, rounds=10_000, cut=1, clients=clients,
    )  # fmt: skip


def euler_beam(n: int = 50) -> Problem:
    """u'''' = -1 on [0, 1], clamped u(0) = u'(0) = 0 by x^2 N, free u''(1) = u'''(1) = 0 as soft conditions.

    (The authors' journal code; its points are not published, here n equispaced inner ones. Both ends are shared.)
    """
    x = np.arange(1, n + 1)[:, None] / (n + 1)
    return Problem(
        name="Euler beam", coordinates="x", domain=((0, 1),), derivatives=("xxxx",),
        operator=lambda u: u["xxxx"],
        f=lambda x: -torch.ones_like(x[:, 0]),
        g=lambda x: 0 * x[:, 0],
        b=lambda x: x[:, 0] ** 2,
        solution=lambda x: (-(x**4) / 24 + x**3 / 6 - x**2 / 4)[:, 0],
        points=lambda level: (x, index_rule(n, 2, per_client(level, 2))),
        levels=(2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 50), test=np.arange(1, 101)[:, None] / 101,
        shared=np.array([[0.0], [1.0]]), widths=(1, 20, 20, 20, 1), rounds=1000, cut=1,
        ends=np.array([[1.0]]), end_terms=lambda u: torch.stack([u["xx"], u["xxx"]]),
    )  # fmt: skip
