"""The network and the gradient as the authors coded them, against torch's own layers and autograd."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

from fedlib.federated.stack import as_dict, stack
from fedlib.models.networks import fan_in_uniform
from fedlib.papers.fedstnn.as_coded import authors, coded
from fedlib.papers.fedstnn.as_coded.coded import PAIRINGS, Coded, Norm
from fedlib.streams import torch_stream


def normal(*shape, key=0):
    return torch.randn(*shape, generator=torch_stream(0, "test", key), dtype=torch.float64)


def gradients(gradient, N=4, K=3, B=9):
    """Of every parameter [K, ...], at K random starts."""
    net = Coded(1, 4, 6, N=N, gradient=gradient).double()
    params = as_dict(net, stack(net, [(k,) for k in range(K)], fan_in_uniform).double())
    weight = torch.full((K, B), 1 / B, dtype=torch.float64)
    batch = normal(K, B, 1), normal(K, B, *net.noise(1), key=2), normal(K, B, key=1), weight
    return vmap(grad(lambda p, *batch: functional_call(net, p, batch)))(params, *batch)


def test_exact_pairing_is_backpropagation():
    """With g_x^T Z in the costates; also through the normalisation, whose statistics depend on all points."""
    ours, exact = gradients("exact"), gradients("autograd")
    for name in exact:
        np.testing.assert_allclose(ours[name], exact[name], rtol=1e-10, atol=1e-14, err_msg=name)


def test_coded_pairings_are_wrong_where_they_pair_wrongly():
    """1D: drift right, diffusion wrong. 2D: the drift is right in block 1 only, whose costate all blocks get."""
    exact = gradients("autograd")
    for name, right in {"coded 1D": (0, 1, 2, 3), "coded 2D": (1,)}.items():
        ours = gradients(name)
        for n in range(4):
            off = {part: (ours[key] - exact[key]).norm() / exact[key].norm() for part, key in
                   {"drift": f"drift.{n}.0.weight", "diffusion": f"spread.{n}.0.weight"}.items()}  # fmt: skip
            assert (off["drift"] < 1e-10) == (n in right) and off["diffusion"] > 0.1, (name, n, off)
        for part in ("lift.weight", "read.weight"):
            np.testing.assert_allclose(ours[part], exact[part], rtol=1e-10)


def test_the_costates_of_the_pairings():
    """N = 4: of block n = 0, ..., 3 the index of Y and that of Z."""
    pairs = {name: [of(n, 4) for n in range(4)] for name, of in PAIRINGS.items()}
    assert pairs["exact"] == [(1, 0), (2, 1), (3, 2), (4, 3)]
    assert pairs["coded 1D"] == [(1, 3), (2, 2), (3, 1), (4, 0)]
    assert pairs["coded 2D"] == [(2, 3), (2, 2), (2, 1), (2, 0)]


def test_normalisation_is_torchs():
    """Output in training and in prediction; a step of size MOMENTUM along the loss is torch's running update."""
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
    theirs.eval()
    norm.mean.data, norm.var.data = theirs.running_mean, theirs.running_var
    np.testing.assert_allclose(norm(X[:, None], None)[:, 0].detach(), theirs(X).detach(), rtol=1e-10)


def test_padding_of_no_weight_changes_nothing():
    """Statistics, value and gradient of the other points."""
    net, x, y = Coded(1, 4, 6).double(), normal(5, 1), normal(5, key=1)
    w, weight = normal(5, *net.noise(1), key=2), torch.full((5,), 0.2, dtype=torch.float64)
    params = as_dict(net, stack(net, [(0,)], fan_in_uniform)[0].double())
    more = [torch.cat([v, v[:2]]) for v in (x, w, y)] + [torch.cat([weight, 0 * weight[:2]])]
    plain, padded = (grad(lambda p, b=b: functional_call(net, p, tuple(b)))(params) for b in ((x, w, y, weight), more))
    for name in plain:
        np.testing.assert_allclose(padded[name], plain[name], rtol=1e-10, atol=1e-14)


def test_unknown_gradient_is_refused():
    with pytest.raises(ValueError, match="expected 'autograd' or one of exact, coded 1D, coded 2D"):
        Coded(1, 4, 6, gradient="backward")


def their_state(d, L, H, N=4):
    """A state dict with the names and shapes of the authors' files."""
    found = {}
    for n in range(N):
        for part in ("drift", "diffusion"):
            found |= {f"{part}List.{n}.bn.{k}": normal(L, key=n) for k in ("weight", "bias", "running_mean")}
            found |= {f"{part}List.{n}.bn.running_var": normal(L, key=n).abs()}
            found |= {f"{part}List.{n}.bn.num_batches_tracked": torch.tensor(3)}
            for layer, shape in enumerate(((H, L), (L, H))):
                name = f"{part}List.{n}.layers.{layer}.linear"
                found |= {f"{name}.weight": normal(*shape, key=n), f"{name}.bias": normal(shape[0], key=n)}
    for name, shape in {"project0": (L, d), "project_end": (1, L)}.items():
        found |= {f"{name}.linear.weight": normal(*shape), f"{name}.linear.bias": normal(shape[0])}
    return found


def test_the_authors_state_dict_becomes_a_row():
    net, state = Coded(2, 5, 7), their_state(2, 5, 7)
    params = as_dict(net, authors.as_row(net, state))
    pairs = {
        "lift.weight": "project0.linear.weight",
        "read.bias": "project_end.linear.bias",
        "drift.2.1.weight": "driftList.2.layers.1.linear.weight",
        "spread.3.0.bias": "diffusionList.3.layers.0.linear.bias",
        "norm.1.weight": "diffusionList.1.bn.weight",
        "norm.1.var": "diffusionList.1.bn.running_var",
    }
    for own, theirs in pairs.items():
        torch.testing.assert_close(params[own], state[theirs].float())


def test_another_state_dict_is_refused():
    net, state = Coded(2, 5, 7), their_state(2, 5, 7)
    with pytest.raises(ValueError, match=r"project0.linear.weight: expected a tensor \(5, 2\), got \(5, 1\)"):
        authors.as_row(net, state | {"project0.linear.weight": torch.zeros(5, 1)})
    del state["driftList.1.layers.0.linear.bias"]
    with pytest.raises(ValueError, match="got nothing"):
        authors.as_row(net, state)


def test_the_authors_files(tmp_path, monkeypatch):
    """None where a file is not; another file of that name is refused by its sum, before it is read."""
    monkeypatch.setattr(authors, "SOURCES", {k: s._replace(file=f"no-{s.file}") for k, s in authors.SOURCES.items()})
    assert authors.load_authors("5.1") is None
    assert "github.com/TonyTangTT/FedStNN" in authors.how_to_get("5.1")
    torch.save(their_state(1, 8, 16), tmp_path / authors.SOURCES["5.1"].file)
    with pytest.raises(ValueError, match="damaged or another file"):
        authors.load_authors("5.1", tmp_path)


def test_inputs_are_not_scaled():
    """A network of a domain sees the points that its inputs stand for, also in its gradient."""
    plain, domain = Coded(1, 4, 6, gradient="exact").double(), (0, 2 * np.pi)
    other = Coded(1, 4, 6, gradient="exact", domain=domain).double()
    params = as_dict(plain, stack(plain, [(0,)], fan_in_uniform)[0].double())
    x, w, y = normal(5, 1), normal(5, *plain.noise(1), key=2), normal(5, key=1)
    weight = torch.full((5,), 0.2, dtype=torch.float64)
    for asked in ((w,), (w, y, weight)):
        a, b = (functional_call(n, params, (at, *asked)) for n, at in ((plain, np.pi * (x + 1)), (other, x)))
        np.testing.assert_allclose(a, b, rtol=1e-12)
    g = [
        grad(lambda p, n=n, at=at: functional_call(n, p, (at, w, y, weight)))(params)
        for n, at in ((plain, np.pi * (x + 1)), (other, x))
    ]
    np.testing.assert_allclose(g[0]["lift.weight"], g[1]["lift.weight"], rtol=1e-12)
