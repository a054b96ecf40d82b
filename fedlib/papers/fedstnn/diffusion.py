"""What is delicate about training a diffusion: the printed index of its gradient, its sign, loop against stack."""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.func import functional_call, grad
from torch.nn.functional import softplus

from ...federated.batches import Local
from ...federated.federation import Federation
from ...federated.partitions import deal
from ...federated.stack import as_dict, stack
from ...federated.train import train
from ...streams import stream, torch_stream
from .algorithms import algorithm_4
from .network import SNN, init_snn, mlp
from .scores import energy_score, local_loss, squared_error


def gradients(reading: str, N: int = 4, T: float = 1.0, B: int = 64) -> dict[str, Tensor]:
    """Gradient of the squared error at random parameters, B points and two paths, in float64: parameter -> tensor.

    reading: one of ``network.READINGS``. N: blocks of the network. T: its horizon.
    """
    net = SNN(1, 8, 16, N=N, T=T, gradient=reading).double()
    params = as_dict(net, stack(net, [(0,)], init_snn)[0].double())
    generator = torch_stream(0, "equality")
    shapes = (B, 1), (B,), (B, *net.noise(2))
    x, y, w = (torch.randn(*shape, generator=generator).double() for shape in shapes)
    return grad(lambda p: squared_error(functional_call(net, p, (x, w)), y).mean())(params)


def gradient_errors(reading: str, N: int = 4, T: float = 1.0) -> dict[str, float]:
    """Relative difference of ``gradients`` to autograd, for every parameter and for the diffusion of every block."""
    ours, exact = (gradients(name, N, T) for name in (reading, "autograd"))
    pairs = {name: (ours[name], exact[name]) for name in exact}
    pairs |= {f"diffusion, block {n}": (ours["s"][n], exact["s"][n]) for n in range(N)}
    return {name: float((a - b).norm() / b.norm()) for name, (a, b) in pairs.items()}


def spread(net: SNN, params: Mapping[str, Tensor], diffusion: Tensor, x: Tensor, w: Tensor) -> float:
    """RMS over points x [n, 1] of the spread of the paths w [n, N, M, L], with another diffusion [N, L] of any sign."""
    X = functional_call(net.lift, {k: params[f"lift.{k}"] for k in ("weight", "bias")}, x)[:, None]
    for n in range(net.N):
        u = (params[f"drift.{n}.{i}.{k}"] for i in (0, 1) for k in ("weight", "bias"))
        X = X + net.h * mlp(X, *u) + net.h**0.5 * (w[:, n] * diffusion[n])
    return float((X @ params["read.weight"].T).std(1).square().mean() ** 0.5)


def flipped(net: SNN, row: Tensor, constants: Mapping[str, Tensor], clients: int = 10) -> tuple[list[float], float]:
    """Spreads of models [P] whose diffusion has random signs, which do not change their law, and of their average.

    constants: of ``experiment.probes``.
    """
    x, w = (constants[name].float() for name in ("x_test", "w_test"))
    params = as_dict(net, row)
    g = softplus(params["s"])
    signs = torch.as_tensor(stream(0, "signs").choice([-1.0, 1.0], (clients, *g.shape))).to(g.dtype)
    return [spread(net, params, s * g, x, w) for s in signs], spread(net, params, (signs * g).mean(0), x, w)


def loop_against_stack() -> float:
    """Largest difference of parameters between Algorithm 4, line by line, and the same as a stack, on a small case."""
    net, x = SNN(1, 3, 5).double(), torch.as_tensor(stream(0, "small").uniform(-1, 1, (23, 1)))
    pool = {"x": x, "y": torch.sin(3 * x[:, 0])}
    fed = Federation(deal(23, 4, stream(0, "deal")), fraction=0.75, lr=0.01, decay=0.75)
    args = dict(rounds=3, local=Local(3, "steps", 4))
    loop = algorithm_4(net, energy_score, pool, fed, paths=2, **args)
    args |= dict(noise=net.noise(2), reset_moments=True, init=init_snn, dtype=torch.float64)
    return float((train(net, local_loss(energy_score), pool, [fed], **args).model(0) - loop).abs().max())
