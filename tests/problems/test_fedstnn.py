"""FedStNN's surface and the partitions of its three experiments."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from fedlib import Federation, Local, predict, train
from fedlib.federated.mixing import isolated
from fedlib.federated.partitions import focused
from fedlib.models.scores import local_loss, squared_error
from fedlib.models.stochastic import SNN, init_snn
from fedlib.problems import fedstnn, letters
from fedlib.streams import stream


def test_surface_is_the_printed_one():
    """Eq. 40, case by case, on the closed quadrants I, II, III, IV."""
    cases = [
        lambda x, y: x**2 + y**2,
        lambda x, y: np.sin(2 * np.pi * x) + y**2,
        lambda x, y: np.sin(2 * np.pi * x) + np.cos(2 * np.pi * y) - 1,
        lambda x, y: np.cos(2 * np.pi * y) + x**2 - 1,
    ]
    points = fedstnn.surface_grid()
    for own, case, sign in zip(fedstnn.quadrants(points), cases, [(1, 1), (-1, 1), (-1, -1), (1, -1)], strict=True):
        assert (points[own] * sign >= 0).all()
        np.testing.assert_allclose(fedstnn.surface(*points[own].T), case(*points[own].T), atol=1e-12)


def test_surface_is_continuous_and_has_its_variance():
    """Property 13: kinks, but no jump, on the axes; range; variance on the grid as that of a plus that of b."""
    t, e = np.linspace(-1, 1, 41), 1e-13
    assert np.abs(fedstnn.surface(0 * t + e, t) - fedstnn.surface(0 * t - e, t)).max() < 1e-11
    assert np.abs(fedstnn.surface(t, 0 * t + e) - fedstnn.surface(t, 0 * t - e)).max() < 1e-11
    slopes = [(fedstnn.surface(s * 1e-6, 0.3) - fedstnn.surface(0.0, 0.3)) / (s * 1e-6) for s in (-1, 1)]
    np.testing.assert_allclose(slopes, [2 * np.pi, 0], atol=1e-5)
    slopes = [(fedstnn.surface(0.3, s * 1e-6) - fedstnn.surface(0.3, 0.0)) / (s * 1e-6) for s in (-1, 1)]
    np.testing.assert_allclose(slopes, 0, atol=1e-4)
    z = fedstnn.surface(*fedstnn.surface_grid().T)
    assert fedstnn.surface(-0.25, -0.5) == pytest.approx(-3) and fedstnn.surface(1.0, 1.0) == 2
    assert -3 < z.min() < -2.99 and z.max() == 2  # the grid has no point at x = -0.25
    # sums over t = i / 50: t^2 and t^4 by Faulhaber, sin^2 = 25, cos = 0, cos^2 = 25 over 50 points of a period
    sum2, sum4 = 50 * 51 * 101 / 6 / 50**2, 50 * 51 * 101 * (3 * 50**2 + 3 * 50 - 1) / 30 / 50**4
    var_a = (25 + sum4) / 101 - (sum2 / 101) ** 2
    var_b = (25 + 50 + sum4) / 101 - ((sum2 - 50) / 101) ** 2  # (cos - 1)^2 sums to 25 - 0 + 50
    np.testing.assert_allclose(z.var(), var_a + var_b, rtol=1e-12)
    assert abs(z.var() - 1.0636) < 1e-3


def test_partitions_of_the_three_experiments():
    """Property 14: sizes, shares of the own block, no repetition, the others from outside."""
    points, x = fedstnn.surface_grid(), np.arange(10_000)
    cases = [
        (np.split(x, 10), 10_000, 100, 100, 10),
        (np.split(x, 10), 10_000, 100, 50, 10),
        (fedstnn.quadrants(points), len(points), 40, 100, 10),
        (letters.thirds(), 4800, 30, 400, 12),
    ]
    for blocks, n, K, main, other in cases:
        shards = focused(blocks, n, K, main, other, stream(0, "partition"))
        assert [len(s) for s in shards] == [main + other] * K
        for k, shard in enumerate(shards):
            assert len(np.unique(shard)) == main + other
            assert np.isin(shard, blocks[k // (K // len(blocks))]).sum() == main
    assert [len(b) for b in fedstnn.quadrants(points)] == [51 * 51] * 4
    group = fedstnn.curve_grid()[np.split(x, 10)[3]]  # the paper's clients 31-40
    np.testing.assert_allclose([group[0], group[-1] + 2e-4 * np.pi], [0.6 * np.pi, 0.8 * np.pi], rtol=1e-12)


def test_a_model_is_judged_by_its_paths():
    """Paths f + 0.1 e: the mean is nearly f, the spread is the noise, 95 % lie in the band."""
    net, x = SNN(1, 3, 5), np.linspace(-1, 1, 50)
    known = fedstnn.test_points(net, x[:, None], np.sin(x), 0.1, 2000, "a test")
    assert known["w_test"].shape == (50, *net.noise(2000))

    def predict(x, w):
        return torch.sin(x) + 0.1 * w[:, 0, :, 0]

    answers = fedstnn.evaluate(predict, known)
    np.testing.assert_allclose(answers["mean"], np.sin(x), atol=0.02)
    np.testing.assert_allclose(answers["std"], 0.1, rtol=0.1)
    assert answers["inside"].item() == pytest.approx(0.954, abs=0.01)
    found = fedstnn.Learnt(*(answers[name].numpy()[None] for name in fedstnn.Learnt._fields))
    row = fedstnn.quality(found.mean, found.std, np.sin(x), 0.1)
    assert row["RMSE"][0] < 0.01 and row["std"][0] == pytest.approx(0.1, rel=0.05)
    assert row["coverage"][0] == pytest.approx(0.954, abs=0.01)
    np.testing.assert_array_equal(found.at([3, 5]).path, found.path[:, [3, 5]])


def test_coverage_of_a_shifted_mean_is_that_of_the_normal_law():
    """A mean one sigma too high with the right spread: a new observation is in [-1, 3] sigma."""
    mean, std = np.full((1, 4), 0.2), np.full((1, 4), 0.2)
    row = fedstnn.quality(mean, std, np.zeros(4), 0.2)
    assert row["RMSE"] == pytest.approx(0.2) and row["coverage"] == pytest.approx(norm.cdf(3) - norm.cdf(-1))


def test_a_fit_answers_once_after_its_last_round():
    """The same models as by ``train``; all clients of a federation at once, or one of them."""
    net, x = SNN(1, 3, 5), np.linspace(-1, 1, 20)
    points = torch.as_tensor(x)[:, None]
    pool = {"x": points, "y": torch.sin(points[:, 0])}
    fed = Federation([np.arange(10), np.arange(10, 20)], mixing=isolated, lr=0.01, seed=4)
    known = fedstnn.test_points(net, points, np.sin(x), 0.1, 50, "a test")
    how = dict(pool=pool, local=Local(3, "steps", 5))
    history = fedstnn.fit(net, squared_error, 2, {("alone", 4): fed}, 2, known, **how)
    plain = train(
        net, local_loss(squared_error), federations={("alone", 4): fed}, parts=("name", "seed"), rounds=2,
        noise=net.noise(2), reset_moments=True, init=init_snn, **how,
    )  # fmt: skip
    torch.testing.assert_close(history.theta, plain.theta, rtol=0, atol=0)
    assert history.rounds == [2]
    everybody, second = (fedstnn.learnt(history, "alone", client=k) for k in (None, 1))
    assert everybody.mean.shape == (1, 2, 20) and everybody.inside.shape == (1, 2)
    np.testing.assert_array_equal(everybody.std[:, 1], second.std)
    out = predict(net, history.model("alone", 4, client=1), known["x_test"].float(), known["w_test"])
    np.testing.assert_allclose(second.mean[0], out.mean(1), rtol=1e-5)


def test_hundredths():
    np.testing.assert_allclose(fedstnn.hundredths({"a": {"std": [0.1, 0.25]}})["a"]["std"], [10, 25])
