"""Notebook 08 live: who sees what, that the distance is that of the laws, and which losses learn the noise."""

import numpy as np
import pytest
import torch

from fedlib.papers.fedstnn.curve import live


def test_what_clients_see(clients=8):
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


def test_too_few_paths_are_refused():
    with pytest.raises(ValueError, match=r"likelihood needs at least 8 paths .* paths = 2"):
        live.training("likelihood", paths=2)


def test_the_explorer_shows_the_spread_beside_the_noise():
    curves, errors = live.explored()
    half = curves.half.sel({live.NOISE: 0.4}).squeeze("model")
    spread = (((half / 2) ** 2).mean("x") ** 0.5).values
    shown = errors.sel({live.NOISE: 0.4}).isel(seed=0, model=0)
    np.testing.assert_allclose(100 * abs(spread / 0.4 - 1), shown, atol=1e-3)
    np.testing.assert_allclose(curves.truth_half.sel({live.NOISE: 0.4}), 0.8)
