"""The noisy sine: which noise stands at which point, who owns what, and what is shown live."""

import numpy as np
import pytest
import torch

from fedlib.federated.experiment import data_of
from fedlib.papers.fedstnn import sine
from fedlib.papers.fedstnn.curve import live, problem
from fedlib.streams import stream

E = stream(1, "noise of the data").standard_normal(sine.N)
X = sine.curve_grid()


def residuals(data):
    """y - f at all points."""
    return data.pool["y"].numpy() - sine.curve((data.pool["x"][:, 0].numpy() + 1) * np.pi)


def test_every_noise_is_the_same_draw_on_another_scale():
    central = problem.one_place()
    for level, spread in ((0.1, 0.1), (0.4, 0.4), (problem.GROWING, 0.05 + 0.15 * X / (2 * np.pi))):
        np.testing.assert_allclose(residuals(data_of(central, level, 1)), spread * E, atol=1e-9)
    two = data_of(problem.two_noises(20), 0.05, 1)
    assert sorted(np.concatenate(two.owners)) == [*range(sine.N)]
    for k, shard in enumerate(two.owners):
        np.testing.assert_allclose(residuals(two)[shard], (0.05, 0.15)[k % 2] * E[shard], atol=1e-9)


@pytest.mark.parametrize("sharing", sine.SHARINGS)
def test_sizes_and_places_of_the_shards(sharing):
    shards = sine.owners(sharing, 20, 3)
    inside, outside = sine.SHARINGS[sharing] or (None, None)
    assert {len(shard) for shard in shards} == {60 if sharing == "non-IID 60" else 110}
    low, high = sine.region(5, 20)  # the fifth of twenty is in the third tenth
    assert (low, high) == pytest.approx((0.4 * np.pi, 0.6 * np.pi))
    x = X[shards[4]]
    share = ((low <= x) & (x < high)).sum()
    assert share < 30 if inside is None else (share, len(x) - share) == (inside, outside)


def test_clients_alone_are_those_of_the_federation():
    assert sine.some(100) == [1, 25, 50, 76, 100], "the paper's"
    alone, shared = (
        make(100).data("non-IID 110", 1) for make in (problem.some_alone, lambda K: problem.shared(clients=K))
    )
    for k, shard in zip(sine.some(100), alone.owners, strict=True):
        np.testing.assert_array_equal(shard, shared.owners[k - 1])


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
