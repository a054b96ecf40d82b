"""Distances of gradients are relative and by part."""

import numpy as np
import torch
from torch import nn

from fedlib.papers.fedstnn.as_coded import gradients
from fedlib.papers.fedstnn.network import SNN


class Times(nn.Module):
    """An SNN whose gradient is a factor too large, and whose answers are not."""

    def __init__(self, factor):
        super().__init__()
        net = SNN(1, 4, 6)
        self.lift, self.drift, self.s, self.read = net.lift, net.drift, net.s, net.read
        self.noise, self.net, self.factor = net.noise, [net], factor

    def forward(self, x, w):
        out = torch.func.functional_call(self.net[0], dict(self.named_parameters()), (x, w))
        return self.factor * out - (self.factor - 1) * out.detach()


def test_twice_a_gradient_is_off_by_one():
    for factor, off in (("1", 0), ("2", 1)):
        found = gradients.distances(lambda gradient: Times(1 if gradient == "autograd" else int(gradient)), factor)
        np.testing.assert_allclose([*found.values()], off, atol=1e-12)
        assert [*found] == ["lift", "drift", "diffusion"]
