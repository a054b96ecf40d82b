"""Notebook 11 live: the rule that is chosen is the rule that trains."""

from itertools import islice

import pytest
import torch

from fedlib.live import stage
from fedlib.plots import drift_live


def after(rule, E, rounds=3):
    """Models [3, P] of both clients and of the centralised one."""
    training = drift_live.training(rule, E=E, width=6)
    training = training._replace(train_args={**training.train_args, "dtype": torch.float64})
    return [done.after.clone() for done, _ in islice(training.begin(), rounds)][-1]


@pytest.mark.parametrize("rule", drift_live.OFFERED)
def test_the_centralised_model_is_the_same_beside_every_rule(rule):
    torch.testing.assert_close(after(rule, 2)[2], after("FedAvg", 2)[2], rtol=0, atol=1e-9)


def test_one_corrected_step_in_a_round_is_centralised_training_and_an_average_is_not():
    repaired, plain = after(drift_live.OFFERED[-1], 1), after("FedAvg", 1)
    torch.testing.assert_close(repaired[0], repaired[2], rtol=0, atol=1e-9)
    assert (plain[0] - plain[2]).abs().max() > 1e-5


def test_it_shows(page):
    drift_live.show()
    assert "round 1, after local step 5 of 5" in page[0][0]["text/plain"]
    stage.close("11")
