"""Jets against independent oracles in float64: nested jvp, nested autograd.grad."""

import pytest
import torch
from torch import nn

from fedlib.federated.stack import draw_parameters, load
from fedlib.models.jets import JetNet, Sine, channels, closed, function_jet, jet, product, product_rule
from fedlib.models.networks import glorot_uniform, mlp
from fedlib.streams import torch_stream

EXACT = dict(rtol=1e-9, atol=1e-9)
WANTED = {
    "second derivatives": ("xx", "xt", "tt"),
    "heat": ("t", "xx"),
    "Laplacian": ("xx+tt",),
    "weighted sum": ("xx+0.5*tt+3*xt", "x+2*t"),
    "third and fourth": ("xxx", "xxxx", "xxt", "xxtt"),
    "biharmonic": ("xxxx+2*xxtt+tttt",),
}


def make_net(activation, widths=(2, 9, 8, 3)):
    net = mlp(widths, activation).double()
    load(net, draw_parameters(net, glorot_uniform, torch_stream(1, "net")))
    for module in net:
        if isinstance(module, nn.Linear):
            nn.init.uniform_(module.bias, -0.5, 0.5, generator=torch_stream(1, "bias"))
    return net


def points(n=7):
    return torch.rand(n, 2, dtype=torch.float64, generator=torch_stream(0, "points")) * 2 - 1


def value(terms_of_name):
    """The test's own reading of a name: "xx+0.5*tt" -> [(1, "xx"), (0.5, "tt")]."""
    pairs = [t.split("*") if "*" in t else (1, t) for t in terms_of_name.split("+")]
    return [(float(w), axes) for w, axes in pairs]


def by_autograd(net, x, axes):
    """u_axes [n, outputs] by one autograd.grad with create_graph after the other."""
    columns = []
    for o in range(net(x).shape[1]):
        z = x.clone().requires_grad_()
        u = net(z)[:, o]
        for a in axes:
            u = torch.autograd.grad(u.sum(), z, create_graph=True)[0][:, "xt".index(a)]
        columns.append(u)
    return torch.stack(columns, 1).detach()


@pytest.mark.parametrize("activation", [nn.Tanh, Sine, nn.Softplus, nn.SiLU], ids=lambda a: a.__name__)
@pytest.mark.parametrize("case", WANTED)
def test_jets_equal_nested_jvp_and_nested_autograd(case, activation):
    net, x = make_net(activation), points()
    u = jet(net, x, channels("xt", WANTED[case]))
    assert u.keys() >= {"", *WANTED[case]}
    for name, got in u.items():
        nested = sum(w * by_autograd(net, x, axes) for w, axes in value(name))
        torch.testing.assert_close(got, nested, **EXACT)
    columns = [function_jet(lambda z, o=o: net(z)[:, o], x, WANTED[case], "xt") for o in range(3)]
    for name, got in u.items():
        torch.testing.assert_close(got, torch.stack([c[name] for c in columns], 1), **EXACT)


def test_lower_derivatives_come_along_and_no_others():
    assert closed(("t", "xx")) == ("", "t", "x", "xx")
    assert closed(("xx+yy",)) == ("", "x", "y", "xx+yy")  # no "xx": the Laplacian is one channel
    assert closed(("xxxx",)) == ("", "x", "xx", "xxx", "xxxx")


def test_gradients_by_the_parameters():
    """The gradient of a residual against a graph of nested autograd.grad."""
    net, x = make_net(nn.Tanh, (2, 3, 1)), points(4)
    rules = channels("xt", ("xxt", "tt"))
    u = jet(net, x, rules)
    ours = torch.autograd.grad(((u["tt"] + u["xxt"]) ** 2).mean(), list(net.parameters()), materialize_grads=True)
    z = x.clone().requires_grad_()
    first = torch.autograd.grad(net(z).sum(), z, create_graph=True)[0]
    u_tt = torch.autograd.grad(first[:, 1].sum(), z, create_graph=True)[0][:, 1]
    u_xx = torch.autograd.grad(first[:, 0].sum(), z, create_graph=True)[0][:, 0]
    u_xxt = torch.autograd.grad(u_xx.sum(), z, create_graph=True)[0][:, 1]
    theirs = torch.autograd.grad(((u_tt + u_xxt) ** 2).mean(), list(net.parameters()), materialize_grads=True)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, **EXACT)


def test_product_rule_equals_the_jet_of_the_product():
    def b(z):
        return (z[:, 0] ** 3 * z[:, 1]).sin()

    def u(z):
        return (z[:, 1] + z[:, 0] ** 2).exp()

    names = ("x", "tt", "xxt", "xxtt", "xxxx", "xx+0.5*tt")
    jets = [function_jet(f, points(), names, "xt") for f in (b, u, lambda z: b(z) * u(z))]
    ours = product(*jets[:2], {name: product_rule(name) for name in closed(names)})
    for name, exact in jets[2].items():
        torch.testing.assert_close(ours[name], exact, **EXACT)


def test_an_unknown_coordinate_is_named():
    with pytest.raises(ValueError, match=r"derivative 'yy' is by 'y', but the coordinates are \['x', 't'\]"):
        JetNet(mlp((2, 3, 1), nn.Tanh), "xt", ("xx", "yy"))
