"""How long a correction stays fresh: a client's corrected gradient on its way, beside the one that it stands for."""

import numpy as np
import torch
from torch import Tensor

from ..federated.experiment import Experiment
from .drift import gradients_of


def staleness(experiment: Experiment, level, theta: Tensor, lr: float, steps: int, seed: int = 0) -> np.ndarray:
    """|g_c(theta_c) + gbar(theta) - g_c(theta) - gbar(theta_c)| / |gbar(theta_c)| at each local step [K, steps].

    Every client walks from theta [P] with Adam, whose moments start at 0, along its corrected gradient. 0 at the first
    step, and always where all clients have the same gradients; from 1 on a step may lead uphill for all together.
    """
    data = experiment.data(level, seed)
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
