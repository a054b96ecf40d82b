"""Rounds that are watched are those of ``train``, bit by bit."""

from itertools import islice

import pytest
import torch

from fedlib import Federation, Local, train
from fedlib.federated.mixing import ring
from fedlib.federated.optimizers import sgd
from fedlib.federated.rules import scaffold
from fedlib.federated.watching import Halted, watched_rounds


@pytest.mark.parametrize(
    "how",
    [
        {"local": Local(3)},
        {"local": Local(2, "epochs", 4)},  # ragged clients take 4, 6 and 6 steps
        {"local": Local(3, "steps", 4), "optimizer": scaffold(sgd())},
    ],
    ids=["Adam", "epochs", "SCAFFOLD"],
)
def test_watched_rounds_are_those_of_train(problem, how):
    net, loss, pool, shards = problem
    feds = [Federation(shards, fraction=0.67, lr=0.01), Federation(shards, mixing=ring, seed=1)]
    how |= {"dtype": torch.float64}
    history = train(net, loss, pool, feds, rounds=4, backend="eager", **how)
    *_, (last, _) = islice(watched_rounds(net, loss, pool, feds, **how), 4)
    assert torch.equal(last.after, history.theta)


@pytest.mark.parametrize("personal", [(), ("0.weight",)])
def test_a_walk_begins_at_the_server_and_ends_at_the_exchange(problem, personal):
    net, loss, pool, shards = problem
    fed, how = Federation(shards, fraction=0.67, lr=0.01), dict(local=Local(2, "epochs", 4), dtype=torch.float64)
    rounds = watched_rounds(net, loss, pool, [fed], personal=personal, **how)
    began = None
    for done, walk in islice(rounds, 3):
        at_work = done.clients
        assert walk.shape[1] == 1 + 2 * max(-(-len(shards[k]) // 4) for k in at_work)
        assert torch.equal(walk[at_work, -1], done.before[at_work])
        if began is not None:
            assert torch.equal(walk[:, 0], began)
        steps = (walk[:, 1:] != walk[:, :-1]).any(-1).sum(1)
        assert steps.tolist() == [2 * -(-len(own) // 4) * (k in at_work) for k, own in enumerate(shards)]
        began = done.after


def test_a_round_is_left_between_two_local_steps(problem):
    net, loss, pool, shards = problem
    asked = []

    def halted():
        asked.append(1)
        return len(asked) > 7

    rounds = watched_rounds(net, loss, pool, [Federation(shards)], local=Local(5), dtype=torch.float64, halted=halted)
    next(rounds)
    with pytest.raises(Halted):
        next(rounds)
    assert len(asked) == 8
