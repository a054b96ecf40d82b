"""FedSciML, Section 5.6: 0.01 u'' - k(x) u = sin 2 pi x on [0, 1], u(0) = u(1) = 0, with an unknown rate k(x).

The unknown function is a second network, trained and averaged with the first. Only the observations of u are divided
among the clients. Every client knows the same points of the equation, so these are constants of the loss.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

from ....federated.batches import Local
from ....federated.experiment import Data, Experiment
from ....federated.partitions import index_rule, per_client
from ....models.jets import VALUE_ONLY, Jet, JetNet, closed, function_jet, product, product_rule
from ....models.networks import glorot_uniform, mlp
from ....numerics.heterogeneity import mean_pairwise_w1
from ....numerics.metrics import relative_l2
from ....numerics.solutions import DIFFUSION, reaction_rate, source, steady_reaction


class Pair(nn.Module):
    """Two separate networks: N_u with its jet, and k."""

    def __init__(self, widths: Sequence[int] = (1, 20, 20, 20, 1)):
        super().__init__()
        self.u, self.k = JetNet(mlp(widths, nn.Tanh), "x", ("xx",)), mlp(widths, nn.Tanh)

    def forward(self, x: Tensor, value_only: bool = False) -> tuple[Jet | Tensor, Tensor]:
        """x [n, 1] -> (jet of N_u or its value, k [n])."""
        return self.u(x, value_only), self.k(x)[:, 0]


def vanishing(x: Tensor) -> Tensor:
    """b(x) = tanh(x) tanh(1 - x), x [n, 1] -> [n]: u = b N_u is zero at both ends."""
    return (x.tanh() * (1 - x).tanh())[:, 0]


RULES = {channel: product_rule(channel) for channel in closed(("xx",))}


def equation_points(inside: int, ends: bool) -> np.ndarray:
    """The points [n, 1] where the equation is asked for, equispaced: i / (inside + 1), and with ends 0 and 1, too."""
    points = np.linspace(0, 1, inside + 2)[:, None]
    return points if ends else points[1:-1]


def constants(points: np.ndarray) -> dict[str, Tensor]:
    """What all clients know at the points of the equation [n, 1]: where they are, the source f, and the jet of b."""
    x = torch.as_tensor(points)
    b = function_jet(vanishing, x, ("xx",), "x")
    return {"points": x, "f": source(x)[:, 0]} | {f"b{channel}": values for channel, values in b.items()}


def residual(predict: Callable, batch: Mapping[str, Tensor]) -> Tensor:
    """0.01 u'' - k u - f of ONE model at the points of the equation, [n]."""
    N, k = predict(batch["points"])
    jet_b = {channel: batch[f"b{channel}"] for channel in RULES}
    u = product(jet_b, {channel: values[:, 0] for channel, values in N.items()}, RULES)
    return DIFFUSION * u["xx"] - k * u[""] - batch["f"]


def loss(predict: Callable, batch: Mapping[str, Tensor]) -> Tensor:
    """Of ONE client: the mean square of the residual, which all share, and that of u - u_i at its own observations."""
    observed = vanishing(batch["x"]) * predict(batch["x"], VALUE_ONLY)[0][:, 0]
    return (residual(predict, batch) ** 2).mean() + (batch["w"] * (observed - batch["u"]) ** 2).sum()


def answer(predict: Callable, test: Mapping[str, Tensor]) -> Tensor:
    """u and k of ONE model, [n, 2]."""
    N, k = predict(test["x"], VALUE_ONLY)
    return torch.stack([vanishing(test["x"]) * N[:, 0], k], 1)


def evaluate(predict: Callable, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Relative L2 errors (%) of ONE model, relative to the truth: of u, of k."""
    fields = answer(predict, test)
    return {f"error_{name}": 100 * relative_l2(fields[:, i], test["u"][:, i]) for i, name in enumerate("uk")}


def weak(u: np.ndarray) -> np.ndarray:
    """Where |u| is below a fifth of its peak [n]: there the data say little about k, which enters as k u only."""
    return np.abs(u) < 0.2 * np.abs(u).max()


@cache
def truth(version: str, n: int = 1001) -> dict[str, Tensor]:
    """x [n, 1], and beside it u and k [n, 2], a test set."""
    x = np.linspace(0, 1, n)
    u_and_k = np.stack([steady_reaction(x, version), reaction_rate(x, version)], 1)
    return {"x": torch.as_tensor(x)[:, None], "u": torch.as_tensor(u_and_k)}


def reaction(inside: int = 10, ends: bool = False, version: str = "paper", observations: int = 24) -> Experiment:
    """u is observed at equispaced places, both ends included; a level is the number of pieces that two clients own.

    inside, ends: points of the equation, see ``equation_points``. The paper has ten, its code 8 inside and the ends.
    version: of k, "paper" or "code", see ``reaction_rate``.
    """

    @cache
    def data(level, seed: int) -> Data:
        x = np.linspace(0, 1, observations)
        pool = {"x": torch.as_tensor(x)[:, None], "u": torch.as_tensor(steady_reaction(x, version))}
        return Data(pool, index_rule(observations, 2, per_client(level, 2)), truth(version))

    def distance(data: Data) -> float:
        return mean_pairwise_w1([data.pool["x"][shard].numpy() for shard in data.owners])

    return Experiment(
        "Diffusion and reaction", Pair(), loss=loss, data=data, evaluate=evaluate, rounds=20_000, local=Local(5),
        lr=1e-4, init=glorot_uniform, constants=constants(equation_points(inside, ends)), answer=answer, level="pieces",
        distance=distance,
    )  # fmt: skip
