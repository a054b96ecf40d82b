"""Notebook 07 live: what each client knows, and that the picture is of the networks that are trained."""

import numpy as np
import torch

from fedlib.live import views
from fedlib.live.player import PACES, moments
from fedlib.papers.fedsciml.operators import live


def test_inputs_are_of_each_clients_kind_and_outputs_are_antiderivatives():
    """At n = 1 client 2's are fast waves."""
    training = live.training(1)
    shown, x = training.more, np.linspace(0, 1, 100)
    for inputs in (shown.v, training.pool["u"]):
        first, second = inputs.diff(dim=1).abs().mean(1).reshape(2, -1).mean(1)
        assert second > 100 * first
    shown = live.training(3).more
    for v, s in zip(shown.v.numpy(), shown.s.numpy(), strict=True):
        expected = np.concatenate([[0], np.cumsum((v[1:] + v[:-1]) / 2 * np.diff(x))])
        np.testing.assert_allclose(s, expected, atol=3e-3)


def test_the_picture_shows_the_clients_networks():
    training = live.training(3, E=2)
    moment = next(moments(training.begin(), lambda: PACES[1]))
    axes = views.view(views.page(2), live.scene, training, moment, {}).axes
    for i, ax in enumerate(axes[::2]):
        lines = {line.get_label(): line for line in ax.get_lines()}
        for k in range(2):
            torch.nn.utils.vector_to_parameters(moment.models[k], training.net.parameters())
            guess = training.net(training.more.v, training.more.y)[i].detach() / training.more.s[i].abs().max()
            np.testing.assert_allclose(lines[f"client {k + 1}"].get_ydata(), guess, atol=1e-4)
