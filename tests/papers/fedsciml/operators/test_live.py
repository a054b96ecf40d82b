"""Notebook 07 live: what each client knows, and that the picture is of the networks that are trained."""

import numpy as np
import pytest
import torch

from fedlib.live import stage, views
from fedlib.live.player import PACES, moments
from fedlib.notebook.style import CLIENTS
from fedlib.papers.fedsciml.operators import live


@pytest.mark.parametrize("level", [1, 10])
def test_what_clients_know(level):
    training = live.training(level)
    own = training.federations["federated"].shards
    assert sorted(np.concatenate(own)) == list(range(2 * live.COUNT))
    wiggles = [training.pool["u"][shard].diff(dim=1).abs().mean().item() for shard in own]
    assert (wiggles[1] > 100 * wiggles[0]) if level == 1 else (0.5 < wiggles[1] / wiggles[0] < 2)


@pytest.mark.parametrize("level", [1, 10])
def test_shown_is_one_function_of_each_client_s_kind(level):
    wiggles = live.training(level).more.v.diff(dim=1).abs().mean(1)
    assert (wiggles[1] > 100 * wiggles[0]) if level == 1 else (0.2 < wiggles[1] / wiggles[0] < 5)


def test_outputs_are_antiderivatives():
    shown, x = live.training(3).more, np.linspace(0, 1, 100)
    for v, s in zip(shown.v.numpy(), shown.s.numpy(), strict=True):
        expected = np.concatenate([[0], np.cumsum((v[1:] + v[:-1]) / 2 * np.diff(x))])
        np.testing.assert_allclose(s, expected, atol=3e-3)


def test_the_picture_shows_the_clients_networks(page):
    training = live.training(3, E=2)
    moment = next(moments(training.begin(), lambda: PACES[1]))
    axes = views.view(views.page(2), live.scene, training, moment, {}).axes
    for i, ax in enumerate(axes[::2]):
        lines = {line.get_label(): line for line in ax.get_lines()}
        assert lines["input v (scaled)"].get_color() not in CLIENTS, "an input is nobody's"
        for k in range(2):
            torch.nn.utils.vector_to_parameters(moment.models[k], training.net.parameters())
            guess = training.net(training.more.v, training.more.y)[i].detach() / training.more.s[i].abs().max()
            np.testing.assert_allclose(lines[f"client {k + 1}"].get_ydata(), guess, atol=1e-4)
    live.show()
    assert "round 1, after local step 20 of 20" in page[0][0]["text/plain"]
    stage.close("07")
