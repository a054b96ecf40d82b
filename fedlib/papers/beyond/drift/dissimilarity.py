"""How much the clients' gradients differ at a model that they share, and how soon a correction is stale."""

import numpy as np
import torch
from torch import Tensor

from ....federated.backends import client_gradient, flat
from ....federated.experiment import Data, Experiment, data_of, train_arguments
from ....federated.federation import Federation
from ....federated.stack import as_dict, draw_parameters
from ....federated.sweep import sweep
from ....models.networks import glorot_uniform
from ....streams import stream

WHEN = ("start", "on the way")


def dissimilarity(experiment: Experiment, level, seed: int = 0, theta: Tensor | None = None) -> float:
    """How much the clients' gradients differ: (sum_c p_c |g_c|^2 / |sum_c p_c g_c|^2)^(1/2), at least 1.

    At the common start of a seed, or at theta [P]. 1: all pull the same way; large: their pulls cancel. Its inverse is
    the share that does not cancel. (B-local dissimilarity, Li et al. 2020; Karimireddy et al. 2020.)

    Of two clients with as many points each and residuals r, B^2 = 1 + (s r)^T K (s r) / r^T K r: s = 1 or -1 says who
    owns a point, K = J J^T is the network's kernel, J = dr / dtheta. Where pieces are as long as the half waves of what
    is still wrong, s r is slow and r is not, and B is large.
    """
    if theta is None:
        generator = torch.Generator().manual_seed(int(stream(seed, "dissimilarity").integers(2**62)))
        theta = draw_parameters(experiment.net, glorot_uniform, generator)
    p, g = gradients_of(experiment, data_of(experiment, level, seed), theta)
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


def on_the_way(experiment: Experiment, level, seed: int, share: float, E: int = 5) -> Tensor:
    """A centralised model [P] after a share of the experiment's steps, at its own rate."""
    steps = share * experiment.rounds * experiment.local.updates
    changes = {"rounds": max(1, round(steps / E)), "local": experiment.local._replace(updates=E)}
    history = sweep(experiment, [level], [seed], ["centralised"], **changes)
    return history.model("centralised", level, seed)


def staleness(experiment: Experiment, level, theta: Tensor, lr: float, steps: int, seed: int = 0) -> np.ndarray:
    """|g_c(theta_c) + gbar(theta) - g_c(theta) - gbar(theta_c)| / |gbar(theta_c)| at each local step [K, steps].

    Every client walks from theta [P] with Adam, whose moments start at 0, along its corrected gradient. 0 at the first
    step, and always where all clients have the same gradients; from 1 on a step may lead uphill for all together.
    """
    data = data_of(experiment, level, seed)
    p, first = gradients_of(experiment, data, theta)
    p = p.to(theta.dtype)
    shift, ratio = p @ first - first, np.empty((len(first), steps))
    for c in range(len(first)):
        walker = torch.nn.Parameter(theta.clone())
        adam = torch.optim.Adam([walker], lr)
        for k in range(steps):
            _, g = gradients_of(experiment, data, walker.detach())
            walker.grad = g[c] + shift[c]
            ratio[c, k] = (walker.grad - p @ g).norm() / (p @ g).norm()
            adam.step()
    return ratio
