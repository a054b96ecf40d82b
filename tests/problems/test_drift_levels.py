"""Measures of heterogeneity over all levels: what is read of other notebooks, laws of B, and ranks."""

import numpy as np
import pytest

from fedlib.problems import drift_levels as dl
from fedlib.trainings.profiles import committed


@pytest.mark.parametrize("name", dl.LADDERS)
def test_a_ladder_has_a_distance_and_an_error_for_every_level(name):
    ladder = dl.LADDERS[name]
    levels, w1, error = ladder.read(committed(ladder.results, "paper")["metrics"])
    assert len(levels) == len(error) > 4 and (w1 is None or len(w1) == len(levels))
    assert levels == sorted(levels) and np.min(error) > 0
    if name in ("Poisson", "Gramacy-Lee"):  # the closed form L / n of two clients who take turns on a line
        length = {"Poisson": np.pi, "Gramacy-Lee": 2}[name]
        np.testing.assert_allclose(np.multiply(w1, levels)[:5], length, rtol=0.15)


def test_a_ladder_is_measured_where_it_stands():
    """B is at least 1, the same at a level whose clients are alike; equal clients and a common error give no rank."""
    ladder = dl.LADDERS["Poisson"]._replace(read=lambda metrics: ([2, 32], [1.6, 0.1], [3.0, 0.2]))
    found = dl.measured(ladder, {}, early=0.002)
    assert found["level"] == [2, 32] and found["W1"] == [1.6, 0.1] and found["error"] == [3, 0.2]
    for at in ("B at the start", "B on the way"):
        assert len(found[at]) == 2 and min(found[at]) >= 1
    assert found["B at the start"][1] < 1.05, "every other point each: nearly the same gradient"


def test_functions_that_both_know_are_not_apart():
    assert abs(dl.own_functions(10, 40)) < 0.3 * dl.own_functions(1, 40)


def test_ranks_of_each_problem_and_of_all():
    ladders = {
        "a": {
            "W1": [30.0, 20.0, 10.0],
            "B at the start": [1, 2, 3],
            "B on the way": [5, 4, 6],
            "error": [9.0, 5.0, 1.0],
        },
        "b": {"W1": [0.1, 0.2, 0.3], "B at the start": [7, 8, 9], "B on the way": [1, 2, 3], "error": [1.0, 2.0, 3.0]},
    }
    found = dl.correlations(ladders)
    assert found["a"] == {"W1": 1, "B at the start": -1, "B on the way": -0.5}
    assert found["b"] == dict.fromkeys(dl.MEASURES, 1)
    assert found["all together"]["W1"] == pytest.approx(0.93, abs=0.08)  # both over their largest
    assert list(dl.relative([2, 4])) == [0.5, 1]
