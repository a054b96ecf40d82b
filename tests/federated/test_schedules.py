"""Schedules say the factor of the rate in a round, and refuse what means nothing."""

import copy
import pickle

import numpy as np
import pytest

from fedlib.federated.federation import Federation
from fedlib.federated.schedules import Cosine, Drop


def test_a_schedule_is_the_factor_of_the_rate_in_a_round():
    assert [Drop(2, 0.1)(r) for r in range(4)] == [1, 1, 0.1, 0.1]
    half = 0.5**0.5
    expected = [1, (1 + half) / 2, 0.5, (1 - half) / 2, 0, 0]
    np.testing.assert_allclose([Cosine(4)(r) for r in range(6)], expected, atol=1e-15)
    fed = Federation([np.arange(3)], lr=0.2, decay=Drop(1, 0.1))
    assert [fed.rate(r) for r in range(3)] == [0.2, 0.2 * 0.1, 0.2 * 0.1]
    assert [Federation([np.arange(3)], lr=0.2, decay=0.5).rate(r) for r in range(3)] == [0.2, 0.1, 0.05]


@pytest.mark.parametrize("schedule", [Drop(2, 0.1), Cosine(9)])
def test_equal_schedules_are_equal_wherever_they_went(schedule):
    for other in (pickle.loads(pickle.dumps(schedule)), copy.deepcopy(schedule), type(schedule)(*schedule)):
        assert other == schedule and type(other) is type(schedule) and other(3) == schedule(3)


@pytest.mark.parametrize(
    ("schedule", "arguments", "match"),
    [
        *((Drop, (round, 0.1), rf"round = {round}.*expected a whole number >= 1") for round in (0, -3, 1.5, True)),
        *((Drop, (2, factor), rf"factor = {factor}.*expected a number > 0") for factor in (0, -0.1, float("nan"))),
        *((Cosine, (rounds,), rf"rounds = {rounds}.*expected a whole number >= 1") for rounds in (0, -3, 1.5, True)),
    ],
)
def test_what_means_nothing_is_refused(schedule, arguments, match):
    with pytest.raises(ValueError, match=match):
        schedule(*arguments)
