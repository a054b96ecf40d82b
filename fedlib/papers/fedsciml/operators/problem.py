"""Operators v -> u to learn (FedSciML, Section 6): reference solutions, float64, vectorised over functions.

Times are t in [0, 1], equispaced with both ends, and the space is x in [0, 1].
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from ....federated.batches import Local
from ....federated.experiment import Data, Experiment
from ....models.networks import CartesianDeepONet, glorot_normal, glorot_uniform
from ....numerics.metrics import percent
from ....numerics.solutions import antiderivative, burgers, diffusion_reaction, staircase
from ....numerics.spaces import TERMS, chebyshev_draws, chebyshev_series, support
from ....streams import stream


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

    def net(self) -> CartesianDeepONet:
        """Its network."""
        return CartesianDeepONet(self.branch, self.trunk)

    def constants(self) -> dict[str, Tensor]:
        """What all clients share: the points y [P, d] and their weights q [P]."""
        return {"y": torch.as_tensor(self.points), "q": torch.as_tensor(self.q)}

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


TITLES = {
    "antiderivative": "antiderivative",
    "diffusion_reaction": "diffusion-reaction",
    "burgers_2": "Burgers, 2 clients",
    "burgers_3": "Burgers, 3 clients",
}


def learn(name: str, places: Sequence[int] = ALL, times: Sequence[int] = ALL, nu: float = 0.1) -> Operator:
    """One of TITLES by name; places, times: lines of the grid that the loss sees; nu: viscosity of Burgers."""
    if name == "antiderivative":
        return learn_antiderivative()
    return learn_diffusion_reaction(places, times) if name == "diffusion_reaction" else learn_burgers(places, times, nu)


def operator_loss(predict: Callable, batch: Mapping[str, Tensor]) -> Tensor:
    """The loss of one client with n functions, sum_i w_i sum_j q_j (G(v_i)(y_j) - s_ij)^2, w_i = 1/n, q_j = 1/P.

    The points y and their weights q are ``Operator.constants``.
    """
    return batch["w"] @ ((predict(batch["u"], batch["y"]) - batch["s"]) ** 2 @ batch["q"])


def operator_error(predict: Callable, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """|G(v)(y) - s| / |s| in %, Frobenius norms over all functions and points."""
    gap, size = (((s**2 @ test["q"]).sum().sqrt()) for s in (predict(test["u"], test["y"]) - test["s"], test["s"]))
    return {"e": 100 * gap / size}


SUPPORTS = ("forward", "middle", "inverse")


CLIENTS = {name: SUPPORTS if name == "burgers_3" else ("forward", "inverse") for name in TITLES}
"""Which terms the clients of an operator know, see ``spaces.support``."""


def draws(kind: str, n: int, count: int, seed: int, use: str = "train") -> np.ndarray:
    """Chebyshev coefficients [count, TERMS] of functions that a client knows at level n."""
    return chebyshev_draws(kind, n, count, stream(seed, use, n, SUPPORTS.index(kind)))


def federated_operator(
    name: str, functions: int = 100, tests: int = 1000, places: Sequence[int] = ALL, times: Sequence[int] = ALL,
    nu: float = 0.1,
) -> Experiment:  # fmt: skip
    """Clients who know different functions learn an operator of TITLES (FedSciML, Section 6).

    A level n is how many of the ten terms a client's functions have; tested is with all ten, on the whole grid.
    functions: of a client. places, times: lines of the grid that enter the loss, see ``tensor_grid``.
    """
    operator, whole = learn(name, places, times, nu), learn(name, nu=nu)

    @cache
    def test(seed: int) -> dict[str, Tensor]:
        grid = (
            {}
            if len(operator.points) == len(whole.points)
            else dict(zip(GRID, whole.constants().values(), strict=True))
        )
        return whole.pairs(draws("forward", TERMS, tests, seed, "test")) | grid

    def data(n: int, seed: int) -> Data:
        c = np.concatenate([draws(kind, n, functions, seed) for kind in CLIENTS[name]])
        return Data(operator.pairs(c), [*np.arange(len(c)).reshape(-1, functions)], test(seed))

    return Experiment(
        TITLES[name], operator.net(), loss=operator_loss, data=data, rounds=10_000, local=Local(5),
        evaluate=error_on_grid, init=glorot_normal, constants=operator.constants(), level="n",
    )  # fmt: skip


GRID = ("grid", "grid weights")
"""Of a test on other points than those of the loss: its points y and their weights q."""


def error_on_grid(predict: Callable, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """``evaluate``: the error (%) on the points of the test, which are those of the loss unless it has its own."""
    grid = {"y": test[GRID[0]], "q": test[GRID[1]]} if GRID[0] in test else {}
    return {"error": operator_error(predict, {**test, **grid})["e"]}


def antiderivatives(functions_each: int = 100, tests: int = 200) -> Experiment:
    """Two clients learn to integrate, as rules against drift are compared on it (notebook 11)."""
    return federated_operator("antiderivative", functions_each, tests)._replace(init=glorot_uniform, level="level n")


# facts that need no training


def known_terms() -> tuple[list[int], list[int]]:
    """How many terms somebody knows, and how many both of two clients know, at level 1, 2, ..., TERMS."""
    terms = [[set(range(TERMS)[support(k, n)]) for k in ("forward", "inverse")] for n in range(1, TERMS + 1)]
    return [len(a | b) for a, b in terms], [len(a & b) for a, b in terms]


def staircase_error(c: np.ndarray) -> float:
    """How far the authors' solutions are from the antiderivative of the functions c [n, TERMS], in %."""
    x = np.linspace(0, 1, 100)
    return percent(staircase(chebyshev_series(c, x)), antiderivative(c, x))


def fading(c: np.ndarray, nu: float = 0.1) -> float:
    """What Burgers leaves at t = 1 of the variation in x of functions c [n, TERMS], in % of that at t = 0."""
    u = burgers(chebyshev_series(c, np.linspace(0, 1, 101))[:, :-1], nu)[:, :-1]  # [n, x, t], without the repeated end
    spread = [np.linalg.norm(v - v.mean(1, keepdims=True)) for v in (u[..., -1], u[..., 0])]
    return float(100 * spread[0] / spread[1])
