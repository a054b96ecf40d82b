"""The noisy curve: which noise stands at which point, who owns what, and who trains with whom."""

import numpy as np
import pytest

from fedlib.federated.mixing import fedavg, isolated
from fedlib.models.stochastic import SNN
from fedlib.problems import noisy_curve
from fedlib.problems.fedstnn import Learnt, curve, curve_grid
from fedlib.streams import stream

from ..conftest import recorded

PAIR = (0.05, 0.15)
SETTING = noisy_curve.Setting(20, 0.1, levels=[0.1, 0.4], pairs=[PAIR])


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
    low, high = SETTING.regions[1]  # the fifth of twenty is in the third tenth
    x = curve_grid()[own["non-IID 110"][4]]
    assert ((low <= x) & (x < high)).sum() == 100
    assert (low, high) == pytest.approx((0.4 * np.pi, 0.6 * np.pi))


def test_federations(data):
    feds = noisy_curve.federations(SETTING, data, 0.5, lr=0.02)
    names = ["IID 110", "non-IID 110", "non-IID 60", PAIR, "alone", "own starts"]
    assert list(feds) == [(name, seed) for seed in (3, 1) for name in names]
    for (name, seed), fed in feds.items():
        assert fed.seed == seed and fed.lr == 0.02
        assert fed.common_init == (name != "own starts")
        assert (fed.mixing, fed.fraction) == ((isolated, 1.0) if name == "alone" else (fedavg, 0.5))
    for shard, k in zip(feds["alone", 1].shards, (0, 4, 9, 15, 19), strict=True):
        np.testing.assert_array_equal(shard, feds["non-IID 110", 1].shards[k])
    e = data.pool["y"][feds[PAIR, 1].shards[0]].numpy() - np.sin(
        np.pi * (1 + data.pool["x"][feds[PAIR, 1].shards[0], 0].numpy())
    )
    np.testing.assert_allclose(e, residuals(data, PAIR, 1, data.shards[1]["dealt"][0]), atol=1e-12)
    (everything,) = noisy_curve.central(data, ["x"])["x", 1].shards
    np.testing.assert_array_equal(everything, data.at(("x", 1), [np.arange(10_000)])[0])


def test_a_setting_of_parameters():
    setting = noisy_curve.setting(100, 0.1, [0.4, 0.05, 0.4], [[0.2, 0.1], [0.1, 0.1], [0.2, 0.1]])
    assert (setting.levels, setting.pairs) == ([0.05, 0.4], [(0.2, 0.1), (0.1, 0.1)])
    assert setting.alone == [1, 25, 50, 76, 100]  # the paper's
    np.testing.assert_allclose(np.array(setting.regions) / np.pi * 5, [[m, m + 1] for m in (0, 2, 4, 7, 9)])
    for bad in ([0.1], [0.1, 0.0], [0.1, 0.2, 0.3]):
        with pytest.raises(ValueError, match="no pair of numbers > 0"):
            noisy_curve.setting(100, 0.1, [0.1], [bad])


def test_what_is_seen_of_the_first_seed(data):
    x, y, shards = noisy_curve.seen(SETTING, data)
    np.testing.assert_allclose(y - curve(x), 0.1 * stream(3, "noise of the data").standard_normal(10_000), atol=1e-9)
    assert shards is data.shards[3]["non-IID 110"]


def test_a_known_mean_and_spread_are_judged():
    x = noisy_curve.grid()
    found = Learnt(curve(x)[None] + 0.1, np.full((1, 200), 0.2), None, np.array([0.7]))
    (row,) = noisy_curve.report({"a": found}, 0.2).values()
    assert row["RMSE"] == pytest.approx(0.1) and row["std"] == pytest.approx(0.2) and row["in band"] == 0.7
    net = SNN(1, 3, 5)
    known = noisy_curve.known(net, 0.2, 7)
    np.testing.assert_allclose((known["x_test"][:, 0] + 1) * np.pi, x, atol=1e-12)
    np.testing.assert_array_equal(known["f_test"][:, 0], np.sin(x))
    assert known["w_test"].shape == (200, *net.noise(7))
    np.testing.assert_allclose(noisy_curve.growing_error(0.3 + noisy_curve.growing_sigma(x)[None]), [0.3])


def test_two_kinds_of_clients_stand_beside_both_means_of_their_noise():
    shape = 1, 1, 200  # evaluations, models, points
    answers = {"mean": np.zeros(shape), "std": np.full(shape, 0.11), "path": np.zeros(shape), "inside": np.ones((1, 1))}
    history = recorded({(PAIR, 0): slice(0, 1)}, ("name", "seed"), [1], answers)
    row = noisy_curve.two_kinds(history, [PAIR])["0.05, 0.15"]
    assert row["learnt std"] == pytest.approx([0.11])
    assert row["mean of the sigmas"] == pytest.approx(0.1)
    assert row["root of their mean square"] == pytest.approx(0.0125**0.5)


def test_errors_at_home_and_elsewhere():
    x, setting = noisy_curve.grid(), noisy_curve.Setting(10, 0.1)
    tenth = np.arange(200) // 20
    home = tenth == np.array(setting.alone)[:, None] - 1
    errors = noisy_curve.errors_alone(setting, curve(x) + np.where(home, 0.1, -0.5)[None])
    np.testing.assert_allclose(errors["own"], [[0.1] * 5])
    np.testing.assert_allclose(errors["elsewhere"], [[0.5] * 5])
