"""Who is off: against an oracle that has all tables, on data with and without a fault, and where nobody can judge."""

import numpy as np
import pytest
import torch

from fedlib import Experiment
from fedlib.federated import sums, suspects
from fedlib.federated.experiment import Data
from fedlib.federated.stack import parameter_count

Q, M = 2, 4  # own columns, common ones


class Linear(torch.nn.Module):
    """Rows [B, A] times what is learnt: own parameters, and common ones."""

    def __init__(self):
        super().__init__()
        self.own, self.common = torch.nn.Linear(Q, 1, bias=False), torch.nn.Linear(M, 1, bias=False)

    def forward(self, x):
        return self.own(x[:, :Q]) + self.common(x[:, Q:])


def tables(seed, clients=6, n=30, scale=1.0, noise=(1.0,), own=1.0):
    """x [clients n, Q + M], y: client 0 has another scale, and noises are in units of 0.1."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(clients * n, Q + M))
    x[:, 0] = 1
    who = np.repeat(np.arange(clients), n)
    c, b = rng.normal(size=M), own * rng.normal(size=(clients, Q))
    factor, loud = np.ones(clients), np.ones(clients)
    factor[0], loud[: len(noise)] = scale, noise
    y = factor[who] * (x[:, Q:] @ c) + (x[:, :Q] * b[who]).sum(1) + 0.1 * loud[who] * rng.normal(size=len(x))
    pool = {"x": torch.as_tensor(x), "y": torch.as_tensor(y[:, None])}
    return Data(pool, [np.flatnonzero(who == k) for k in range(clients)])


def experiment(**settings):
    residuals = lambda predict, batch: predict(batch["x"]) - batch["y"]  # noqa: E731
    return Experiment("linear", Linear(), residuals, **{"personal": ["own.weight"]} | settings)


ZERO = torch.zeros(Q + M).double()


def sent(data, one=None, root=True):
    one = experiment() if one is None else one
    return [sums.statistics(one, points, ZERO, root) for points in sums.parts(data)]


@pytest.mark.parametrize("root", [True, False])
def test_own_parameters_are_those_of_dense_least_squares_with_all_columns(root):
    """A column for each own parameter of each client; not a byte more is sent than without any."""
    data = tables(0)
    messages = sent(data, root=root)
    step = sums.solve(sums.added(messages), 0.0).step
    x, y = data.pool["x"].numpy(), data.pool["y"].numpy()[:, 0]
    own = np.zeros((len(x), Q * len(data.owners)))
    for k, shard in enumerate(data.owners):
        own[shard, Q * k : Q * k + Q] = x[shard, :Q]
    dense = np.linalg.lstsq(np.hstack([own, x[:, Q:]]), y, rcond=None)[0]
    np.testing.assert_allclose(step, dense[Q * len(data.owners) :], rtol=1e-10)
    for k, points in enumerate(sums.parts(data)):
        mine = sums.at_home(experiment(), points, ZERO, step)
        np.testing.assert_allclose(mine, [*dense[Q * k : Q * k + Q], *step], rtol=1e-9)
    assert messages[0].matrix.shape[1] == M + 1 and messages[0].n == 30 - Q


def test_own_columns_that_say_nothing_cost_nothing():
    """A client whose own column is zero, or the same twice, sends what it would send without that column."""
    data = tables(1)
    data.pool["x"][:, 1] = 0
    (first, *_), (alike, *_) = sent(data), sent(tables(1))
    data.pool["x"][:, 1] = 3 * data.pool["x"][:, 0]
    np.testing.assert_allclose(first.matrix.abs(), sent(data)[0].matrix.abs(), atol=1e-12)
    assert first.n == 29 and alike.n == 28


def test_a_scale_that_is_off_is_found_and_nobody_without_a_fault_is_named():
    found = [suspects.off(sent(tables(seed, scale=1.3))) for seed in range(20)]
    assert found.count([0]) >= 19 and not any({*names} - {0} for names in found)
    assert not any(suspects.off(sent(tables(seed))) for seed in range(20))


def test_p_is_uniform_where_nobody_is_off():
    p = np.array([one.p for seed in range(40) for one in suspects.suspicions(sent(tables(seed)))])
    assert p.min() < 0.1 and abs((p < 0.2).mean() - 0.2) < 0.1, "conservative: the larger noise of the two"


def test_who_is_noisy_is_not_called_off():
    loud = [sent(tables(seed, noise=(4.0,))) for seed in range(10)]
    assert not any(suspects.off(messages) for messages in loud)
    assert all("lab 1 has" in suspects.sentences(messages)[0] for messages in loud)
    noises = [suspects.suspicions(messages)[0].noise for messages in loud]
    assert np.median(noises) == pytest.approx(4, rel=0.15)


def test_the_least_fault_is_found_as_often_as_it_says():
    """Of the scale that should be found in nine of ten, on data of the same design."""
    limit = 0.01
    least = np.median([suspects.suspicions(sent(tables(seed)), limit)[0].least for seed in range(10)])
    p = [suspects.suspicions(sent(tables(seed, scale=1 + least)), limit)[0].p for seed in range(60)]
    assert 0.75 < np.mean(np.array(p) < limit / 6) < 0.99


def test_whom_nobody_else_has_seen_nobody_can_judge():
    data = tables(2)
    x = data.pool["x"]
    for k, shard in enumerate(data.owners):  # client 0 alone has the first two columns, all others the last two
        x[shard, Q + 2 :] *= k > 0
        x[shard, Q : Q + 2] *= k == 0
    messages = sent(data)
    assert suspects.suspicions(messages)[0].least == np.inf and suspects.suspicions(messages)[0].p == 1
    assert suspects.sentences(messages)[0].startswith("lab 1: nobody can judge it")


def test_where_many_are_off_the_model_is():
    data = tables(3)
    y = data.pool["y"]
    for k, shard in enumerate(data.owners):
        y[shard] *= 1 + k
    (line,) = suspects.sentences(sent(data))
    assert line.endswith("the model does not fit, and nobody is named")


def test_of_three_one_is_named_and_of_the_other_two_nobody():
    lines = suspects.sentences(sent(tables(0, clients=3, scale=2.0)))
    assert lines[0].startswith("lab 1 is off") and lines[1:] == [
        "of the two that are left nobody can say which is right"
    ]


def test_where_all_fit_exactly_nobody_is_off():
    assert not any(suspects.off(sent(tables(seed, noise=(0.0,) * 6))) for seed in range(20))
    nothing = tables(0)
    nothing.pool["y"].zero_()
    assert suspects.off(sent(nothing)) == []


def test_few_rows_leave_a_fault_unseen_and_break_nothing():
    found = [one.least for seed in range(20) for one in suspects.suspicions(sent(tables(seed, n=7)))]
    assert max(found) == np.inf and min(found) > 0


def test_a_client_without_points_keeps_what_it_began_with():
    empty = {name: value[:0] for name, value in tables(0).pool.items()}
    step = torch.ones(M).double()
    assert sums.at_home(experiment(), empty, ZERO, step).tolist() == [0.0] * Q + [1.0] * M


@pytest.mark.parametrize(("messages", "words"), [
    (lambda: sent(tables(0))[:2], "give three"),
    (lambda: sent(tables(0), root=False), "expected roots"),
    (lambda: [one._replace(noise=1.0) for one in sent(tables(0))], "noisy"),
    (lambda: sent(tables(0, n=4)), "it fits itself"),
    (lambda: [*sent(tables(0)), sent(tables(0), experiment(personal=()))[0]], "of one model"),
    (lambda: sums.gauss_newton(experiment(), tables(0), ZERO, 2), "stay at home"),
])  # fmt: skip
def test_what_cannot_be_compared_is_refused(messages, words):
    with pytest.raises(ValueError, match=words):
        suspects.suspicions(messages())


def test_personal_parameters_are_as_the_experiment_says():
    assert parameter_count(Linear()) == Q + M
    assert sent(tables(0), experiment(personal=()))[0].matrix.shape[1] == Q + M + 1
