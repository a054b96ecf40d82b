"""Notebook 06 live: the picture shows the coefficients that are trained; the switch sums the clients' steps of C."""

from base64 import b64decode
from itertools import islice

import numpy as np
import pytest
import torch

from fedlib.federated.sweep import sweep
from fedlib.live.player import PACES, moments
from fedlib.numerics.metrics import in_percent
from fedlib.papers.fedsciml.flow import live as flow_live
from fedlib.papers.fedsciml.flow import problem


def test_the_error_is_of_the_velocity():
    _, test = flow_live.measured()
    with_pressure = torch.cat([test["u"], torch.ones(len(test["u"]), 1)], 1)
    assert flow_live.velocity_error(lambda x, _: (with_pressure, None)) == 0
    assert flow_live.velocity_error(lambda x, _: (0 * with_pressure, None)) == pytest.approx(100)


def test_aliased_coefficients_move_by_the_sum_of_the_clients_steps():
    both = flow_live.training(2, 1), flow_live.training(2, 1, aliased=True)
    (done, walk), (other, _) = (next(training.begin()) for training in both)
    plain, aliased = done.after, other.after
    mean, summed = (flow_live.coefficients(t, m) for t, m in zip(both, (plain, aliased), strict=True))
    steps = flow_live.coefficients(both[0], walk)[:2, 1]  # all began at 0
    torch.testing.assert_close(mean[0], steps.mean(0))
    torch.testing.assert_close(summed[0], steps.sum(0))
    torch.testing.assert_close(summed[2], mean[2])  # the centralised model has one client
    torch.testing.assert_close(aliased[0, :-2], plain[0, :-2])  # the weights: in the first step as they were


def test_what_is_remembered_are_clients_and_averages_each_once():
    training = flow_live.training(2, E=2)
    for moment in islice(moments(training.begin(), lambda: PACES[1]), 4):
        for _ in range(2):  # drawn twice
            past = flow_live.remember(training, moment)
    ends = flow_live.coefficients(training, moment.walk[:, -1])
    np.testing.assert_allclose(past["federated"][2], ends[:2].mean(0), atol=1e-6)
    np.testing.assert_allclose(past["clients"][2], ends[:2], atol=1e-6)
    assert {name: len(values) for name, values in past.items()} == {"clients": 2, "federated": 3, "centralised": 3}


def test_the_explorer_shows_both_coefficients_in_percent_of_the_truth(monkeypatch):
    small = problem.flow(40, (7, 4, 3), (3, 8, 8, 3), stride=10)
    history = sweep(small, [2, 6], [3, 1], ["federated", "centralised"], rounds=5, evaluations=5, lr=0.01)
    monkeypatch.setattr(flow_live, "stored", lambda study, name: history)
    data = flow_live.explorer().data
    C = [history.last(name, kind="federated", level=2, seed=3, client=0).item() for name in ("C1", "C2")]
    off = [100 * abs(c / truth - 1) for c, truth in zip(C, (1, 0.01), strict=True)]
    said = f"2 pieces: C₁ is off by {in_percent(off[0])}, C₂ by {in_percent(off[1])}."
    assert data["sentences"][0] == said, "and no word on who beats whom"
    errors = np.frombuffer(b64decode(data["errors"][1]), "<f4").reshape(2, 2, 2)
    np.testing.assert_allclose(errors[0, :, 0], off, rtol=1e-4)
