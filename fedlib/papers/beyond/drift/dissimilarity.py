"""How much the clients' gradients differ at a model that they share."""

import torch
from torch import Tensor

from ....federated.backends import client_gradient, flat
from ....federated.experiment import Experiment, data_of, train_arguments
from ....federated.federation import Federation
from ....federated.stack import as_dict, draw_parameters
from ....models.networks import glorot_uniform
from ....streams import stream


def dissimilarity(experiment: Experiment, level, seed: int = 0, theta: Tensor | None = None) -> float:
    """How much the clients' gradients differ: (sum_c p_c |g_c|^2 / |sum_c p_c g_c|^2)^(1/2), at least 1.

    At the common start of a seed, or at theta [P]. 1: all pull the same way; large: their pulls cancel. Its inverse is
    the share that does not cancel. (B-local dissimilarity, Li et al. 2020; Karimireddy et al. 2020.)

    Of two clients with as many points each and residuals r, B^2 = 1 + (s r)^T K (s r) / r^T K r: s = 1 or -1 says who
    owns a point, K = J J^T is the network's kernel, J = dr / dtheta. Where pieces are as long as the half waves of what
    is still wrong, s r is slow and r is not, and B is large.
    """
    data, args = data_of(experiment, level, seed), train_arguments(experiment)
    if theta is None:
        generator = torch.Generator().manual_seed(int(stream(seed, "dissimilarity").integers(2**62)))
        theta = draw_parameters(experiment.net, glorot_uniform, generator)
    constants = {name: value.float() for name, value in args["constants"].items()}

    def gradient(shard):
        batch = {name: value[shard].float()[None] for name, value in data.pool.items()}
        batch["w"] = torch.full((1, len(shard)), 1 / len(shard))
        loss = lambda predict, of_one: args["loss"](predict, of_one | constants)  # noqa: E731
        return flat(client_gradient(args["net"], loss)(as_dict(args["net"], theta[None]), batch)[0])[0]

    p = torch.as_tensor(Federation(data.owners).p)
    g = torch.stack([gradient(shard) for shard in data.owners]).double()
    return float(((p @ g.square().sum(1)) / (p @ g).square().sum()).sqrt())
