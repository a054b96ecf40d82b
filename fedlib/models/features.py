"""Models that are linear in what is learnt: networks whose first layers are fixed, and products of known functions.

They are ordinary networks for an ``Experiment``: sums (``federated.sums``) solve for them, and FedAvg trains them, too,
in float64, which their constants have.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy

import numpy as np
import torch
from numpy.polynomial import chebyshev
from torch import Tensor, nn

from .jets import Jet, JetNet, Sine, closed, terms
from .networks import mlp


def fixed(layer: nn.Module) -> nn.Module:
    """A layer whose parameters are learnt no more: constants of the network."""
    for name, value in [*layer.named_parameters(recurse=False)]:
        delattr(layer, name)
        layer.register_buffer(name, value.detach().double())
    return layer


def last_layer(net: JetNet) -> JetNet:
    """A copy of a network that learns its last layer only: its outputs are linear in what is left to learn."""
    net = deepcopy(net)
    for layer in net.net[:-1]:
        fixed(layer)
    return net


def random_sines(
    m: int, scale: float, coordinates: str, derivatives: Sequence[str], rng: np.random.Generator
) -> JetNet:
    """sum_j c_j sin(a_j . x + b_j) + c_0, a_j ~ N(0, scale^2), b_j ~ U[0, 2 pi]: random Fourier features, with jets.

    (Rahimi, Recht 2007.) A network with one layer of m sines, the first weights fixed.
    """
    net = mlp((len(coordinates), m, 1), Sine)
    with torch.no_grad():
        net[0].weight.copy_(torch.as_tensor(scale * rng.standard_normal(net[0].weight.shape)))
        net[0].bias.copy_(torch.as_tensor(rng.uniform(0, 2 * np.pi, m)))
    return last_layer(JetNet(net, coordinates, derivatives))


Family = tuple[int, Callable[[Tensor, int], Tensor]]
"""How many functions of a coordinate, and (x [n], order) -> their derivatives of an order [n, how many]."""


class Products(nn.Module):
    """sum_j c_j prod_i phi_i,j_i(x_i): all products of functions of one coordinate each, with jets.

    functions: a letter of each coordinate -> its ``Family``, such as ``sines`` and ``polynomials``.
    """

    def __init__(self, functions: Mapping[str, Family], derivatives: Sequence[str]):
        super().__init__()
        self.functions, self.derivatives = dict(functions), closed(derivatives)
        self.c = nn.Parameter(torch.zeros(int(np.prod([m for m, _ in functions.values()]))))

    def forward(self, x: Tensor, value_only: bool = False) -> Jet | Tensor:
        """x [n, d] -> jet {"": u, ...}, each [n, 1]; with value_only the tensor u alone."""
        if value_only:
            return self.derivative(x, "")
        return Jet({name: sum(w * self.derivative(x, axes) for w, axes in terms(name)) for name in self.derivatives})

    def derivative(self, x: Tensor, axes: str) -> Tensor:
        """u differentiated once for each letter of ``axes`` ("" is u itself): x [n, d] -> [n, 1]."""
        phi = x.new_ones(len(x), 1)
        for z, (letter, (_, f)) in zip(x.unbind(-1), self.functions.items(), strict=True):
            phi = (phi[:, :, None] * f(z, axes.count(letter))[:, None]).flatten(1)
        return phi @ self.c[:, None]


def sines(m: int, a: float, b: float) -> Family:
    """sin(j pi (x - a) / (b - a)), j = 1..m, which vanish at a and b."""
    k = torch.arange(1, m + 1, dtype=torch.float64) * torch.pi / (b - a)
    return m, lambda x, order: k.to(x) ** order * ((x[:, None] - a) * k.to(x) + order * torch.pi / 2).sin()


def polynomials(m: int, a: float, b: float) -> Family:
    """Chebyshev's T_0..T_(m - 1) on [a, b]."""

    def f(x: Tensor, order: int) -> Tensor:
        z, T = (2 * x - a - b) / (b - a), [torch.ones_like(x)]
        for j in range(1, m):
            T.append(z if j == 1 else 2 * z * T[-1] - T[-2])
        into = chebyshev.chebder(np.eye(m), order, scl=2 / (b - a))  # [m - order, m], of each T_j
        into = torch.as_tensor(into).to(x)
        return torch.stack(T[: len(into)], -1) @ into

    return m, f


class LinearOperator(nn.Module):
    """G(u)(y) = y^2 sum_jk c_jk x_j T_k(y): linear in coordinates x = (1, u . basis) of the input, at rest at y = 0.

    basis [m, J]: of inputs u at m sensors. degree: K Chebyshev polynomials of y on [0, 1].
    """

    def __init__(self, basis: np.ndarray, degree: int):
        super().__init__()
        self.register_buffer("basis", torch.as_tensor(basis, dtype=torch.float64))
        _, self.in_time = polynomials(degree, 0.0, 1.0)
        self.c = nn.Parameter(torch.zeros(1 + basis.shape[1], degree))

    def forward(self, u: Tensor, y: Tensor) -> Tensor:
        """u [..., m], y [..., 1] -> [...]; leading axes broadcast."""
        x = u @ self.basis.to(u)
        x = torch.cat([torch.ones_like(x[..., :1]), x], -1)
        T = self.in_time(y.flatten(), 0).reshape(*y.shape[:-1], -1)
        return y[..., 0] ** 2 * ((x @ self.c) * T).sum(-1)
