"""Results are found by name: labels of keys become axes, and what was not trained is NaN."""

from typing import NamedTuple

import numpy as np
import pytest
import torch

from fedlib import Federation, Local, centralised, join, train
from fedlib.federated.history import History
from fedlib.federated.mixing import isolated


class Key(NamedTuple):
    kind: str
    level: int | None
    seed: int


def cases(shards):
    """Two levels and two seeds, three ways; the centralised model has no level."""
    out = {}
    for seed in (0, 7):
        out[Key("centralised", None, seed)] = centralised(shards, seed=seed)
        for level, own in ((5, shards), (2, shards[:2])):
            out[Key("federated", level, seed)] = Federation(own, seed=seed)
            out[Key("isolated", level, seed)] = Federation(own, mixing=isolated, seed=seed)
    return out


@pytest.fixture
def history(problem):
    net, loss, pool, shards = problem
    feds = cases(shards)
    return train(
        net, loss, pool, feds, rounds=3, local=Local(2), dtype=torch.float64, evaluate_every=2,
        evaluate=lambda predict, test: {"e": predict(test["x"]).abs().mean(), "u": predict(test["x"])[:, 0]},
        test=lambda key: {"x": pool["x"][:4] + key.seed},
    )  # fmt: skip


def test_a_metric_is_found_by_label(history):
    e = history.metric("e", kind="isolated")
    assert e.dims == ("round", "level", "seed", "client")
    assert e.shape == (2, 2, 2, 3)
    assert list(e["round"].values) == [2, 3]
    for level, seed, k in ((5, 0, 2), (2, 7, 1), (5, 7, 0)):
        row = history.rows[Key("isolated", level, seed)].start + k
        assert float(e.sel(level=level, seed=seed, client=k, round=3)) == history.metrics["e"][-1, row]


def test_what_was_not_trained_is_nan_and_a_part_that_no_key_has_is_no_axis(history):
    alone = history.last("e", kind="isolated")
    assert np.isnan(alone.sel(level=2, client=2)).all() and not np.isnan(alone.sel(level=5)).any()
    assert history.last("e", kind="centralised", client=0).dims == ("seed",)
    assert history.last("u", kind="federated", client=0, level=5).dims == ("seed", "i")
    assert history.metric("loss", kind="federated", level=5, seed=0).sizes == {"round": 3, "client": 3}


def test_models_are_found_by_key(history):
    row = history.rows[Key("isolated", 5, 7)].start + 1
    assert torch.equal(history.model("isolated", 5, 7, client=1), history.theta[row])
    assert torch.equal(history.models(*Key("isolated", 5, 7)), history.theta[row - 1 : row + 2])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda h: h.metric("E"), "no metric 'E' was recorded; there are loss, e, u"),
        (lambda h: h.metric("e", n=3), "the keys have no part 'n'; they have kind, level, seed, client"),
        (
            lambda h: h.metric("e", kind="fed"),
            r"no model has {'kind': 'fed'}; there are {'kind': \['centralised', 'fed",
        ),
    ],
)
def test_a_wrong_name_is_said(history, ask, message):
    with pytest.raises(ValueError, match=message):
        ask(history)


def test_keys_need_names(problem):
    net, loss, pool, shards = problem
    with pytest.raises(ValueError, match=r"the parts of the key \('a', 1\) need names"):
        train(net, loss, pool, {("a", 1): Federation(shards)}, rounds=1, local=Local(1))
    with pytest.raises(ValueError, match=r"key \('a', 1\) does not have the parts \(kind\)"):
        train(net, loss, pool, {("a", 1): Federation(shards)}, rounds=1, local=Local(1), parts=("kind",))
    with pytest.raises(KeyError, match=r"keys are \(name\): a"):
        History.empty({"a": Federation(shards)}, None, 1).model("b")


def test_pools_are_joined_with_their_offsets():
    pools = {s: {"x": torch.arange(n) + 10 * s} for s, n in ((3, 4), (5, 2))}
    joint, at = join(pools)
    for s, shards in ((3, [[0, 3], [1]]), (5, [[1], [0]])):
        for own, moved in zip(shards, at(s, shards), strict=True):
            assert torch.equal(joint["x"][moved], pools[s]["x"][own])


def test_a_label_may_be_a_tuple(problem):
    net, loss, pool, shards = problem
    feds = {("a", (2, 1)): Federation(shards), ("a", (3, 1)): Federation(shards[:1])}
    history = train(net, loss, pool, feds, parts=("kind", "level"), rounds=1, local=Local(1))
    assert torch.equal(history.model("a", (2, 1)), history.models("a", (2, 1))[2])
    lost = history.last("loss", kind="a", client=0)
    assert lost.dims == ("level",)
    assert list(lost["level"].values) == history.labels("level") == [(2, 1), (3, 1)]


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("part", ["client", "round"])
def test_a_part_of_the_keys_has_no_name_of_an_axis(problem, part):
    net, loss, pool, shards = problem
    named = NamedTuple("Named", [("kind", str), (part, int)])
    for key, parts in ((named("a", 0), None), (("a", 0), ("kind", part))):
        with pytest.raises(ValueError, match=f"a part of the keys is called '{part}', as an axis of every metric is"):
            train(net, loss, pool, {key: Federation(shards)}, parts=parts, rounds=1, local=Local(1))


def test_a_measured_loss_is_told_from_the_training_s(problem):
    net, loss, pool, shards = problem
    evaluate = lambda predict, test: {"loss": test["c"] + 0}  # noqa: E731
    test = {"c": torch.ones(1)}
    history = train(net, loss, pool, [Federation(shards)], rounds=2, local=Local(1), evaluate=evaluate, test=test)
    assert (history.metric("loss") == 1).all() and not np.isclose(history.losses, 1).any()
    back = History.from_dataset(history.to_dataset())
    assert back.metric("loss").equals(history.metric("loss")) and np.array_equal(back.losses, history.losses)
