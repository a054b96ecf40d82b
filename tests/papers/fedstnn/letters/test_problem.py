"""Who owns which pixels of a picture, and what of a model is looked at."""

import numpy as np
import pytest
import torch

from fedlib.federated.experiment import data_of
from fedlib.papers.fedstnn.letters import problem
from fedlib.papers.fedstnn.letters.picture import Picture, letters


def test_the_printed_ratio():
    """L : F = 100 : 3; also what the authors' code has."""
    printed = {50: 2, 100: 3, 200: 6, 400: 12, 800: 24, 2000: 60}
    assert {L: problem.others_of(L) for L in printed} == printed
    assert all(abs(problem.others_of(L) - 0.03 * L) <= 0.5 for L in range(1, 2000))
    assert problem.others_of(400, 0.0) == 0


def test_clients_own_their_third_and_a_little_of_the_rest():
    experiment = problem.drawing(clients=6, shape=(20, 60))
    thirds = Picture(letters((20, 60))).thirds
    shards = {key: data_of(experiment, *key).owners for key in ((50, 3), (50, 1), (200, 3))}
    for (L, _), mine in shards.items():
        for k, shard in enumerate(mine):
            at_home = np.isin(shard, thirds[k // 2])
            assert (at_home.sum(), (~at_home).sum()) == (L, problem.others_of(L)) and len({*shard}) == len(shard)
    assert {*shards[50, 3][0]} != {*shards[50, 1][0]}


def test_a_model_is_judged_by_what_it_draws():
    picture = Picture(letters((4, 9)))
    scores = torch.stack([picture.truth.double(), -torch.ones(36)], 1)  # of two paths the first counts
    test = {"x_test": torch.zeros(36, 2), "w_test": torch.zeros(36, 1, 2, 2)}
    right = problem.evaluate(lambda x, w: scores, test, picture)
    assert (right["drawn"] == picture.truth).all() and right["wrong"] == 0
    worst = problem.evaluate(lambda x, w: -scores, test, picture)
    assert worst["wrong"].item() == pytest.approx(100 * 2 * picture.xi / 36)
