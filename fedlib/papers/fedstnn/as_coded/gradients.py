"""How far the gradients of Eqs. 33 to 35 and of the authors' code are from the exact one."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad

from ....federated.stack import as_dict, stack
from ....models.networks import fan_in_uniform
from ....numerics.metrics import relative_l2
from ....streams import torch_stream
from ..network import SNN
from .coded import PAIRINGS, Coded

PARTS = {"lift": ("lift",), "drift": ("drift",), "diffusion": ("s", "spread", "norm")}
"""Part of a network -> how names of its parameters begin."""


def errors() -> dict[str, dict[str, float]]:
    """Gradient -> part -> its relative distance to autograd, on the networks of Section 5.1, at a start, in float64.

    As coded, one for each of PAIRINGS; as printed for two networks, with g(u_n), and with a g of the state, for which
    the printed costate is not complete.
    """
    rows = {
        f"pairing {name}": distances(lambda gradient: Coded(1, 8, 16, gradient=gradient), name) for name in PAIRINGS
    }
    for words, diffusion in (("(u_n)", "vector"), ("of the state", "net")):
        made = lambda gradient, g=diffusion: SNN(1, 8, 16, diffusion=g, gradient=gradient)  # noqa: E731
        rows[f"printed, g {words}"] = distances(made, "smp_paper")
    return rows


def distances(make: Callable[[str], nn.Module], gradient: str, B: int = 64) -> dict[str, float]:
    """Relative L2 distance of a gradient of the squared error to autograd: part -> number. B random points, one path
    each."""
    nets = make(gradient).double(), make("autograd").double()
    params = as_dict(nets[0], stack(make(gradient), [(0,)], fan_in_uniform)[0].double())
    generator = torch_stream(0, "gradients")
    shapes = (B, params["lift.weight"].shape[1]), (B,), (B, *nets[0].noise(1))
    x, y, w = (torch.randn(*shape, generator=generator).double() for shape in shapes)
    gradients = [grad(lambda p, net=net: squared_error(net, p, x, y, w))(params) for net in nets]
    return {part: float(relative_l2(*(of_part(each, names) for each in gradients))) for part, names in PARTS.items()}


def squared_error(net: nn.Module, params: Mapping[str, Tensor], x: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """Mean over points, one path each."""
    if isinstance(net, Coded):
        return functional_call(net, params, (x, w, y))
    return ((functional_call(net, params, (x, w))[:, 0] - y) ** 2).mean()


def of_part(gradient: Mapping[str, Tensor], names: tuple[str, ...]) -> Tensor:
    """All of a part as one vector; running statistics have no gradient."""
    chosen = [name for name in gradient if name.split(".")[0] in names and not name.endswith((".mean", ".var"))]
    return torch.cat([gradient[name].flatten() for name in chosen])
