"""Problems on which federated training loses, each at one level of heterogeneity (notebook 11, beyond the papers)."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ..federated.backends import client_gradient, flat
from ..federated.batches import Local
from ..federated.partitions import index_rule, per_client, slices
from ..federated.stack import as_dict, draw_parameters
from ..models.networks import DeepONet, glorot_uniform, mlp
from ..streams import stream
from . import forward, functions, operator_study, pendulum, pendulum_search, skewed_pendulum
from .forward_study import solution_error, test_set
from .operators import learn_antiderivative, operator_error, operator_loss


class Task(NamedTuple):
    """What ``train`` needs of a problem: who owns what (shards, of one seed), and where errors are measured.

    test, validation: tensors for ``evaluate``, which gives relative L2 errors (%) of ONE model; disjoint.
    steps: local steps of a client in all, those of the problem's own notebook. batch: None is all points. lr: there.
    fraction: of the clients in a round.
    """

    net: nn.Module
    loss: Callable
    pool: Mapping[str, Tensor]
    shards: Sequence[np.ndarray]
    evaluate: Callable
    test: Mapping[str, Tensor]
    validation: Mapping[str, Tensor]
    steps: int
    lr: float = 1e-3
    constants: Mapping[str, Tensor] | None = None
    batch: int | None = None
    fraction: float = 1.0

    def local(self, E: int) -> Local:
        """E local steps in a round."""
        return Local(E, "steps", self.batch)

    def shares(self) -> np.ndarray:
        """p_c = n_c / sum n_i."""
        sizes = np.array([len(own) for own in self.shards], float)
        return sizes / sizes.sum()


def alternating(test: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Every second test point for the errors, the ones between them for choices: (test, validation)."""
    return tuple({name: value[i::2] for name, value in test.items()} for i in (0, 1))


def gramacy_lee(subdomains: int, n: int = 200, width: int = 64) -> Task:
    """Two clients own every other one of some equal pieces of a line (notebook 04)."""
    pool, test = functions.on_line(n)
    shards = index_rule(n, 2, per_client(subdomains, 2))
    return on_points(mlp((1, width, width, width, 1), nn.Tanh), pool, shards, test, 15_000)


def unequal(subdomains: int = 20, n: int = 200) -> Task:
    """``gramacy_lee`` with unequal clients: the second one owns every fourth piece, p = 3/4 and 1/4."""
    task = gramacy_lee(subdomains, n)
    piece = np.arange(n) * subdomains // n
    return task._replace(shards=[np.flatnonzero(piece % 4 != 3), np.flatnonzero(piece % 4 == 3)])


def schaffer(slabs: int, n: int = 400, width: int = 64) -> Task:
    """Two clients own every other one of some slabs of the square (notebook 04)."""
    pool, test = functions.on_square(n)
    shards = slices(pool["x"][:, 0].numpy(), 0, 1, 2, per_client(slabs, 2))
    return on_points(mlp((2, width, width, width, 1), nn.Tanh), pool, shards, test, 15_000)


def on_points(net: nn.Module, pool, shards, test, steps: int) -> Task:
    """A function, with relative errors in %."""
    evaluate = lambda predict, at: {"e": 100 * functions.relative_error(predict, at)["e"]}  # noqa: E731
    return Task(net, functions.loss, pool, shards, evaluate, *alternating(test), steps)


def equation(problem: forward.Problem, level: int) -> Task:
    """A forward problem at a level (notebook 05)."""
    pool, _, shards = forward.layout(problem, [level])
    test = {name: value[0] for name, value in test_set(problem, 1).items()}
    evaluate = lambda predict, at: {"e": solution_error(predict, at)["error"]}  # noqa: E731
    steps = 5 * problem.rounds
    return Task(
        problem.net(), forward.residual_loss(problem), pool, shards[level], evaluate, *alternating(test), steps,
        constants=forward.constants(problem),
    )  # fmt: skip


def antiderivative(level: int, functions_each: int = 100, tests: int = 200, seed: int = 0) -> Task:
    """Two clients who know the first and the last terms of an input (notebook 07)."""
    operator = learn_antiderivative()
    cases, c = operator_study.federations("antiderivative", functions_each, [seed], [level], isolated=False)
    found = operator.pairs(operator_study.draws("forward", 10, tests, seed, "test"))
    test, validation = ({**part, **operator.constants()} for part in alternating(found))
    shards = cases["federated", level, seed].shards
    return Task(
        operator.net(), operator_loss, operator.pairs(c), shards, operator_error, test, validation, 50_000,
        constants=operator.constants(),
    )  # fmt: skip


def skewed(kind: str, level: float, n: int = 10_000, clients: int = 20, seed: int = 0, m: int = 100) -> Task:
    """The pendulum with label-sorted "shards" per client, or two "fields" that differ by level (notebook 02)."""
    data = skewed_pendulum.skewed(n, m, 0.2, [level] if kind == "fields" else [], clients, [seed])
    random, others = pendulum.random_tests(100, m, 0.2, seed), pendulum_search.validation(100, m, 0.2, seed)
    unseen, constants = pendulum.unseen_tests(m), {"times": pendulum.times(m)}
    test, validation = (pendulum.both_tests(of, unseen) | constants for of in (random, others))
    evaluate = lambda predict, at: {"e": pendulum.mean_errors(predict, at)["GRF"]}  # noqa: E731
    return Task(
        DeepONet((m, 50, 50), (1, 50, 50), domain=(0.0, 1.0)), pendulum.loss, data.pool, data.owned(kind, level, seed),
        evaluate, test, validation, 4_000, batch=64,
    )  # fmt: skip


TASKS = {
    "Gramacy-Lee, 2 subdomains": lambda seed: gramacy_lee(2),
    "Gramacy-Lee, 10 subdomains": lambda seed: gramacy_lee(10),
    "Gramacy-Lee, 20 subdomains": lambda seed: gramacy_lee(20),
    "Gramacy-Lee, 50 subdomains": lambda seed: gramacy_lee(50),
    "Gramacy-Lee, 20, unequal": lambda seed: unequal(),
    "Schaffer, 4 slabs": lambda seed: schaffer(4),
    "Poisson, 8 subdomains": lambda seed: equation(forward.poisson(), 8),
    "Poisson, 32 subdomains": lambda seed: equation(forward.poisson(), 32),
    "Helmholtz, 4 x 4 blocks": lambda seed: equation(forward.helmholtz(), 4),
    "Allen-Cahn, 4 subdomains": lambda seed: equation(forward.allen_cahn(2, 20, 20, 40, 40), 4),
    "antiderivative, level 2": lambda seed: antiderivative(2, seed=seed),
    "pendulum, 1 shard each": lambda seed: skewed("shards", 1, seed=seed),
    "pendulum, two fields": lambda seed: skewed("fields", 2.0, seed=seed),
}
"""Name -> seed -> task. The seed draws the data where data are drawn; else all seeds share them and differ in the
start. Allen-Cahn is reduced to 400 points and 80 on the boundary and the initial line, of 8000 and 1200."""


def dissimilarity(task: Task, seed: int = 0, theta: Tensor | None = None) -> float:
    """How much the clients' gradients differ: (sum_c p_c |g_c|^2 / |sum_c p_c g_c|^2)^(1/2), at least 1.

    At the common start of a seed, or at theta [P]. 1: all pull the same way; large: their pulls cancel.
    (B-local dissimilarity, Li et al. 2020; Karimireddy et al. 2020.)
    """
    if theta is None:
        theta = draw_parameters(task.net, glorot_uniform, torch_generator(seed))
    p = torch.as_tensor(task.shares())
    g = torch.stack([gradient_of(task, own, theta) for own in task.shards]).double()
    return float(((p @ g.square().sum(1)) / (p @ g).square().sum()).sqrt())


def gradient_of(task: Task, own: np.ndarray, theta: Tensor) -> Tensor:
    """Gradient [P] of the loss over some points of the pool, at theta [P]."""
    batch = {name: value[own].float()[None] for name, value in task.pool.items()}
    batch["w"] = torch.full((1, len(own)), 1 / len(own))
    constants = {k: v.float() for k, v in (task.constants or {}).items()}
    with_constants = lambda predict, of_one: task.loss(predict, of_one | constants)  # noqa: E731
    return flat(client_gradient(task.net, with_constants)(as_dict(task.net, theta[None]), batch)[0])[0]


def torch_generator(seed: int) -> torch.Generator:
    """The generator of a start that belongs to a seed."""
    return torch.Generator().manual_seed(int(stream(seed, "dissimilarity").integers(2**62)))
