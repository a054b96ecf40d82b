"""Jets of a problem's network against nested automatic differentiation."""

from copy import deepcopy

import torch
from torch import Tensor

from ....federated.experiment import Experiment
from ....federated.stack import draw_parameters, load
from ....models.jets import VALUE_ONLY
from ....models.networks import glorot_uniform
from ....streams import stream, torch_stream


def channels(experiment: Experiment) -> str:
    """The channels of the network's jet, u first."""
    return ", ".join(["u", *experiment.net.channels])


def nested(u: Tensor, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Derivative of u [n] along axes of the points x [n, d], one ``autograd.grad`` inside the other."""
    for axis in axes:
        u = torch.autograd.grad(u.sum(), x, create_graph=True)[0][:, axis]
    return u


def gap(experiment: Experiment, channel: str, n: int = 50) -> float:
    """Largest difference of a jet's channel, such as "xx+yy", from nested ``autograd.grad`` at n points, in float64."""
    net = deepcopy(experiment.net).double()
    load(net, draw_parameters(net, glorot_uniform, torch_stream(0, "example")))
    x = torch.as_tensor(stream(0, "example").uniform(size=(n, len(experiment.coordinates)))).requires_grad_()
    u = net(x, VALUE_ONLY)[:, 0]
    by_hand = sum(nested(u, x, tuple(map(experiment.coordinates.index, term))) for term in channel.split("+"))
    return (net(x)[channel][:, 0] - by_hand).abs().max().item()
