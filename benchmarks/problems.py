"""What the ways of the benchmark compute: six problems of the notebooks, each a federation at work in float32."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from fedlib.federated.batches import Local
from fedlib.federated.experiment import Experiment, train_arguments
from fedlib.federated.federation import Federation, centralised
from fedlib.federated.mixing import isolated
from fedlib.federated.partitions import deal, index_rule
from fedlib.models.jets import VALUE_ONLY
from fedlib.models.networks import CartesianDeepONet, DeepONet, glorot_normal, glorot_uniform, mlp
from fedlib.numerics.spaces import TERMS, chebyshev_draws
from fedlib.papers.fed_deeponet.physics import pendulum_triplets
from fedlib.papers.fedsciml.forward.problem import helmholtz
from fedlib.papers.fedsciml.functions.problem import wave
from fedlib.papers.fedsciml.operators.problem import learn_antiderivative, operator_loss
from fedlib.papers.fedstnn.network import SNN, init_snn
from fedlib.papers.fedstnn.scores import local_loss
from fedlib.papers.fedstnn.scores import squared_error as one_path_squared
from fedlib.streams import stream


class Problem(NamedTuple):
    """Federations with the same clients in every round, at work on an experiment.

    Args:
        product: (rows, inputs, outputs) of the matrix product that most of a step consists of.
        plain_loss: the loss as one writes it without the library, where that is another.
    """

    name: str
    experiment: Experiment
    pool: Mapping[str, Tensor]
    federations: list[Federation]
    product: tuple[int, int, int]
    plain_loss: Callable | None = None

    @property
    def clients(self) -> list[tuple[Federation, int]]:
        """(federation, number of the client in it) of every model."""
        return [(fed, k) for fed in self.federations for k in range(len(fed.shards))]

    @property
    def loss(self) -> Callable:
        """(predict, batch) -> scalar of one client."""
        return train_arguments(self.experiment)["loss"]


WIDTHS, POINTS, E = (1, 64, 64, 64, 1), 100, 5
LEVELS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 25, 33, 50, 100)
SEEDS = 5


LINE = Experiment(
    "Gramacy-Lee", mlp(WIDTHS, nn.Tanh), lambda predict, batch: predict(batch["x"]) - batch["f"][:, None],
    local=Local(E), init=glorot_uniform,
)  # fmt: skip


def on_the_line(federations: list[Federation], points: int) -> Problem:
    """Gramacy and Lee's function at equispaced points (notebook 04)."""
    x = torch.linspace(-1, 1, points)[:, None]
    return Problem("line", LINE, {"x": x, "f": wave(x)}, federations, (POINTS, 64, 64))


def line(K: int) -> Problem:
    """K neighbours with 100 points each."""
    return on_the_line([Federation(index_rule(POINTS * K, K, 1))], POINTS * K)


def sweep(seeds: int = SEEDS, levels=LEVELS) -> Problem:
    """All of notebook 04's first figure: per seed one centralised model, per level two clients, together and alone."""
    N, feds = 2 * POINTS, []
    for s in range(seeds):
        feds.append(centralised([np.arange(N)], seed=s))
        for shards in (index_rule(N, 2, p) for p in levels):
            feds += [Federation(shards, seed=s), Federation(shards, seed=s, mixing=isolated)]
    return on_the_line(feds, N)


K0 = 4 * np.pi


def nested_autograd_loss(predict, batch):
    """Helmholtz' residual as one writes it by hand: autograd.grad with create_graph, twice."""
    x = batch["x"].clone().requires_grad_()
    u = (x * (1 - x)).prod(1) * predict(x, VALUE_ONLY)[:, 0]
    gradient = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    second = [torch.autograd.grad(gradient[:, i].sum(), x, create_graph=True)[0][:, i] for i in (0, 1)]
    return (batch["w"] * (-second[0] - second[1] - K0**2 * u - batch["f"]) ** 2).sum()


def helmholtz_pinn() -> Problem:
    """2 x 2 blocks and two clients, each with its 288 points and the 96 shared ones (notebook 05)."""
    experiment = helmholtz(K0)
    data = experiment.data(2, 0)
    pool, fed = {name: value.float() for name, value in data.pool.items()}, Federation(data.owners)
    product = (4 * len(data.owners[0]), 64, 64)
    return Problem("Helmholtz", experiment, pool, [fed], product, plain_loss=nested_autograd_loss)


def antiderivative() -> Problem:
    """Two clients with 100 functions each, at 100 points (notebook 07)."""
    operator, n = learn_antiderivative(), 100
    draws = [chebyshev_draws(kind, TERMS, n, stream(0, "bench", i)) for i, kind in enumerate(("forward", "inverse"))]
    experiment = Experiment(
        "antiderivative", CartesianDeepONet(operator.branch, operator.trunk), loss=operator_loss, local=Local(E),
        init=glorot_normal, constants={name: value.float() for name, value in operator.constants().items()},
    )  # fmt: skip
    fed = Federation([np.arange(n), np.arange(n, 2 * n)])
    return Problem("antiderivative", experiment, operator.pairs(np.concatenate(draws)), [fed], (n, 100, 40))


def deeponet_error(predict, batch):
    """(1/n) sum (G(u)(y) - s)^2."""
    return (batch["w"] * (predict(batch["u"], batch["y"]) - batch["s"]) ** 2).sum()


def pendulum(K: int, n: int = 10_000, sensors: int = 100, batch: int = 64) -> Problem:
    """10 000 triplets dealt to K clients, mini-batches of 64, 20 steps a round (notebook 01)."""
    pool = {k: v.float() for k, v in pendulum_triplets(n, sensors, 0.2, stream(0, "train")).items()}
    net, fed = DeepONet((sensors, 50, 50), (1, 50, 50)), Federation(deal(n, K, stream(0, "deal")))
    experiment = Experiment("pendulum", net, loss=deeponet_error, local=Local(20, "steps", batch))
    return Problem("pendulum", experiment, pool, [fed], (batch, sensors, 50))


def stochastic(K: int = 10) -> Problem:
    """FedStNN's curve: the 10 clients of a round with 110 points each, batches of 16, 50 steps, squared error of one
    path, Adam new in every round (notebook 08, "as coded" but for the diffusion, which is a vector as printed)."""
    rng, n = stream(0, "bench"), 110 * K
    x = rng.uniform(0, 2 * np.pi, (n, 1)).astype(np.float32)
    pool = {"x": torch.as_tensor(x), "y": torch.as_tensor(np.sin(x[:, 0]) + 0.1 * rng.standard_normal(n)).float()}
    net, fed = SNN(1, 8, 16), Federation(index_rule(n, K, 1), lr=1e-4)
    experiment = Experiment(
        "stochastic", net, loss=local_loss(one_path_squared), local=Local(50, "steps", 16), init=init_snn,
        noise=net.noise(1), reset_moments=True,
    )  # fmt: skip
    return Problem("stochastic", experiment, pool, [fed], (16, 8, 16))


PROBLEMS = {
    "line": line,
    "sweep": sweep,
    "Helmholtz": helmholtz_pinn,
    "antiderivative": antiderivative,
    "pendulum": pendulum,
    "stochastic": stochastic,
}
