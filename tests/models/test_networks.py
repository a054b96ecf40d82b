"""Initial parameters: by kind of layer, within their bounds, and never the same under two seeds."""

import pytest
import torch
from torch import nn

from fedlib.federated.stack import draw_parameters, stack
from fedlib.models.networks import fan_in_uniform, glorot_normal, glorot_uniform, mlp
from fedlib.models.stochastic import init_snn
from fedlib.problems.feddro import CNN
from fedlib.problems.flow import WithCoefficients
from fedlib.streams import torch_stream

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
        assert len(bias) == 0 or bias.std() > 0
    else:
        assert not bias.any()
    if init is glorot_uniform:
        assert weight.abs().max() <= 3**0.5 * sd


def test_fan_in_uniform_has_the_bounds_of_torch_s_own_default():
    for layer in LAYERS.values():
        start = draw_parameters(layer, fan_in_uniform, torch_stream(0, "layer")).abs().max()
        bound = layer.weight.detach().abs().max()  # torch's own draw, as large
        assert abs(float(start / bound) - 1) < 0.1


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
