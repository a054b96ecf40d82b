"""Stochastic neural networks (SNN), and their gradient by the stochastic maximum principle (SMP).

Letters as in FedStNN (Tang, Bausback, Bao, Archibald 2025): N blocks, h = T / N, state X_n in R^L, drift f, diffusion
g > 0 (diagonal), costate Y, its noise part Z, terminal loss Phi. M paths are drawn for every data point.
"""

import math

import torch
from torch import Tensor, nn
from torch.func import grad
from torch.nn.functional import linear, softplus

READINGS = ("autograd", "smp_exact", "smp_paper")
DIFFUSIONS = ("vector", "net")


def affine(n_in: int, n_out: int, weight: float, bias: float) -> nn.Linear:
    """Linear layer that ``init_snn`` draws from U(-weight, weight) and U(-bias, bias)."""
    layer = nn.Linear(n_in, n_out)
    layer.bounds = weight, bias
    return layer


def block(L: int, H: int, last: float) -> nn.ModuleList:
    """The two layers of a network L-H-L; the last layer's weights start in U(-last, last)."""
    return nn.ModuleList([affine(L, H, (6 / L) ** 0.5, 1), affine(H, L, last, 0)])


def weights(layers) -> list[Tensor]:
    """W1, b1, W2, b2, ... of some linear layers."""
    return [p for layer in layers for p in (layer.weight, layer.bias)]


def init_snn(layer: nn.Linear, generator: torch.Generator) -> None:
    """Initial parameters of one layer of an SNN; the variances that its constructor asks for."""
    if not hasattr(layer, "bounds"):
        raise TypeError(f"a {type(layer).__name__} has no bounds for its start; make layers of an SNN with affine(...)")
    for values, bound in zip((layer.weight, layer.bias), layer.bounds, strict=True):
        nn.init.uniform_(values, -bound, bound, generator=generator)


class SNN(nn.Module):
    """An Euler-Maruyama residual network between a linear lift and a linear read-out.

    X_0 = x A + a,   X_{n+1} = X_n + h f(X_n, u_n) + sqrt(h) g(u_n) o w_n,   y = <X_N, C> + c   (FedStNN, Eq. 12).

    f is a network L-H-L with tanh, g_n = softplus(s_n) > 0: with g of either sign two clients could learn +g and -g,
    the same law, and their average would be no noise at all. Initial variances: W1 2/L, W2 1/H, <C, C> = 1.

    Args:
        d, L, H, N: widths of input, state and hidden layer; number of blocks. T: horizon, h = T / N.
        std: initial g, which is about the st.dev. of the initial output when T = 1.
        diffusion: "vector" (one g per block and neuron), "net" (g depends on X_n as well).
        gradient: one of READINGS; see ``SMP``.
    """

    def __init__(self, d, L, H, N=4, T=1.0, std=0.3, diffusion="vector", gradient="autograd"):
        super().__init__()
        if gradient not in READINGS or diffusion not in DIFFUSIONS:
            raise ValueError(
                f"gradient = {gradient!r}, diffusion = {diffusion!r}: expected one of {READINGS} and of {DIFFUSIONS}"
            )
        if not std > 0:
            raise ValueError(f"std = {std}: the diffusion is positive; use a small number such as 1e-3 for 'no noise'")
        self.N, self.L, self.h, self.gradient = N, L, T / N, gradient
        self.lift, self.read = affine(d, L, 1, 1), affine(L, 1, (3 / L) ** 0.5, 0)
        self.drift = nn.ModuleList(block(L, H, (3 / H) ** 0.5) for _ in range(N))
        self.s = nn.Parameter(torch.full((N, L), math.log(math.expm1(std))))
        # a diffusion network ends with a layer of zeros: it starts as the constant std
        self.spread = nn.ModuleList(block(L, H, 0) for _ in range(N if diffusion == "net" else 0))

    def noise(self, M: int) -> tuple[int, int, int]:
        """Shape of the normal numbers that M paths of one data point need: [N, M, L]."""
        return self.N, M, self.L

    def layers(self) -> list[tuple[Tensor, ...]]:
        """u_n of every block: the drift's W1, b1, W2, b2, then s_n, then its network's four if it has one."""
        spread = self.spread if len(self.spread) else [()] * self.N
        return [(*weights(f), s, *weights(g)) for f, s, g in zip(self.drift, self.s, spread, strict=True)]

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        """Points x [B, d] and standard normal w [B, N, M, L] -> outputs [B, M], one for each path."""
        X, u = self.lift(x)[..., None, :], self.layers()
        if self.gradient == "autograd":
            X = euler_maruyama(X, u, w, self.h)[-1]
        else:
            X = X.expand(*w.shape[:-3], *w.shape[-2:])
            X = SMP.apply(self.gradient, self.h, len(u[0]), X, w, *(p for layer in u for p in layer))[-1]
        return self.read(X)[..., 0]


def f(X: Tensor, u: tuple[Tensor, ...]) -> Tensor:
    """Drift f(X, u_n) = W2 tanh(W1 X + b1) + b2, X [..., L]."""
    return mlp(X, *u[:4])


def g(X: Tensor, u: tuple[Tensor, ...]) -> Tensor:
    """Diffusion g = softplus(s_n), or softplus(s_n + network(X)) where the block has one; [..., L]."""
    return softplus(u[4] + mlp(X, *u[5:]) if len(u) > 5 else u[4])


def mlp(X, W1, b1, W2, b2):
    return linear(torch.tanh(linear(X, W1, b1)), W2, b2)


def euler_maruyama(X: Tensor, u: list, w: Tensor, h: float) -> list[Tensor]:
    """The states X_0, ..., X_N of every path; w [..., N, M, L] has unit variance (Eq. 12)."""
    path = [X]
    for n, u_n in enumerate(u):
        X = X + h * f(X, u_n) + h**0.5 * g(X, u_n) * w[..., n, :, :]
        path.append(X)
    return path


def hamiltonian(X: Tensor, u: tuple, Y: Tensor, Z: Tensor) -> Tensor:
    """H(X, u, Y, Z) = <f(X, u), Y> + <g(X, u), Z>, summed over points and paths."""
    return (f(X, u) * Y).sum() + (g(X, u) * Z).sum()


def sample_wise(path, u, w: Tensor, h: float, Y: Tensor, literal: bool = False) -> tuple[Tensor, list]:
    """Backward along every path: the costate Y_0 and the gradients h dH/du_n of all blocks (FedStNN, Eqs. 33-35).

    Y_N = Phi'(X_N),  Z_n = Y_{n+1} o w_n / sqrt(h),  Y_n = Y_{n+1} + h H_X(X_n, u_n, Y_{n+1}, Z_n).

    This is backpropagation; the paper's functional gradient dH/du_n is 1/h times it. ``literal`` keeps the printed
    index of Z: where Eqs. 33 and 35 are read as here, it is one block too late before the last (Eq. 34; an error of
    O(h)). It drops g_X from the costate, which the paper does not have because its g does not depend on X.

    Args:
        path: X_0, ..., X_N; u: the blocks' parameters; w [..., N, M, L]; Y: dPhi/dX_N.
    """
    late, gradients = Y, [None] * len(u)
    for n in reversed(range(len(u))):
        Z = (late if literal else Y) * w[..., n, :, :] / h**0.5
        if literal:
            H_u = grad(lambda v, n=n, Y=Y, Z=Z: hamiltonian(path[n], v, Y, Z))(u[n])
            H_X = grad(lambda X, n=n, Y=Y: (f(X, u[n]) * Y).sum())(path[n])
        else:
            H_X, H_u = grad(hamiltonian, (0, 1))(path[n], u[n], Y, Z)
        gradients[n] = [h * part for part in H_u]
        late, Y = Y, Y + h * H_X
    return Y, gradients


class SMP(torch.autograd.Function):
    """``euler_maruyama`` whose backward pass is ``sample_wise``, so that an SMP gradient trains in the engine."""

    generate_vmap_rule = True

    @staticmethod
    def forward(reading, h, n_parts, X, w, *flat):
        u = [flat[i : i + n_parts] for i in range(0, len(flat), n_parts)]
        return torch.stack(euler_maruyama(X, u, w, h))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.reading, ctx.h, ctx.n_parts = inputs[:3]
        ctx.save_for_backward(output, *inputs[4:])

    @staticmethod
    def backward(ctx, Y):
        path, w, *flat = ctx.saved_tensors
        u = [tuple(flat[i : i + ctx.n_parts]) for i in range(0, len(flat), ctx.n_parts)]
        Y_0, parts = sample_wise(path, u, w, ctx.h, Y[-1], literal=ctx.reading == "smp_paper")
        return None, None, None, Y_0, None, *(p for layer in parts for p in layer)
