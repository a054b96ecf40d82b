"""Notebook 11 live: the rule that is chosen is the rule that trains, and what is stored is what is shown."""

from itertools import islice

import numpy as np
import pytest
import torch

from fedlib.papers.beyond.drift import live as drift_live
from fedlib.papers.beyond.drift.plane import two_clients, walk


def after(rule, E, rounds=3):
    """Models [3, P] of both clients and of the centralised one."""
    training = drift_live.training(rule, E=E, width=6)
    training = training._replace(train_args={**training.train_args, "dtype": torch.float64})
    return [done.after.clone() for done, _ in islice(training.begin(), rounds)][-1]


@pytest.mark.parametrize("rule", drift_live.OFFERED)
def test_the_centralised_model_is_the_same_beside_every_rule(rule):
    torch.testing.assert_close(after(rule, 2)[2], after("FedAvg", 2)[2], rtol=0, atol=1e-9)


def test_the_toy_shows_walks_and_how_far_they_end():
    toy = two_clients()
    curves, errors = drift_live.toy(toy)
    chosen = {"local steps E": 10, "size of a step": 0.2}
    for model, correct in (("FedAvg", False), ("repair", True)):
        theta = walk(toy, correct, 10, drift_live.ROUNDS, 0.2).theta
        np.testing.assert_allclose(curves.sel(chosen | {"model": model}), theta[:, 0])
        off = 100 * np.linalg.norm(theta[-1] - toy.optimum()) / np.linalg.norm(toy.optimum())
        np.testing.assert_allclose(errors.sel(chosen | {"model": model}), max(off, drift_live.LEAST))
    alone = curves.sel({"local steps E": 30, "size of a step": 0.5, "model": "client 2 alone"})
    assert alone[-1] == pytest.approx(2), "who is alone gets what it wants"
    assert drift_live.explorer().data["sentences"]
