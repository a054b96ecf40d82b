"""Very many clients: idle ones cost nothing. Nothing here is timed."""

from itertools import islice

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fedlib import Federation, Local, play, train
from fedlib.federated.mixing import isolated, ring
from fedlib.federated.optimizers import adam, sgd
from fedlib.federated.rules import averaged_moments, corrected, fedadam, fedprox, scaffold
from fedlib.models.networks import mlp

from ..conftest import squared_error

RULES = {
    "sgd": sgd(),
    "adam": adam(),
    "scaffold": scaffold(adam()),
    "fedprox": fedprox(0.1),
    "corrected": corrected(),
    "averaged": averaged_moments(),
}


def many(K: int, active: int = 10, **settings):
    """K clients with 2 of 10^5 points each, ``active`` in a round: what ``play`` and ``train`` are given."""
    x = torch.linspace(-1, 1, 10**5)[:, None]
    shards = np.resize(np.random.default_rng(0).permutation(10**5), (K, 2))
    fed = Federation(shards, fraction=active / K, lr=0.1, **settings)
    return mlp((1, 5, 1), torch.nn.Tanh), squared_error, {"x": x, "y": torch.sin(3 * x[:, 0])}, [fed]


class Made(TorchDispatchMode):
    """numbers: of all tensors that operations made."""

    def __init__(self):
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        new = isinstance(out, torch.Tensor) and func._schema.returns[0].alias_info is None  # no view, not in place
        self.numbers += out.numel() if new else 0
        return out


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_a_round_makes_no_more_numbers_for_more_idle_clients(rule, reset):
    counts = []
    for K in (100, 10_000):
        played = play(
            *many(K, server=fedadam(0.1)), local=Local(2), optimizer=RULES[rule], reset_moments=reset, backend="eager"
        )
        next(played)
        with Made() as made:
            next(played)
        counts.append(made.numbers)
    assert counts[0] == counts[1] > 0


def test_a_hundred_thousand_clients():
    """One full-batch step each is a step with the mean gradient of those ten who are there."""
    net, loss, pool, (fed,) = many(100_000)
    history = train(net, loss, pool, [fed], rounds=3, local=Local(1), optimizer=sgd(), backend="eager")
    assert np.isfinite(history.losses).sum() == 30
    assert len(history.distinct) == 1
    first = next(play(net, loss, pool, [fed], local=Local(1), optimizer=sgd(), backend="eager"))
    points = np.concatenate([fed.shards[k] for k in first.clients])
    start = first.began.models(slice(0, 1))[0]
    torch.nn.utils.vector_to_parameters(start, net.parameters())
    weight = torch.full((len(points),), 1 / len(points))
    loss(net, {name: value[points] for name, value in pool.items()} | {"w": weight}).backward()
    g = torch.nn.utils.parameters_to_vector(p.grad for p in net.parameters())
    torch.testing.assert_close(first.state.theta[0], start - 0.1 * g, rtol=0, atol=1e-6)
    torch.testing.assert_close(history.model(0, client=99_999), history.distinct[0], rtol=0, atol=0)


@pytest.mark.parametrize("rule", ["sgd", "corrected"])
def test_before_the_first_round_idle_clients_cost_no_numbers_either(rule):
    """Of clients who keep nothing: neither models nor an optimiser's state."""
    counts = []
    for K in (100, 10_000):
        with Made() as made:
            next(play(*many(K), local=Local(2), optimizer=RULES[rule], backend="eager"))
        counts.append(made.numbers - K)  # the list of who has which model
    assert counts[1] < counts[0] + 2 * 10_000


@pytest.mark.parametrize("rule", [lambda p, a: np.tile(p, (3, 1)), ring, isolated])
def test_models_of_idle_clients_count_where_a_rule_says_so(problem, rule):
    """after = A before, whoever took part: with p for all, who is absent brings the model that it has. It keeps c_i."""
    net, loss, pool, shards = problem
    fed = Federation(shards, fraction=0.34, mixing=rule, common_init=False, lr=0.1)
    how = dict(local=Local(2), optimizer=scaffold(), dtype=torch.float64, backend="eager")
    place, c_i = np.argsort(np.argsort(-fed.sizes, kind="stable")), torch.zeros(3, 1)
    for done in islice(play(net, loss, pool, [fed], **how), 4):
        here = np.isfinite(done.losses)
        A = rule(fed.p, here, done.number) if rule.__code__.co_argcount == 3 else rule(fed.p, here)
        torch.testing.assert_close(done.after, torch.tensor(np.array(A)) @ done.before, rtol=0, atol=1e-12)
        assert torch.equal(done.before[~here], done.began.models()[~here])
        before, c_i = c_i, done.state.optimizer["c_i"][place]
        assert (c_i[~here] == before[~here]).all()
