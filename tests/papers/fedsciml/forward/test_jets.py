"""Jets of the equations' networks against nested automatic differentiation, and a gap that a wrong jet has."""

from copy import deepcopy

import pytest
import torch
from torch import Tensor

from fedlib.federated.experiment import Experiment
from fedlib.federated.stack import draw_parameters, load
from fedlib.models import jets
from fedlib.models.jets import VALUE_ONLY
from fedlib.models.networks import glorot_uniform
from fedlib.papers.fedsciml.forward import problem
from fedlib.streams import stream, torch_stream


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


@pytest.mark.parametrize(("experiment", "channel"), [(problem.euler_beam(), "xxxx"), (problem.helmholtz(), "xx+yy")])
def test_jets_are_nested_derivatives_and_a_wrong_one_is_seen(experiment, channel, monkeypatch):
    assert gap(experiment, channel) < 1e-7
    right = jets.jet
    monkeypatch.setattr(jets, "jet", lambda *given: {name: 1.01 * value for name, value in right(*given).items()})
    assert gap(experiment, channel) > 1e-4
