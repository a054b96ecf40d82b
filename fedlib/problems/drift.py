"""Problems on which federated training loses, each at one level of heterogeneity (notebook 11, beyond the papers)."""

from collections.abc import Callable, Hashable
from functools import cache

import numpy as np
import torch
from torch import Tensor

from ..federated.backends import client_gradient, flat
from ..federated.batches import Local
from ..federated.experiment import Data, Experiment, halved, train_arguments
from ..federated.federation import Federation
from ..federated.stack import as_dict, draw_parameters
from ..models.networks import DeepONet, glorot_uniform
from ..papers.fed_deeponet import physics as pendulum
from ..papers.fed_deeponet.shards import problem as shards
from ..papers.fedsciml.forward import problem as forward
from ..papers.fedsciml.functions import problem as functions
from ..streams import stream
from . import operator_study
from .operators import learn_antiderivative, operator_error, operator_loss


def steps(experiment: Experiment) -> int:
    """Local steps of a client in all, those of the problem's own notebook."""
    return experiment.rounds * experiment.local.updates


def gramacy_lee(n: int = 200, width: int = 64) -> Experiment:
    """Two clients own every other one of some equal pieces of a line (notebook 04)."""
    return halved(functions.gramacy_lee(n=n, width=width))


def unequal(n: int = 200, width: int = 64) -> Experiment:
    """``gramacy_lee`` with unequal clients: the second one owns every fourth piece, p = 3/4 and 1/4."""
    line = functions.gramacy_lee(n=n, width=width)

    def data(pieces: int, seed: int) -> Data:
        piece = np.arange(n) * pieces // n
        owners = [np.flatnonzero(piece % 4 != 3), np.flatnonzero(piece % 4 == 3)]
        return line.data(2, seed)._replace(owners=owners)

    return halved(line._replace(name="Gramacy-Lee, unequal", data=data))


def schaffer(n: int = 400, width: int = 64) -> Experiment:
    """Two clients own every other one of some slabs of the square (notebook 04)."""
    return halved(functions.schaffer(n=n, width=width))


def antiderivative(functions_each: int = 100, tests: int = 200) -> Experiment:
    """Two clients who know the first and the last terms of an input (notebook 07)."""
    operator = learn_antiderivative()

    def data(level: int, seed: int) -> Data:
        cases, c = operator_study.federations("antiderivative", functions_each, [seed], [level], isolated=False)
        pairs = operator.pairs(operator_study.draws("forward", 10, tests, seed, "test"))
        return Data(operator.pairs(c), cases["federated", level, seed].shards, pairs)

    return halved(
        Experiment(
            "antiderivative", operator.net(), loss=operator_loss, data=data, rounds=10_000, local=Local(5),
            evaluate=lambda predict, test: {"error": operator_error(predict, test)["e"]}, init=glorot_uniform,
            constants=operator.constants(), level="level n",
        )
    )  # fmt: skip


def skewed(kind: str, n: int = 10_000, clients: int = 20, m: int = 100, hidden: int = 50) -> Experiment:
    """The pendulum with label-sorted "shards" per client, or two "fields" that differ by level (notebook 02)."""

    sizes = {"triplets": n, "clients": clients, "sensors": m}

    @cache
    def data(level: float, seed: int) -> Data:
        if kind == "shards":
            return shards.label_sorted(**sizes).data(int(level), seed)
        return shards.two_fields(**sizes, deltas=[level]).data(level, seed)

    net = DeepONet((m, hidden, hidden), (1, hidden, hidden), domain=(0.0, 1.0))
    return Experiment(
        "pendulum", net, loss=pendulum.loss, data=data,
        evaluate=lambda predict, test: {"error": pendulum.mean_errors(predict, test)["GRF"]}, rounds=200,
        local=Local(20, "steps", 64), init=glorot_uniform, constants={"times": pendulum.times(m)},
    )  # fmt: skip


TASKS: dict[str, tuple[Callable[[], Experiment], Hashable]] = {
    "Gramacy-Lee, 2 subdomains": (gramacy_lee, 2),
    "Gramacy-Lee, 10 subdomains": (gramacy_lee, 10),
    "Gramacy-Lee, 20 subdomains": (gramacy_lee, 20),
    "Gramacy-Lee, 50 subdomains": (gramacy_lee, 50),
    "Gramacy-Lee, 20, unequal": (unequal, 20),
    "Schaffer, 4 slabs": (schaffer, 4),
    "Poisson, 8 subdomains": (lambda: halved(forward.poisson()), 8),
    "Poisson, 32 subdomains": (lambda: halved(forward.poisson()), 32),
    "Helmholtz, 4 x 4 blocks": (lambda: halved(forward.helmholtz()), 4),
    "Allen-Cahn, 4 subdomains": (lambda: halved(forward.allen_cahn(2, 20, 20, 40, 40)), 4),
    "antiderivative, level 2": (antiderivative, 2),
    "pendulum, 1 shard each": (lambda: skewed("shards"), 1),
    "pendulum, two fields": (lambda: skewed("fields"), 2.0),
}
"""Name -> (how to make the experiment, level). The seed draws the data where data are drawn; else all seeds share them
and differ in the start. Allen-Cahn is reduced to 400 points and 80 on the boundary and the initial line, of 8000 and
1200."""


def dissimilarity(experiment: Experiment, level, seed: int = 0, theta: Tensor | None = None) -> float:
    """How much the clients' gradients differ: (sum_c p_c |g_c|^2 / |sum_c p_c g_c|^2)^(1/2), at least 1.

    At the common start of a seed, or at theta [P]. 1: all pull the same way; large: their pulls cancel.
    (B-local dissimilarity, Li et al. 2020; Karimireddy et al. 2020.)
    """
    if theta is None:
        theta = draw_parameters(experiment.net, glorot_uniform, torch_generator(seed))
    p, g = gradients_of(experiment, experiment.data(level, seed), theta)
    return float(((p @ g.double().square().sum(1)) / (p @ g.double()).square().sum()).sqrt())


def gradients_of(experiment: Experiment, data: Data, theta: Tensor) -> tuple[Tensor, Tensor]:
    """(p_c [K] in float64, gradients [K, P] of the clients' losses at theta [P])."""
    args = train_arguments(experiment)
    constants = {name: value.float() for name, value in args["constants"].items()}

    def gradient(shard):
        batch = {name: value[shard].float()[None] for name, value in data.pool.items()}
        batch["w"] = torch.full((1, len(shard)), 1 / len(shard))
        loss = lambda predict, of_one: args["loss"](predict, of_one | constants)  # noqa: E731
        return flat(client_gradient(args["net"], loss)(as_dict(args["net"], theta[None]), batch)[0])[0]

    return torch.as_tensor(Federation(data.owners).p), torch.stack([gradient(shard) for shard in data.owners])


def torch_generator(seed: int) -> torch.Generator:
    """The generator of a start that belongs to a seed."""
    return torch.Generator().manual_seed(int(stream(seed, "dissimilarity").integers(2**62)))
