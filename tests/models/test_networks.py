"""Initial parameters: by kind of layer, within their bounds, and never the same under two seeds."""

import pytest
import torch
from torch import nn

from fedlib.federated.stack import draw_parameters, stack
from fedlib.models.networks import CartesianDeepONet, DeepONet, fan_in_uniform, glorot_normal, glorot_uniform, mlp
from fedlib.papers.feddro.digits.problem import CNN
from fedlib.papers.fedsciml.flow.problem import WithCoefficients
from fedlib.papers.fedstnn.network import init_snn
from fedlib.streams import stream, torch_stream

from ..conftest import pairwise

LAYERS = {
    "linear": nn.Linear(30, 40),
    "conv1d": nn.Conv1d(6, 40, 5),
    "conv2d": nn.Conv2d(4, 40, 3),
    "grouped": nn.Conv2d(8, 40, 3, groups=4),
    "no bias": nn.Conv2d(4, 40, 3, bias=False),
}


@pytest.mark.parametrize("init", [fan_in_uniform, glorot_uniform, glorot_normal])
@pytest.mark.parametrize("layer", LAYERS)
def test_every_layer_starts_within_its_bounds_and_otherwise_under_another_seed(layer, init):
    """fan_in = inputs times kernel; fan_out likewise; the st.dev. of U(-b, b) is b / sqrt(3)."""
    layer = LAYERS[layer]
    row, other = stack(layer, [(0,), (1,)], init)
    weight, bias = row[: layer.weight.numel()], row[layer.weight.numel() :]
    assert (weight != other[: len(weight)]).all()
    size = layer.weight[0, 0].numel()  # of the kernel
    fan_in, fan_out = layer.weight.shape[1] * size, len(layer.weight) * size
    sd = (3 * fan_in) ** -0.5 if init is fan_in_uniform else (2 / (fan_in + fan_out)) ** 0.5
    assert abs(float(weight.std()) / sd - 1) < 0.1
    if init is fan_in_uniform:
        assert row.abs().max() <= fan_in**-0.5
        assert len(bias) == 0 or abs(float(bias.std()) / sd - 1) < 0.4  # of 40 numbers
    else:
        assert not bias.any()
    if init is glorot_uniform:
        assert weight.abs().max() <= 3**0.5 * sd


@pytest.mark.parametrize("init", [fan_in_uniform, glorot_uniform, glorot_normal])
def test_a_layer_of_an_unknown_kind_is_refused(init):
    for layer in (nn.LSTM(3, 4), nn.BatchNorm1d(3), nn.ConvTranspose2d(3, 4, 5), nn.Embedding(3, 4), nn.PReLU()):
        with pytest.raises(TypeError, match=f"{type(layer).__name__}, only for Linear, Conv1d, Conv2d; write init"):
            draw_parameters(nn.Sequential(nn.Linear(3, 3), layer), init, torch_stream(0, "init"))
    with pytest.raises(TypeError, match="Linear has no bounds"):
        draw_parameters(mlp((1, 2, 1), nn.Tanh), init_snn, torch_stream(0, "init"))


def test_a_subclass_of_a_layer_is_a_layer():
    class Own(nn.Linear):
        pass

    first, second = stack(nn.Sequential(Own(3, 4)), [(0,), (1,)], fan_in_uniform)
    assert (first != second).all()


def test_parameters_of_one_s_own_keep_their_values_and_the_network_stays_as_it_is():
    net = WithCoefficients(nn.ParameterList([nn.Parameter(torch.tensor([3.0]))]), [0.2, 0.7])
    row = draw_parameters(net, fan_in_uniform, torch_stream(0, "init"))
    torch.testing.assert_close(row, torch.tensor([0.2, 0.7, 3.0]))
    net = CNN(displaced=True)
    before = net.conv1.weight.clone()
    first, second = stack(net, [(0,), (1,)], fan_in_uniform)
    assert not first[:784].any()
    assert (first[784:] != second[784:]).all()
    torch.testing.assert_close(net.conv1.weight, before)


def test_the_product_equals_the_pairs_with_its_gradient(deeponet):
    u, y = torch.as_tensor(stream(0, "inputs").normal(size=(6, 100))), torch.linspace(0, 1, 7).double()[:, None]
    target = torch.as_tensor(stream(0, "target").normal(size=(6, 7)))
    gradients = []
    for output in (deeponet(u, y), pairwise(deeponet, u, y)):
        gradients.append(torch.autograd.grad(((output - target) ** 2).mean(), list(deeponet.parameters())))
        torch.testing.assert_close(output, pairwise(deeponet, u, y), rtol=0, atol=1e-13)
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("kind", [DeepONet, CartesianDeepONet])
def test_a_deeponet_has_one_bias_and_halves_that_fit(kind):
    net = kind((6, 5, 4), (1, 5, 4))
    assert net.bias.shape == (1,)
    assert sum(p.numel() for p in net.parameters()) == (6 * 5 + 5 + 5 * 4 + 4) + (1 * 5 + 5 + 5 * 4 + 4) + 1
    with pytest.raises(ValueError, match="branch ends with width 4, trunk with 3; they must be equal"):
        kind((6, 5, 4), (1, 5, 3))


def test_a_training_in_float32_has_the_start_of_a_float32_network():
    """A session's default may be float64, in which torch draws other numbers. Whoever trains in float64 keeps them."""
    net, double = mlp((3, 4), nn.Tanh), mlp((3, 4), nn.Tanh).double()
    start = stack(net, [(0,)], fan_in_uniform)
    assert torch.equal(stack(double, [(0,)], fan_in_uniform, torch.float32), start)
    assert (stack(double, [(0,)], fan_in_uniform, torch.float64) - start).abs().max() > 0.01
