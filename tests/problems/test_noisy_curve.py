"""The noisy curve: which noise stands at which point, who owns what, and who trains with whom."""

import numpy as np
import pytest

from fedlib.federated.mixing import fedavg, isolated
from fedlib.problems import noisy_curve
from fedlib.problems.fedstnn import curve, curve_grid
from fedlib.streams import stream

PAIR = (0.05, 0.15)
SETTING = noisy_curve.Setting(20, 0.1, levels=[0.1, 0.4], pairs=[PAIR], alone=[1, 20])


@pytest.fixture(scope="module")
def data():
    return noisy_curve.observe(SETTING, [3, 1])


def residuals(data, variant, seed, shard):
    """y - f at the points of a shard."""
    (at,) = data.at((variant, seed), [shard])
    x = (data.pool["x"][at, 0].numpy() + 1) * np.pi
    return data.pool["y"][at].numpy() - curve(x)


def test_all_variants_have_the_same_noise_on_another_scale(data):
    everything = np.arange(10_000)
    e = stream(1, "noise of the data").standard_normal(10_000)
    for variant, spread in ((0.1, 0.1), (0.4, 0.4), ("x", 0.05 + 0.15 * everything / 10_000)):
        np.testing.assert_allclose(residuals(data, variant, 1, everything), spread * e, atol=1e-9)
    for k, shard in enumerate(data.shards[1]["dealt"]):
        np.testing.assert_allclose(residuals(data, PAIR, 1, shard), PAIR[k % 2] * e[shard], atol=1e-9)


def test_the_sizes_and_places_of_the_partitions(data):
    own = data.shards[3]
    assert [{len(s) for s in own[name]} for name in ("IID 110", "non-IID 110", "non-IID 60")] == [{110}, {110}, {60}]
    np.testing.assert_array_equal(np.sort(np.concatenate(own["dealt"])), np.arange(10_000))
    low, high = noisy_curve.regions([4], 20)[0]  # the fourth of twenty is in the second tenth
    x = curve_grid()[own["non-IID 110"][3]]
    assert ((low <= x) & (x < high)).sum() == 100
    assert (low, high) == pytest.approx((0.2 * np.pi, 0.4 * np.pi))


def test_federations(data):
    feds = noisy_curve.federations(SETTING, data, 0.5, lr=0.02)
    names = ["IID 110", "non-IID 110", "non-IID 60", PAIR, "alone", "own starts"]
    assert list(feds) == [(name, seed) for seed in (3, 1) for name in names]
    for (name, seed), fed in feds.items():
        assert fed.seed == seed and fed.lr == 0.02
        assert fed.common_init == (name != "own starts")
        assert (fed.mixing, fed.fraction) == ((isolated, 1.0) if name == "alone" else (fedavg, 0.5))
    for shard, k in zip(feds["alone", 1].shards, (0, 19), strict=True):
        np.testing.assert_array_equal(shard, feds["non-IID 110", 1].shards[k])
    e = data.pool["y"][feds[PAIR, 1].shards[0]].numpy() - np.sin(
        np.pi * (1 + data.pool["x"][feds[PAIR, 1].shards[0], 0].numpy())
    )
    np.testing.assert_allclose(e, residuals(data, PAIR, 1, data.shards[1]["dealt"][0]), atol=1e-12)
    (everything,) = noisy_curve.central(data, ["x"])["x", 1].shards
    np.testing.assert_array_equal(everything, data.at(("x", 1), [np.arange(10_000)])[0])


def test_errors_at_home_and_elsewhere():
    x, known = np.linspace(0, 2 * np.pi, 100, endpoint=False), noisy_curve.regions([1, 10], 10)
    home = np.array([x < np.pi / 5, x >= 9 * np.pi / 5])
    mean = curve(x) + np.where(home, 0.1, -0.5)[None]
    own, elsewhere = noisy_curve.errors_alone(mean, x, known)
    np.testing.assert_allclose(own, [[0.1, 0.1]])
    np.testing.assert_allclose(elsewhere, [[0.5, 0.5]])
