"""The engine: equal to the plain loops in float64, and the laws of federated averaging."""

import re
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from fedlib.federated import batches
from fedlib.federated.batches import Local, blocks_of, participants
from fedlib.federated.federation import Federation, centralised
from fedlib.federated.mixing import fedavg, isolated, ring
from fedlib.federated.optimizers import adam, sgd
from fedlib.federated.rules import fedadam
from fedlib.federated.stack import as_dict, load, stack
from fedlib.federated.train import train
from fedlib.models.networks import fan_in_uniform, glorot_uniform, mlp
from fedlib.papers.fedsciml.algorithms import fedavg_adam

LOCAL = {
    "full batch": Local(3),
    "steps": Local(5, "steps", 4),
    "epochs": Local(2, "epochs", 4),
}


def run(problem, feds, **settings):
    net, loss, pool, _ = problem
    return train(net, loss, pool, feds, dtype=torch.float64, **({"rounds": 4} | settings))


@pytest.mark.parametrize(("fraction", "local"), [(1.0, "full batch"), (0.67, "epochs"), ((0.1, 1.0), "steps")])
def test_engine_equals_the_plain_loop(problem, fraction, local):
    net, loss, pool, shards = problem
    fed = Federation(shards, fraction=fraction, lr=0.01, seed=3)
    plain = fedavg_adam(net, loss, pool, fed, rounds=4, local=LOCAL[local])
    fast = run(problem, [fed], local=LOCAL[local], optimizer=adam(), reset_moments=False)
    torch.testing.assert_close(fast.model(0), plain, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("decay", "factors"), [(0.5, [1, 0.5, 0.25]), (lambda r: 1 / (1 + r), [1, 1 / 2, 1 / 3])])
def test_the_rate_of_a_round(decay, factors):
    fed = Federation([np.arange(3)], lr=0.2, decay=decay)
    assert [fed.rate(r) for r in range(3)] == pytest.approx([0.2 * factor for factor in factors], rel=1e-15)


def test_kept_and_reset_moments_differ(problem):
    """Otherwise the test above could not tell them apart."""
    fed = Federation(problem[3], lr=0.01)
    kept, reset = (run(problem, [fed], local=LOCAL["steps"], reset_moments=r).model(0) for r in (False, True))
    assert (kept - reset).abs().max() > 1e-4


def test_adam_rows_equal_torch_adam_with_own_step_counts():
    theta = torch.randn(3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    ours, state = theta.clone(), adam().init(theta)
    lr = torch.tensor([[1e-3], [1e-2], [1e-1]], dtype=torch.float64)
    theirs = [theta[i].clone().requires_grad_() for i in range(3)]
    optimizers = [torch.optim.Adam([p], float(a)) for p, a in zip(theirs, lr, strict=True)]
    for step in range(40):
        rows = torch.tensor([i for i in range(3) if step % (i + 1) == 0])  # row i works in every (i+1)-th step
        part, gradient = ours[rows], ours[rows].sin()
        some = {k: v[rows] for k, v in state.items()}
        adam().apply(part, gradient, some, lr[rows])
        ours[rows] = part
        for k in state:
            state[k][rows] = some[k]
        for i in rows:
            theirs[i].grad = theirs[i].detach().sin()
            optimizers[i].step()
    torch.testing.assert_close(ours, torch.stack([p.detach() for p in theirs]), rtol=1e-12, atol=1e-12)


def test_the_given_network_is_left_alone(problem):
    before = [p.clone() for p in problem[0].parameters()]
    run(problem, [Federation(problem[3])], local=Local(1))
    assert all((a == b).all() for a, b in zip(before, problem[0].parameters(), strict=True))


def test_stack_layout_is_that_of_the_module(problem):
    net = problem[0]
    theta = stack(net, [(0,), (1,)], fan_in_uniform)
    named = as_dict(net, theta)
    for name, value in load(net, theta[1]).named_parameters():
        torch.testing.assert_close(named[name][1], value.detach(), rtol=0, atol=0)


def test_evaluation_every_r_rounds_and_per_federation_tests(problem):
    net, loss, pool, shards = problem
    feds = [Federation(shards), Federation(shards, mixing=isolated)]
    test = {"x": pool["x"][:4].expand(2, 4, 2) * torch.tensor([1.0, 2.0])[:, None, None]}
    h = train(
        net, loss, pool, feds, rounds=7, local=Local(1), evaluate_every=3, dtype=torch.float64, test=test,
        evaluate=lambda predict, own: {"y": predict(own["x"])[:, 0]},
    )  # fmt: skip
    assert h.rounds == [3, 6, 7]
    assert h.metrics["y"].shape == (3, 6, 4)
    for row in range(6):
        expected = load(net, h.theta[row])(test["x"][row // 3])[:, 0].detach()
        np.testing.assert_allclose(h.metrics["y"][-1, row], expected, atol=1e-12)


def test_losses_are_nan_where_a_client_was_absent(problem):
    h = run(problem, [Federation(problem[3], fraction=0.34)], rounds=6, local=Local(2))
    expected = np.array([participants(0, r, 3, 0.34) for r in range(6)])
    np.testing.assert_array_equal(np.isfinite(h.losses), expected)


def test_mixing_rule_that_lies_is_refused(problem):
    with pytest.raises(ValueError, match="not row-stochastic"):
        run(problem, [Federation(problem[3], mixing=lambda p, a: 2 * fedavg(p, a))], local=Local(1))


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(fraction=0.0), r"alpha = 0.0 is outside \(0, 1\]"),
        (dict(fraction=(0.5, 0.1)), "alpha"),
        (dict(shards=[np.array([k % 26]) for k in range(27)]), "27 clients for 26 points"),
        (dict(lr=0.0), "learning rate"),
        (dict(lr="1e-3"), "learning rate lr = '1e-3'"),
        (dict(seed=-1), "seed = -1; expected a whole number >= 0"),
        (dict(decay=-0.5), "decay = -0.5"),
        (dict(decay=1.1), "decay = 1.1"),
        (dict(decay=lambda r: -0.1), r"decay\(0\) = -0.1; expected a factor >= 0"),
    ],
)
def test_bad_federation_is_refused_before_training(problem, change, message):
    with pytest.raises(ValueError, match=message):
        run(problem, [Federation(**({"shards": problem[3]} | change))], local=Local(1))


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(rounds=0), "rounds = 0"),
        (dict(evaluate_every=1.0), "evaluate_every = 1.0"),
        (dict(checkpoint="state.pt"), r"checkpoint = 'state.pt': expected Checkpoint\(path, key\), or run.checkpoint"),
        (dict(local=Local(1, "passes")), "expected one of"),
        (dict(local=Local(1, "steps", 0)), "batch_size = 0"),
        (dict(test={"x": torch.zeros(2, 3)}), "first length 2"),
    ],
)
def test_bad_schedule_is_refused(problem, change, message):
    with pytest.raises(ValueError, match=message):
        run(problem, [Federation(problem[3])], **({"local": Local(1)} | change))


def test_mismatched_pool_is_refused(problem):
    net, loss, pool, shards = problem
    with pytest.raises(ValueError, match=r"first lengths .*; expected one number of points"):
        train(net, loss, pool | {"y": pool["y"][:-1]}, [Federation(shards)], rounds=1, local=Local(1))
    with pytest.raises(ValueError, match="rename"):
        train(net, loss, pool | {"w": pool["y"]}, [Federation(shards)], rounds=1, local=Local(1))


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("lr", [1e6, 1e-2])
def test_a_training_that_learns_nothing_says_so(problem, lr):
    feds = {name: Federation(problem[3], lr=rate) for name, rate in (("C = 3", lr), ("another", 0.01))}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        train(*problem[:3], feds, rounds=30, local=Local(2), dtype=torch.float64)
    assert len(said) == (lr == 1e6) and all(w.filename == __file__ for w in said)
    assert all(
        re.fullmatch(
            r"'C = 3': the mean loss went from 0\.\d+ to .*e\+\d+, clients weighed .*; lower lr", str(w.message)
        )
        for w in said
    )


def test_a_small_client_whose_loss_rises_is_no_reason_for_a_smaller_rate(problem):
    """Its federation's loss, weighed by points, falls."""
    net, loss, pool, _ = problem
    pool["x"][0], pool["y"] = pool["x"][1], torch.ones(26, dtype=torch.float64)
    pool["y"][0] = -1  # against the others, from which the network cannot tell it
    fed = Federation([np.arange(1), np.arange(1, 26)], lr=1e-2)
    history = run((net, loss, pool, None), [fed], rounds=40, local=Local(5))
    assert history.losses[-1].mean() > history.losses[0].mean()
    assert (history.losses[-1] * fed.p).sum() < (history.losses[0] * fed.p).sum()


@pytest.mark.fault("clear error")
def test_divergence_names_client_round_and_step(problem):
    net, loss, pool, shards = problem
    pool["y"][shards[1][0]] = float("nan")
    fed = Federation(shards, name="level 7")
    with pytest.raises(FloatingPointError, match="level 7: the loss became nan at client 1 in round 0, local step 0"):
        train(net, loss, pool, [fed], rounds=2, local=Local(2))


@pytest.mark.fault("clear error")
def test_parameters_that_overflow_in_the_last_step_are_not_averaged(problem):
    net, loss, pool, shards = problem
    pool["y"] *= 1e3
    with pytest.raises(
        FloatingPointError, match=r"parameters became non-finite at client [0-2] in round 0, local step 0 of 1"
    ):
        train(net, loss, pool, [Federation(shards, lr=1e38)], rounds=1, local=Local(1), optimizer=sgd())


@pytest.mark.fault("clear error")
def test_where_all_diverge_it_is_an_error(problem):
    feds = [Federation(problem[3], lr=1e200, name="steep", seed=seed) for seed in range(3)]
    with pytest.raises(FloatingPointError, match=r"steep: .* at client \d in round \d+, local step"):
        run(problem, feds, rounds=300, local=Local(2), optimizer=sgd())


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("backend", ["eager", "auto", "xla"])
def test_one_that_diverges_does_not_end_the_others(problem, backend):
    """Its row is NaN and named; the others are what they are without it."""
    pool, shards = problem[2:]
    feds = {
        ("fed", 0): Federation(shards, lr=0.01, fraction=0.67, server=fedadam(0.1)),
        ("fed", 1): Federation(shards, lr=1e200, name="second"),
        ("ring", 0): Federation(shards, lr=0.01, mixing=ring, decay=0.9),
        ("central", 0): centralised(shards, lr=0.01),
    }
    scale = {"fed": 1.0, "ring": 2.0, "central": 4.0}  # a test of its own for each
    args = dict(
        rounds=8, local=Local(2, "steps", 4), evaluate_every=2, parts=("kind", "seed"), optimizer=sgd(),
        evaluate=lambda predict, test: {"u": predict(test["x"])[:, 0], "mean": predict(test["x"]).mean()},
        test=lambda key: {"x": pool["x"][:3] * scale[key[0]]}, backend=backend,
    )  # fmt: skip
    with pytest.warns(UserWarning, match=r"\('fed', 1\) is NaN .* second: .* at client \d in round \d+, local step"):
        both = run(problem, feds, **args)
    alone = run(problem, {key: fed for key, fed in feds.items() if key != ("fed", 1)}, **args)
    assert [*both.diverged] == [("fed", 1)] and both.models("fed", 1).isnan().all()
    assert np.isnan(both.losses[-1, both.rows["fed", 1]]).all() and np.isnan(both.metrics["mean"][-1, 3:6]).all()
    for key, rows in alone.rows.items():
        for one, other in ((both.theta, alone.theta), (both.losses.T, alone.losses.T)):
            np.testing.assert_allclose(one[both.rows[key]], other[rows], rtol=0, atol=1e-12)
        for name, values in alone.metrics.items():
            np.testing.assert_allclose(both.metrics[name][:, both.rows[key]], values[:, rows], rtol=0, atol=1e-12)


@pytest.mark.parametrize("local", ["full batch", "epochs"])
def test_blocks_change_nothing_but_the_speed(problem, monkeypatch, local):
    """Rows of different sizes, in one block (padded) or in blocks of one or two rows."""
    shards = problem[3]
    feds = [Federation(shards, lr=0.01, fraction=0.5), centralised(shards, lr=0.02, seed=1), Federation(shards)]
    whole, thetas = [], []
    for limit in (10**6, 20):
        monkeypatch.setitem(batches.POINTS_PER_BLOCK, "eager", limit)
        history = run(problem, feds, local=LOCAL[local], evaluate=lambda predict, test: {"at 0": predict(test["x"])},
                      test={"x": torch.zeros(3, 1, 2)})  # fmt: skip
        thetas.append(history.theta)
        whole.append((history.losses, history.metrics["at 0"]))
    torch.testing.assert_close(*thetas, rtol=0, atol=1e-12)
    for a, b in zip(*whole, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


@given(st.lists(st.integers(1, 300), min_size=1, max_size=60), st.integers(1, 2000))
def test_blocks_cover_all_rows_within_the_limit(points, limit):
    points = -np.sort(-np.array(points))
    blocks = blocks_of(points, limit)
    assert np.concatenate([np.arange(len(points))[b] for b in blocks]).tolist() == list(range(len(points)))
    for own in (points[b] for b in blocks):
        padded = len(own) * own.max()
        assert len(own) == 1 or (padded <= limit and padded - own.sum() <= limit / 8)


def test_clients_start_from_different_parameters_where_asked(problem):
    """Through ``train``: without common_init and communication, equal data still give different models."""
    net, loss, pool, shards = problem
    same = [shards[0]] * 3
    feds = [Federation(same, mixing=isolated, common_init=c, lr=1e-9) for c in (True, False)]
    theta = train(net, loss, pool, feds, rounds=1, local=Local(1), dtype=torch.float64).theta
    torch.testing.assert_close(theta[:3], stack(net, [(0,)] * 3, fan_in_uniform).double(), rtol=0, atol=1e-6)
    torch.testing.assert_close(
        theta[3:], stack(net, [(0, k) for k in range(3)], fan_in_uniform).double(), rtol=0, atol=1e-6
    )
    assert (theta[3] - theta[4]).abs().max() > 0.1
    assert len({tuple(row.tolist()) for row in stack(net, [(0, k) for k in range(3)], glorot_uniform)}) == 3


def dated(times) -> dict:
    return {"x": torch.as_tensor(times, dtype=torch.float64)[:, None], "f": torch.arange(float(len(times)))}


@pytest.mark.parametrize(
    ("times", "collapse"),
    [
        (1.7e9 + np.arange(30.0), True),
        (1.7e9 + np.arange(1e4), True),  # three hours; 80 steps of 128
        (1.7e9 + 3600 * np.arange(30.0), False),
        (np.full(30, 1.7e9), False),
        (1e7 * np.array([*range(15)] * 2), False),
    ],
)
def test_numbers_that_float32_takes_for_one_are_told(times, collapse):
    def loss(predict, batch):
        return (batch["w"] * (predict(0 * batch["x"])[:, 0] - batch["f"]) ** 2).sum()

    federations = [Federation([np.arange(len(times))])]
    for dtype, warned in ((torch.float32, collapse), (torch.float64, False)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            train(mlp((1, 2, 1), nn.Tanh), loss, dated(times), federations, rounds=1, local=Local(1), dtype=dtype)
        text = " ".join(str(warning.message) for warning in caught)
        assert ("are left in float32; subtract the first one" in text) == warned, text
        assert all(warning.filename == __file__ for warning in caught)
