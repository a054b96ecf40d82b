"""The delicate points of a diffusion, as notebook 08 shows them."""

import numpy as np
import pytest
import torch

from fedlib.federated.stack import as_dict, predict, stack
from fedlib.papers.fedstnn import diffusion
from fedlib.papers.fedstnn.network import SNN, init_snn
from fedlib.streams import torch_stream


def test_the_exact_reading_is_backpropagation_and_the_printed_one_is_late():
    exact, printed = (diffusion.gradient_errors(reading) for reading in ("smp_exact", "smp_paper"))
    assert max(exact.values()) < 1e-10
    late = [name for name, e in printed.items() if e > 1e-10]
    assert late == ["s", *(f"diffusion, block {n}" for n in range(3))]


def test_finer_blocks_make_the_index_less_wrong():
    errors = [diffusion.gradient_errors("smp_paper", N)["s"] for N in (16, 64)]
    assert 3 < errors[0] / errors[1] < 5


def test_a_gradient_is_a_difference_quotient():
    """Of the drift's first bias, by hand, in float64."""
    found = diffusion.gradients("autograd")["read.bias"]
    net = SNN(1, 8, 16).double()
    params = as_dict(net, stack(net, [(0,)], init_snn)[0].double())
    generator = torch_stream(0, "equality")
    x, y, w = (torch.randn(*s, generator=generator).double() for s in ((64, 1), (64,), (64, *net.noise(2))))

    def loss(step):
        out = torch.func.functional_call(net, params | {"read.bias": params["read.bias"] + step}, (x, w))
        return ((out - y[:, None]) ** 2).mean().item()

    assert found.item() == pytest.approx((loss(1e-5) - loss(-1e-5)) / 2e-5, rel=1e-6)


def test_signs_change_nothing_but_an_average():
    net = SNN(1, 8, 16)
    row = stack(net, [(0,)], init_snn)[0]
    x = torch.linspace(-1, 1, 30)[:, None]
    w = torch.randn(30, *net.noise(500), generator=torch_stream(0, "paths"))
    params = as_dict(net, row)
    own = diffusion.spread(net, params, torch.nn.functional.softplus(params["s"]), x, w)
    paths = predict(net, row, x, w)
    assert own == pytest.approx(np.sqrt((paths.std(1) ** 2).mean()).item(), rel=1e-5)
    each, average = diffusion.flipped(net, row, {"x_test": x.double(), "w_test": w})
    assert len(each) == 10
    np.testing.assert_allclose(each, own, rtol=0.15)
    assert average < 0.6 * own


def test_loop_and_stack_agree():
    assert diffusion.loop_against_stack() < 1e-10
