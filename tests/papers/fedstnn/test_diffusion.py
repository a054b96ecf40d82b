"""The delicate points of a diffusion, as notebook 08 shows them."""

import numpy as np
import pytest
import torch

from fedlib.federated.stack import as_dict, predict, stack
from fedlib.papers.fedstnn import diffusion
from fedlib.papers.fedstnn.network import SNN, init_snn
from fedlib.streams import torch_stream


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
