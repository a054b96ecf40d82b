"""Networks, and their stacks.

A network is an ordinary ``nn.Module`` for ONE model. A stack of M models is one matrix theta [M, P]: row r
holds all P parameters of model r, so that communication is the product A theta.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn


def mlp(widths: Sequence[int], activation: Callable[[], nn.Module]) -> nn.Sequential:
    """Fully connected network with the given layer widths; the last layer is linear."""
    layers = []
    for a, b in pairwise(widths):
        layers += [nn.Linear(a, b), activation()]
    return nn.Sequential(*layers[:-1])


class DeepONet(nn.Module):
    """G(u)(y) = <branch(u), trunk(y)> + bias (Lu et al. 2021; Fed-DeepONet, Section 2).

    Args:
        branch, trunk: layer widths with the same last width, e.g. (100, 50, 50) and (1, 50, 50).
        domain: interval (a, b) of the points y, mapped to [-1, 1] before the trunk. With zero biases all kinks
            of a ReLU trunk start at its origin; on [0, 1] without this map it would begin as a linear function.
    """

    def __init__(self, branch: Sequence[int], trunk: Sequence[int], activation=nn.ReLU, domain=(-1.0, 1.0)):
        super().__init__()
        if branch[-1] != trunk[-1]:
            raise ValueError(f"branch ends with width {branch[-1]}, trunk with {trunk[-1]}; they must be equal")
        self.domain = domain
        self.branch, self.trunk = mlp(branch, activation), mlp(trunk, activation)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, u: Tensor, y: Tensor) -> Tensor:
        """u [..., m] sensor values, y [..., d] points -> [...]; leading axes broadcast."""
        a, b = self.domain
        return (self.branch(u) * self.trunk((2 * y - a - b) / (b - a))).sum(-1) + self.bias[0]


class CartesianDeepONet(DeepONet):
    """G(u_i)(y_j) = <branch(u_i), trunk(y_j)> + bias for all pairs of n functions and P points.

    Branch and trunk see every function and every point once, and the pairs are one matrix product. As in DeepXDE
    (FedSciML, Section 6) the trunk has an activation after its last layer, too.

    Args:
        branch, trunk: layer widths with the same last width, e.g. (100, 40, 40) and (1, 40, 40).
    """

    def __init__(self, branch: Sequence[int], trunk: Sequence[int], activation=nn.ReLU):
        super().__init__(branch, trunk, activation)
        self.trunk.append(activation())

    def forward(self, u: Tensor, y: Tensor) -> Tensor:
        """u [n, m], y [P, d] -> G(u)(y) [n, P]."""
        return torch.einsum("ip,jp->ij", self.branch(u), self.trunk(y)) + self.bias


LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d)
"""The layers that the initialisers below know."""


def fan_in_uniform(layer: nn.Module, generator: torch.Generator) -> None:
    """PyTorch's default, U(-1/sqrt(fan_in), 1/sqrt(fan_in)) for weights and biases.

    The random biases spread the kinks of a ReLU trunk over the time axis.
    """
    weight, bias = weight_and_bias(layer)
    bound = weight[0].numel() ** -0.5  # fan_in: inputs, or channels times the kernel's size
    nn.init.uniform_(weight, -bound, bound, generator=generator)
    if bias is not None:
        nn.init.uniform_(bias, -bound, bound, generator=generator)


def glorot_uniform(layer: nn.Module, generator: torch.Generator) -> None:
    """Glorot uniform weights, zero biases (DeepXDE's default)."""
    weight, bias = weight_and_bias(layer)
    nn.init.xavier_uniform_(weight, generator=generator)
    if bias is not None:
        nn.init.zeros_(bias)


def glorot_normal(layer: nn.Module, generator: torch.Generator) -> None:
    """Glorot normal weights, zero biases (DeepXDE's choice for operators)."""
    weight, bias = weight_and_bias(layer)
    nn.init.xavier_normal_(weight, generator=generator)
    if bias is not None:
        nn.init.zeros_(bias)


def weight_and_bias(layer: nn.Module) -> tuple[nn.Parameter, nn.Parameter | None]:
    """A layer's two parameters; another kind of layer is refused, because it would start equal under all seeds."""
    if not isinstance(layer, LAYERS):
        raise TypeError(
            f"no initial parameters are known for a {type(layer).__name__}, only for "
            f"{', '.join(kind.__name__ for kind in LAYERS)}; write init(layer, generator) that fills its parameters"
        )
    return layer.weight, layer.bias
