"""Notebook 08 live: who sees what, that the distance is that of the laws, and which losses learn the noise."""

from itertools import islice

import numpy as np
import pytest
import torch

from fedlib.live import levels, stage, views
from fedlib.live.player import PACES, moments
from fedlib.papers.fedstnn.curve import live


@pytest.mark.parametrize("clients", [2, 8])
def test_what_clients_see(clients):
    training = live.training(clients=clients, others=10, sigma=0.1)
    shown = training.more
    x = training.pool["x"][:, 0].numpy()
    for (seen, _), shard in zip(shown.seen, training.federations["federated"].shards, strict=True):
        assert sorted(seen) == pytest.approx(sorted(x[shard]), abs=1e-5), "what is drawn is what they train on"
    for k, (x, y) in enumerate(shown.seen):
        part = (x * clients / (2 * np.pi)).astype(int)
        assert ((part == k).sum(), (part != k).sum()) == (100, 10)
        assert 0.07 < (y - np.sin(x)).std() < 0.13


def test_the_distance_is_zero_for_the_data_s_own_law_and_sigma_over_f_without_noise():
    shown = live.training(sigma=0.2).more
    g = torch.randn(live.SHOWN, 100_000, generator=torch.Generator().manual_seed(0))
    assert live.distance(lambda x, w: x.sin() + 0.2 * g, shown) < 0.2
    rms = shown.f.square().mean().sqrt().item()
    for predict, expected in ((lambda x, w: x.sin().expand(-1, 2), 0.2), (lambda x, w: x.sin() + 0.5 + 0.2 * g, 0.5)):
        assert live.distance(predict, shown).item() == pytest.approx(100 * expected / rms, abs=0.2)


def test_the_squared_error_loses_the_spread_and_the_energy_score_keeps_it():
    """Where four clients with sigma = 0.4 stand after 15 rounds."""
    spread = {}
    for loss in ("energy score", "squared error"):
        training = live.training(loss, sigma=0.4, E=32)
        done, _ = next(islice(training.begin(), 14, None))
        spread[loss] = training.values(done.after[:1], lambda p, shown=training.more: live.law(p, shown))[0, 1].mean()
    assert spread["squared error"] < 0.15 < 0.3 < spread["energy score"] < 0.5


def test_the_picture_shows_the_law_of_the_server_s_network():
    training = live.training(E=2)
    shown = training.more
    for moment in islice(moments(training.begin(), lambda: PACES[1]), 2):
        above, _, below, *_ = views.view(views.page(2), live.scene, training, moment, {}).axes
        server = moment.done.after[0] if moment.averaged else moment.walk[0, 0]
        torch.nn.utils.vector_to_parameters(server, training.net.parameters())
        paths = training.net(torch.as_tensor(shown.x)[:, None].float(), shown.w).detach().numpy()
        assert above.get_lines()[-1].get_ydata() == pytest.approx(paths.mean(1), abs=1e-5)
        assert below.get_lines()[-1].get_ydata() == pytest.approx(paths.std(1, ddof=1), abs=1e-5)
        band = above.collections[0].get_paths()[0].vertices[:, 1]
        mean, std = paths.mean(1), paths.std(1, ddof=1)
        assert (band.min(), band.max()) == pytest.approx(((mean - 2 * std).min(), (mean + 2 * std).max()), abs=1e-5)


def test_too_few_paths_are_refused_and_the_controls_begin_as_the_training_does(page):
    with pytest.raises(ValueError, match=r"likelihood needs at least 8 paths .* paths = 2"):
        live.training("likelihood", paths=2)
    live.show()
    assert "round 1, after local step 16 of 16" in page[0][0]["text/plain"]
    stage.close("08")


def test_the_explorer_shows_the_spread_beside_the_noise():
    curves, errors = live.explored()
    assert errors.dims == (live.NOISE, "loss", "model", "seed") and curves.dims[-2:] == ("model", "x")
    half = curves.half.sel({live.NOISE: 0.4}).squeeze("model")
    spread = (((half / 2) ** 2).mean("x") ** 0.5).values
    shown = errors.sel({live.NOISE: 0.4}).isel(seed=0, model=0)
    np.testing.assert_allclose(100 * abs(spread / 0.4 - 1), shown, atol=1e-3)
    np.testing.assert_allclose(curves.truth_half.sel({live.NOISE: 0.4}), 0.8)
    piece = live.explorer()
    assert isinstance(piece, levels.Explorer) and "0.4 noise σ" in " ".join(piece.data["sentences"])
