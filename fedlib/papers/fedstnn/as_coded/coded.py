"""FedStNN's network and gradient as its authors coded them (read from their notebooks; Tang et al. 2025).

What differs from the paper and from ``stochastic``: g is a network of the state (batch normalisation, L-H-L with ReLU,
sigmoid: one number in (0, 1) for each neuron), the drift has ReLU, the lift and the read-out start like every layer of
torch, and the gradient pairs blocks with the wrong costates, see PAIRINGS.
"""

from functools import partial

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad
from torch.nn.functional import linear

from ....federated.stack import as_dict, stack
from ....models.networks import fan_in_uniform
from ....numerics.metrics import relative_l2
from ....streams import torch_stream
from ..network import SNN, weights

EPS, MOMENTUM = 1e-6, 0.99
"""Of the batch normalisation. A momentum of .99 makes the "running" statistics those of the last batch."""

STATISTICS = ".mean", ".var"
"""How names of running statistics end."""

PAIRINGS = {
    "exact": lambda n, N: (n + 1, n),
    "coded 1D": lambda n, N: (n + 1, N - 1 - n),
    "coded 2D": lambda n, N: (2, N - 1 - n),
}
"""Which Y and which Z the Hamiltonian of block n gets. In 1D it is the Z of block N - 1 - n. In 2D and for the image
every drift also gets one and the same Y (Y_2; of the last block's where there are fewer than two)."""


class Norm(nn.Module):
    """Batch normalisation of L neurons by the statistics of the points at hand, also where the authors predict.

    Its running statistics, which nothing uses, are parameters, for they travel with a model.
    """

    def __init__(self, L: int):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(L)), nn.Parameter(torch.zeros(L))
        self.mean, self.var = nn.Parameter(torch.zeros(L)), nn.Parameter(torch.ones(L))

    def forward(self, X: Tensor, weight: Tensor) -> Tensor:
        """X [B, M, L]: each path by the statistics of its points, of weights [B]."""
        mean, var = moments(X, weight)
        return (X - mean) / (var + EPS).sqrt() * self.weight + self.bias


def moments(X: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance over points: X [B, M, L], weights [B] with sum 1 -> [M, L] each."""
    w = weight[:, None, None]
    mean = (w * X).sum(0)
    return mean, (w * (X - mean) ** 2).sum(0)


class Coded(nn.Module):
    """The authors' network: lift d-L, N blocks X + h f(X) + sqrt(h) g(X) o w, read-out L-1; h = 1 / N.

    Args:
        d, L, H, N: widths of input, state and hidden layer; number of blocks.
        gradient: of the squared error: one of PAIRINGS, or "autograd".
        domain: interval that inputs in [-1, 1] stand for. The authors do not scale them: (0, 2 pi) in 5.1.
    """

    def __init__(self, d: int, L: int, H: int, N: int = 4, gradient: str = "coded 1D", domain=(-1, 1)):
        super().__init__()
        if gradient not in ("autograd", *PAIRINGS):
            raise ValueError(f"gradient = {gradient!r}: expected 'autograd' or one of {', '.join(PAIRINGS)}")
        self.widths, self.gradient, self.domain = (d, L, H, N), gradient, domain
        self.L, self.N, self.h = L, N, 1 / N
        self.lift, self.read = nn.Linear(d, L), nn.Linear(L, 1)
        self.drift, self.spread = (nn.ModuleList(two_layers(L, H) for _ in range(N)) for _ in "fg")
        self.norm = nn.ModuleList(Norm(L) for _ in range(N))

    def noise(self, M: int) -> tuple[int, int, int]:
        """Shape of the normal numbers that M paths of one data point need: [N, M, L]."""
        return self.N, M, self.L

    def f(self, X: Tensor, n: int) -> Tensor:
        """Drift of block n."""
        return relu_network(X, *weights(self.drift[n]))

    def g(self, X: Tensor, n: int, weight: Tensor) -> Tensor:
        """Diffusion of block n; weight [B]: of the points that the normalisation averages."""
        normal = self.norm[n](X, weight)
        return torch.sigmoid(relu_network(normal, *weights(self.spread[n])))

    def lifted(self, x: Tensor) -> Tensor:
        """The first state of points x [B, d]: [B, 1, L]."""
        a, b = self.domain
        return self.lift(a + (b - a) * (x + 1) / 2)[:, None]

    def path(self, x: Tensor, w: Tensor, weight: Tensor) -> list[Tensor]:
        """The states X_0, ..., X_N of every path: x [B, d], w [B, N, M, L] -> N + 1 of [B, M, L]."""
        X = [self.lifted(x).expand(len(x), *w.shape[-2:])]
        for n in range(self.N):
            X.append(X[n] + self.h * self.f(X[n], n) + self.h**0.5 * self.g(X[n], n, weight) * w[:, n])
        return X

    def forward(self, x: Tensor, w: Tensor, y: Tensor | None = None, weight: Tensor | None = None) -> Tensor:
        """Points x [B, d], standard normal w [B, N, M, L] -> outputs [B, M]; with y [B], see ``error``."""
        weight = torch.full_like(x[:, 0], 1 / len(x)) if weight is None else weight
        X = self.path(x, w, weight)
        return self.read(X[-1])[..., 0] if y is None else self.error(x, w, y, weight, X)

    def error(self, x: Tensor, w: Tensor, y: Tensor, weight: Tensor, X: list[Tensor]) -> Tensor:
        """Mean over paths and points, of weights [B], of (X_N - y)^2: its value, with the gradient that is asked for.

        The running statistics get s_running - s_batch as gradient, so that a step of size MOMENTUM is their update.
        """
        out = self.read(X[-1])[..., 0]
        Phi = (weight[:, None] * (out - y[:, None]) ** 2).sum(0).mean()
        towards = self.track(X, weight)
        if self.gradient == "autograd":
            return Phi + towards - towards.detach()
        X = [state.detach() for state in X]
        Y, Z = self.costates(X, w, weight, (2 * weight / out.shape[1])[:, None] * (out - y[:, None]).detach())
        H = (Y[0] * self.lifted(x)).sum() + (Y[-1] * self.read(X[-1])[..., 0]).sum()
        for n in range(self.N):
            i, j = PAIRINGS[self.gradient](n, self.N)
            H = H + self.h * self.hamiltonian(X[n], n, Y[min(i, self.N)], Z[j], weight)
        return Phi.detach() + H - H.detach() + towards - towards.detach()

    def hamiltonian(self, X: Tensor, n: int, Y: Tensor, Z: Tensor, weight: Tensor) -> Tensor:
        """<f(X, u_n), Y> + <g(X, u_n), Z>, summed over points and paths."""
        return (self.f(X, n) * Y).sum() + (self.g(X, n, weight) * Z).sum()

    def costates(self, X: list[Tensor], w: Tensor, weight: Tensor, slope: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Backward along every path, exactly: Y_n = dPhi / dX_n, Y_{N+1} = dPhi / dy, Z_n = Y_{n+1} o w_n / sqrt(h).

        slope [B, M]: dPhi / dy. Here g depends on the state, so that the costate has g_x^T Z, which the paper's lacks.
        """
        Y, Z = [None] * self.N + [slope[..., None] * self.read.weight[0].detach(), slope], [None] * self.N
        for n in reversed(range(self.N)):
            Z[n] = Y[n + 1] * w[:, n] / self.h**0.5
            H_X = grad(lambda state, n=n: self.hamiltonian(state, n, Y[n + 1], Z[n], weight))(X[n])
            Y[n] = Y[n + 1] + self.h * H_X.detach()
        return Y, Z

    def track(self, X: list[Tensor], weight: Tensor) -> Tensor:
        """Half the squared distance of the running statistics to those of the batch, as torch counts them (n - 1)."""
        total = 0
        for norm, state in zip(self.norm, X[:-1], strict=True):
            mean, var = (m.detach().mean(0) for m in moments(state, weight))
            var = var / (1 - (weight**2).sum()).clamp_min(1e-12)
            total = total + ((norm.mean - mean) ** 2).sum() / 2 + ((norm.var - var) ** 2).sum() / 2
        return total


def two_layers(L: int, H: int) -> nn.ModuleList:
    """The two layers of a network L-H-L."""
    return nn.ModuleList([nn.Linear(L, H), nn.Linear(H, L)])


def relu_network(X, W1, b1, W2, b2):
    return linear(torch.relu(linear(X, W1, b1)), W2, b2)


def is_statistic(net: nn.Module) -> Tensor:
    """Which of the P parameters are running statistics: bool [P]."""
    named = [torch.full((p.numel(),), name.endswith(STATISTICS)) for name, p in net.named_parameters()]
    return torch.cat(named)


def coded_error(predict, batch) -> Tensor:
    """The loss of one client for the engine."""
    return predict(batch["x"], batch["noise"], batch["y"], batch["w"])


# how far a gradient is from the exact one

PARTS = {"lift": ("lift",), "drift": ("drift",), "diffusion": ("s", "spread", "norm")}
"""Part of a network -> how names of its parameters begin."""


def gradient_errors() -> dict[str, dict[str, float]]:
    """Gradient -> part -> its relative L2 distance to autograd, of the networks of Section 5.1 at a start, in float64.

    As coded, one for each of PAIRINGS; as printed (Eqs. 33 to 35) with g(u_n), and with a g of the state, for which the
    printed costate is not complete.
    """
    nets = {f"pairing {name}": (partial(Coded, 1, 8, 16), name) for name in PAIRINGS}
    for words, diffusion in (("(u_n)", "vector"), ("of the state", "net")):
        nets[f"printed, g {words}"] = partial(SNN, 1, 8, 16, diffusion=diffusion), "smp_paper"
    rows = {}
    for row, (make, gradient) in nets.items():
        both = [gradient_at_a_start(make(gradient=name)) for name in (gradient, "autograd")]
        rows[row] = {part: float(relative_l2(*(of_part(g, names) for g in both))) for part, names in PARTS.items()}
    return rows


def gradient_at_a_start(net: SNN | Coded, B: int = 64) -> dict[str, Tensor]:
    """Of the squared error of B random points, one path each: parameter -> tensor, in float64."""
    params = as_dict(net, stack(net, [(0,)], fan_in_uniform)[0].double())
    generator = torch_stream(0, "gradients")
    shapes = (B, params["lift.weight"].shape[1]), (B,), (B, *net.noise(1))
    x, y, w = (torch.randn(*shape, generator=generator).double() for shape in shapes)
    net = net.double()
    if isinstance(net, Coded):
        return grad(lambda p: functional_call(net, p, (x, w, y)))(params)
    return grad(lambda p: ((functional_call(net, p, (x, w))[:, 0] - y) ** 2).mean())(params)


def of_part(gradient: dict[str, Tensor], names: tuple[str, ...]) -> Tensor:
    """All of a part as one vector; running statistics have no gradient."""
    chosen = [name for name in gradient if name.split(".")[0] in names and not name.endswith(STATISTICS)]
    return torch.cat([gradient[name].flatten() for name in chosen])
