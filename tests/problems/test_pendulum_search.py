"""The search for settings: validation data of their own, one stack like single trainings, and a law about sums."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.optimizers import adam, sgd
from fedlib.federated.partitions import deal
from fedlib.federated.stack import predict
from fedlib.federated.train import train
from fedlib.models.networks import DeepONet, glorot_uniform
from fedlib.papers.fed_deeponet import physics as pendulum
from fedlib.problems import pendulum_search
from fedlib.problems.pendulum_search import Tried
from fedlib.streams import stream

SMALL = dict(rounds=2, n=24, m=6, widths=(8, 8), n_test=5, backend="eager")


def tried(lr=0.01, decay=0.5, error=None, **changes):
    fields = dict(optimizer="Adam", batch_size=4, reset_moments=True, updates=3, clients=[2, 3], seeds=[7, 8])
    return Tried(**fields | dict(lr=lr, decay=decay, error=error) | changes)


def test_every_setting_of_the_stack_is_the_training_that_it_names():
    found = pendulum_search.search([tried(), tried(0.001, 1.0)], **SMALL)
    assert [t.lr for t in found] == [0.01, 0.001]
    own = deal(24, 3, stream(8, "deal", 3))
    fed = Federation(own, fraction=0.75, lr=0.01, decay=lambda r: [1.0, 0.5][r], seed=8)
    net = DeepONet((6, 8, 8), (1, 8, 8), domain=(0.0, 1.0))
    pool = pendulum.pendulum_triplets(24, 6, 0.2, stream(8, "train"))
    history = train(
        net, pendulum.loss, pool, [fed], rounds=2, local=Local(3, "steps", 4), init=glorot_uniform, reset_moments=True
    )
    test = pendulum.both_tests(pendulum_search.validation(5, 6, 0.2, 8), pendulum.unseen_tests(6))
    test = {name: value.float() for name, value in test.items()} | {"times": pendulum.times(6)}

    expected = pendulum.mean_errors(partial(predict, net, history.model(0)), test)["GRF"]
    np.testing.assert_allclose(found[0].error[1][1], float(expected), rtol=1e-3)


def test_validation_trajectories_are_no_test_trajectories():
    own, test = pendulum_search.validation(4, 10, 0.2, 0)["u"], pendulum.random_tests(4, 10, 0.2, 0)["u"]
    training = pendulum.pendulum_triplets(4, 10, 0.2, stream(0, "train"))["u"]
    for other in (test, training):
        assert (own[:, None] - other[None]).abs().amax(-1).min() > 1e-3


def test_settings_of_different_stacks_are_refused():
    with pytest.raises(ValueError, match="differ in batch_size"):
        pendulum_search.search([tried(), tried(batch_size=8)], **SMALL)


def test_the_best_setting_is_chosen_by_its_mean_and_a_diverged_one_never():
    a, b, c = tried(error=[[1, 2], [3, 6]]), tried(0.1, error=[[2, 2], [2, 2]]), tried(1.0)
    assert a.mean() == 3
    assert a.mean([2]) == 1.5
    assert c.mean() == float("inf")
    assert pendulum_search.best([a, b, c]) is b
    assert pendulum_search.where([a, b, c], lr=0.1, decay=0.5) == [b]


def test_a_saved_grid_is_read_back(tmp_path):
    grid = [tried(error=[[1.0, 2.0], [3.0, 6.0]]), tried(1.0)]
    pendulum_search.save(grid, tmp_path / "grid.json")
    assert pendulum_search.load(tmp_path / "grid.json") == grid


def test_a_grid_as_a_table_has_a_row_per_rate():
    grid = [tried(0.01, 1.0), tried(0.001, 0.5), tried(0.01, 0.5)]
    rows = pendulum_search.by_rate(grid, lambda t: f"{t.lr}:{t.decay}")
    assert rows[0] == ["rate", "x 1 per round", "x 0.5 per round"]
    assert rows[1:] == [["1e-3", "-", "0.001:0.5"], ["10e-3", "0.01:1.0", "0.01:0.5"]]


@pytest.mark.parametrize(
    ("of_mean", "of_sum", "rate"), [(adam(), adam(eps=6e-8), 1.0), (sgd(), sgd(), 1 / 6)], ids=["Adam", "SGD"]
)
def test_a_sum_for_a_mean_changes_adams_eps_and_the_rate_of_sgd(of_mean, of_sum, rate):
    """Of n = 6 points: Adam does the same steps with n times the eps, SGD with a rate divided by n."""
    net, pool = DeepONet((6, 8, 8), (1, 8, 8)), pendulum.pendulum_triplets(12, 6, 0.2, stream(0, "train"))
    how = dict(rounds=2, local=Local(3), reset_moments=True, dtype=torch.float64)
    shards = deal(12, 2, stream(0, "deal"))

    def total(predict, batch):
        return 6 * pendulum.loss(predict, batch)

    mean = train(net, pendulum.loss, pool, [Federation(shards, lr=0.01)], optimizer=of_mean, **how).model(0)
    summed = train(net, total, pool, [Federation(shards, lr=0.01 * rate)], optimizer=of_sum, **how).model(0)
    torch.testing.assert_close(mean, summed, rtol=1e-9, atol=1e-12)


def test_the_committed_grid_was_made_on_seeds_of_its_own():
    grid = pendulum_search.load()
    assert grid
    assert min(s for t in grid for s in t.seeds) > 100, "seeds of the notebook's runs are small"
    for t in grid:
        assert t.error is None or np.shape(t.error) == (len(t.clients), len(t.seeds))
    assert len({replace_error(t) for t in grid}) == len(grid), "a setting twice"


def replace_error(t):
    return str(replace(t, error=None))
