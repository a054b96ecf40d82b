"""How long a correction stays fresh: a client's corrected gradient on its way, beside the one that it stands for."""

import numpy as np
import torch
from torch import Tensor

from .drift import Task, gradient_of


def staleness(task: Task, theta: Tensor, lr: float, steps: int) -> np.ndarray:
    """|g_c(theta_c) + gbar(theta) - g_c(theta) - gbar(theta_c)| / |gbar(theta_c)| at each local step [K, steps].

    Every client walks from theta [P] with Adam, whose moments start at 0, along its corrected gradient. 0 at the first
    step, and always where all clients have the same gradients; from 1 on a step may lead uphill for all together.
    """
    p = torch.as_tensor(task.shares(), dtype=theta.dtype)

    def all_gradients(at):
        return torch.stack([gradient_of(task, own, at) for own in task.shards])

    first, found = all_gradients(theta), np.empty((len(task.shards), steps))
    shift = p @ first - first
    for c in range(len(task.shards)):
        own = torch.nn.Parameter(theta.clone())
        adam = torch.optim.Adam([own], lr)
        for k in range(steps):
            g = all_gradients(own.detach())
            own.grad = g[c] + shift[c]
            found[c, k] = (own.grad - p @ g).norm() / (p @ g).norm()
            adam.step()
    return found
