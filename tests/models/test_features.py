"""Models that are linear in what is learnt: their jets are derivatives, and only the last layer is learnt."""

import numpy as np
import pytest
import torch
from numpy.polynomial.chebyshev import chebvander
from torch import nn

from fedlib.models.features import LinearOperator, Products, last_layer, polynomials, random_sines, sines
from fedlib.models.jets import VALUE_ONLY, JetNet, function_jet
from fedlib.models.networks import mlp
from fedlib.streams import stream


def drawn(net: nn.Module) -> nn.Module:
    """With random coefficients, in float64."""
    rng = stream(1, "coefficients")
    for p in net.double().parameters():
        p.data = torch.as_tensor(rng.standard_normal(p.shape))
    return net


@pytest.mark.parametrize(
    "net",
    [
        random_sines(7, 2.0, "xt", ("t", "xx"), stream(0, "features")),
        Products({"x": sines(5, -1.0, 1.0), "t": polynomials(4, 0.2, 0.7)}, ("t", "xx")),
    ],
    ids=["random sines", "products"],
)
def test_jets_are_nested_derivatives(net):
    x = torch.as_tensor(stream(2, "points").uniform(-0.5, 0.5, (6, 2)))
    drawn(net)
    jet = net(x)
    expected = function_jet(lambda x: net(x, VALUE_ONLY)[:, 0], x, ("t", "xx"), "xt")
    for name in ("", "t", "xx"):
        np.testing.assert_allclose(jet[name][:, 0].detach(), expected[name].detach(), rtol=1e-9, atol=1e-10)


def test_families_are_what_their_names_say():
    x = torch.linspace(0.2, 0.7, 9, dtype=torch.float64)
    of_numpy = chebvander((2 * x - 0.9).numpy() / 0.5, 5)
    np.testing.assert_allclose(polynomials(6, 0.2, 0.7)[1](x, 0), of_numpy, atol=1e-12)
    ends = sines(4, -1.0, 1.0)[1](torch.tensor([-1.0, 1.0]).double(), 0)
    np.testing.assert_allclose(ends, 0, atol=1e-12)


def test_only_the_last_layer_is_learnt():
    """And the model that it begins with is the network's."""
    net = JetNet(mlp((1, 6, 6, 1), nn.Tanh), "x", ("xx",)).double()
    head, x = last_layer(net), torch.linspace(-1, 1, 5, dtype=torch.float64)[:, None]
    assert [name for name, _ in head.named_parameters()] == ["net.4.weight", "net.4.bias"]
    assert torch.equal(head(x, VALUE_ONLY), net(x, VALUE_ONLY))
    assert len([*net.parameters()]) == 6, "the network itself stays as it is"


def test_an_operator_is_linear_in_its_input_but_for_a_constant():
    basis = stream(3, "basis").standard_normal((12, 3))
    net, y = drawn(LinearOperator(basis, 4)), torch.linspace(0, 1, 5, dtype=torch.float64)[:, None]
    u, v = torch.as_tensor(stream(3, "inputs").standard_normal((2, 12)))
    answer = lambda w: net(w[None], y).detach()  # noqa: E731
    np.testing.assert_allclose(answer(u + v), answer(u) + answer(v) - answer(0 * u), rtol=1e-9, atol=1e-12)
    assert answer(u)[0] == 0, "at rest at y = 0"
    apart = net(u.expand(5, 12), y)
    assert torch.allclose(apart, answer(u)), "axes broadcast"
