"""The network and the gradient as the authors coded them, against torch's own layers and autograd."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

from fedlib.federated.stack import as_dict, stack
from fedlib.models.networks import fan_in_uniform
from fedlib.papers.fedstnn.as_coded import coded
from fedlib.papers.fedstnn.as_coded.coded import Coded, Norm
from fedlib.streams import torch_stream


def normal(*shape, key=0):
    return torch.randn(*shape, generator=torch_stream(0, "test", key), dtype=torch.float64)


def gradients_of(gradient, N=4, K=3, B=9):
    """Of every parameter [K, ...], at K random starts."""
    net = Coded(1, 4, 6, N=N, gradient=gradient).double()
    params = as_dict(net, stack(net, [(k,) for k in range(K)], fan_in_uniform).double())
    weight = torch.full((K, B), 1 / B, dtype=torch.float64)
    batch = normal(K, B, 1), normal(K, B, *net.noise(1), key=2), normal(K, B, key=1), weight
    return vmap(grad(lambda p, *batch: functional_call(net, p, batch)))(params, *batch)


def test_exact_pairing_is_backpropagation():
    """With g_x^T Z in the costates; also through the normalisation, whose statistics depend on all points."""
    ours, exact = gradients_of("exact"), gradients_of("autograd")
    for name in exact:
        np.testing.assert_allclose(ours[name], exact[name], rtol=1e-10, atol=1e-14, err_msg=name)


def test_coded_pairings_are_wrong_where_they_pair_wrongly():
    """1D: drift right, diffusion wrong. 2D: the drift is right in block 1 only, whose costate all blocks get."""
    exact = gradients_of("autograd")
    for name, right in {"coded 1D": (0, 1, 2, 3), "coded 2D": (1,)}.items():
        ours = gradients_of(name)
        for n in range(4):
            off = {part: (ours[key] - exact[key]).norm() / exact[key].norm() for part, key in
                   {"drift": f"drift.{n}.0.weight", "diffusion": f"spread.{n}.0.weight"}.items()}  # fmt: skip
            assert (off["drift"] < 1e-10) == (n in right) and off["diffusion"] > 0.1, (name, n, off)
        for part in ("lift.weight", "read.weight"):
            np.testing.assert_allclose(ours[part], exact[part], rtol=1e-10)


def test_normalisation_is_torchs():
    """Output; a step of size MOMENTUM along the loss is torch's running update."""
    L, B = 3, 7
    norm, theirs = Norm(L).double(), nn.BatchNorm1d(L, eps=coded.EPS, momentum=coded.MOMENTUM).double()
    for own, other in ((norm.weight, theirs.weight), (norm.bias, theirs.bias)):
        own.data = other.data = normal(L, key=len(own.shape))
    X = normal(B, L) * 3 + 1
    weight = torch.full((B,), 1 / B, dtype=torch.float64)
    np.testing.assert_allclose(norm(X[:, None], weight)[:, 0].detach(), theirs(X).detach(), rtol=1e-10)
    net = Coded(1, L, 4, N=1).double()
    net.track([X[:, None], None], weight).backward()
    for own, other in ((net.norm[0].mean, theirs.running_mean), (net.norm[0].var, theirs.running_var)):
        np.testing.assert_allclose((own - coded.MOMENTUM * own.grad).detach(), other, rtol=1e-12)


def test_padding_of_no_weight_changes_nothing():
    """Statistics, value and gradient of the other points."""
    net, x, y = Coded(1, 4, 6).double(), normal(5, 1), normal(5, key=1)
    w, weight = normal(5, *net.noise(1), key=2), torch.full((5,), 0.2, dtype=torch.float64)
    params = as_dict(net, stack(net, [(0,)], fan_in_uniform)[0].double())
    more = [torch.cat([v, v[:2]]) for v in (x, w, y)] + [torch.cat([weight, 0 * weight[:2]])]
    plain, padded = (grad(lambda p, b=b: functional_call(net, p, tuple(b)))(params) for b in ((x, w, y, weight), more))
    for name in plain:
        np.testing.assert_allclose(padded[name], plain[name], rtol=1e-10, atol=1e-14)


def test_inputs_are_not_scaled():
    """A network of a domain sees the points that its inputs stand for, also in its gradient."""
    plain, other = (Coded(1, 4, 6, gradient="exact", domain=domain).double() for domain in ((-1, 1), (0, 2 * np.pi)))
    params = as_dict(plain, stack(plain, [(0,)], fan_in_uniform)[0].double())
    x, w, y = normal(5, 1), normal(5, *plain.noise(1), key=2), normal(5, key=1)
    places = (plain, np.pi * (x + 1)), (other, x)
    a, b = (functional_call(net, params, (at, w)) for net, at in places)
    np.testing.assert_allclose(a, b, rtol=1e-12)
    a, b = (grad(lambda p, net=net, at=at: functional_call(net, p, (at, w, y)))(params) for net, at in places)
    np.testing.assert_allclose(a["lift.weight"], b["lift.weight"], rtol=1e-12)


def test_unknown_gradient_is_refused():
    with pytest.raises(ValueError, match="expected 'autograd' or one of exact, coded 1D, coded 2D"):
        Coded(1, 4, 6, gradient="backward")


def test_parts_of_a_gradient_are_told_apart():
    """As coded the drift of 1D is exact and the diffusion is not; a gradient of zeros is off by 1."""
    rows = coded.gradient_errors()
    assert max(rows["pairing exact"].values()) < 1e-12
    one = rows["pairing coded 1D"]
    assert [*one] == [*coded.PARTS] and one["drift"] < 1e-12 < 0.5 < one["diffusion"]
    assert rows["printed, g (u_n)"]["drift"] < 1e-12 < 0.01 < rows["printed, g of the state"]["drift"]
    parts = {"norm.0.weight": torch.ones(2), "norm.0.mean": torch.ones(3), "norm.0.var": torch.ones(3)}
    assert len(coded.of_part(parts, coded.PARTS["diffusion"])) == 2, "running statistics have no gradient"
