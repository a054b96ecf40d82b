"""Sweeps of notebook 04: who trains, and errors, drift and fits against the models themselves."""

import numpy as np
import pytest
import torch
from torch import nn

from fedlib.federated.batches import Local
from fedlib.federated.mixing import isolated
from fedlib.federated.stack import predict
from fedlib.federated.train import train
from fedlib.models.networks import glorot_uniform, mlp
from fedlib.problems import function_levels, function_study, functions

NET = mlp((1, 4, 1), nn.Tanh)
SEEDS = [3, 1]
LEVELS = function_levels.line(30, [2, 3], [1, 5])


@pytest.fixture(scope="module")
def sweep():
    pool, test = functions.on_line(30, 50)
    feds = function_study.federations(LEVELS, SEEDS, 30, lr=0.05)
    history = train(
        NET, functions.loss, pool, feds, rounds=3, local=Local(2), init=glorot_uniform,
        evaluate=functions.relative_error, test=lambda key: test,
    )  # fmt: skip
    return function_study.Sweep(LEVELS, history, seconds=2.0)


def error(row):
    """Relative L2 error of one model."""
    _, test = functions.on_line(30, 50)
    f = test["f"].numpy()
    return np.linalg.norm(predict(NET, row, test["x"].float())[:, 0].numpy() - f) / np.linalg.norm(f)


def test_federations_of_a_sweep():
    feds = function_study.federations(LEVELS, SEEDS, 30, lr=0.05, common_init=False)
    assert len(feds) == len(SEEDS) * (1 + 2 * len(LEVELS))
    for case, fed in feds.items():
        assert (fed.seed, fed.lr, fed.common_init) == (case.seed, 0.05, False)
        expected = [np.arange(30)] if case.kind == "central" else LEVELS[case.level]
        for a, b in zip(fed.shards, expected, strict=True):
            np.testing.assert_array_equal(a, b)
    assert feds["isolated", (3, 1), 1].mixing is isolated is not feds["federated", (3, 1), 1].mixing
    only = function_study.federations(LEVELS, SEEDS, 30, kinds=["federated"])
    assert {case.kind for case in only} == {"federated"}


def test_errors_are_those_of_the_models(sweep):
    fed, alone, central = sweep.ways()
    assert (fed.shape, alone.shape, central.shape) == ((2, 4), (2, 4, 3), (2,))
    record = sweep.record()
    for s, seed in enumerate(SEEDS):
        assert central[s] == pytest.approx(error(sweep.history.model("central", None, seed)), rel=1e-4)
        for i, (K, p) in enumerate(LEVELS):
            models = sweep.models(seed)
            assert fed[s, i] == pytest.approx(error(models["federated", K, p][0]), rel=1e-4)
            own = [error(row) for row in models["isolated", K, p]]
            np.testing.assert_allclose(alone[s, i, :K], own, rtol=1e-4)
            np.testing.assert_allclose(record["isolated"][f"({K}, {p})"][s], own, rtol=1e-4)
            assert record["federated"][f"({K}, {p})"][s] == fed[s, i]
    assert np.isnan(alone[:, 0, 2]).all(), "two clients have no third"
    np.testing.assert_array_equal(sweep.errors("isolated", 2), alone[:, :2, :2])
    np.testing.assert_array_equal(sweep.errors("federated", 3), fed[:, 2:])


def test_drift_of_the_first_matrix(sweep):
    found = function_study.drift(NET, sweep, sweep)
    assert list(found) == ["layer 1", "layer 2"]
    for i, level in enumerate(LEVELS):
        a, b = (sweep.history.model(*case, 1)[:4] for case in (("federated", level), ("central", None)))
        assert found["layer 1"][1, i] == pytest.approx(((a - b).norm() / b.norm()).item(), rel=1e-5)


def test_fits_are_predictions(sweep):
    z = torch.linspace(-1, 1, 7)[:, None]
    shards, together, alone = function_study.fits(NET, sweep, z, 1)[3, 5]
    assert shards is LEVELS[3, 5] and alone.shape == (3, 7)
    np.testing.assert_array_equal(together, predict(NET, sweep.history.model("federated", (3, 5), 1), z)[:, 0])
    own = predict(NET, sweep.history.model("isolated", (3, 5), 1, client=2), z)[:, 0]
    np.testing.assert_array_equal(alone[2], own)


def test_arithmetic_of_a_sweep(sweep):
    """8 weights; per seed 30 points at one model and twice 30 at each of four levels; 10 steps in 2 s."""
    assert sweep.gflops(NET, 30, 10) == pytest.approx(6 * 8 * 2 * 30 * 9 * 10 / 2 / 1e9)


def test_rank_correlations_in_words():
    w1 = np.array([3.0, 2.0, 1.0])
    found = function_study.ranks({"up": (w1, w1[None]), "down": (w1, -w1[None]), "few": (w1[:2], w1[None, :2])})
    assert found == {"up": 1.0, "down": -1.0}
    assert function_study.in_words(found) == "up 1.0, down -1.0"
    assert function_study.correlates(found) is False and function_study.correlates({"up": 0.8}) is True
    assert function_study.correlates({}) is None and "three levels" in function_study.in_words({})


def test_a_sweep_is_a_training_of_its_federations(sweep):
    """The same models as those of the plain training above, and a choice of kinds and starts."""
    how = dict(lr=0.05, local=Local(2))
    done = function_study.sweep(NET, functions.on_line(30, 50), LEVELS, SEEDS, 3, **how)
    torch.testing.assert_close(done.history.theta, sweep.history.theta, rtol=0, atol=0)
    assert done.levels is LEVELS and done.history.rounds == [3] and done.seconds > 0
    own = function_study.sweep(NET, functions.on_line(30, 50), LEVELS, [1], 3, ["federated"], common_init=False, **how)
    assert own.history.labels("kind") == ["federated"]
    apart = own.history.model("federated", (2, 1), 1) - sweep.history.model("federated", (2, 1), 1)
    assert apart.abs().max() > 0.01


def test_timing_is_rounded(sweep):
    assert sweep.timing(NET, 30, 10**7) == {"rows": 2 * (1 + 2 * 10), "seconds": 2.0, "gflops": 129.6}
