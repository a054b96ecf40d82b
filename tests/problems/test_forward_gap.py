"""Why Poisson's federation stays behind: what is trained, what it costs, and how it is told."""

import numpy as np
import pytest

from fedlib.federated.batches import Local
from fedlib.problems import forward, forward_gap
from fedlib.problems.forward_study import study

P = sum(p.numel() for p in forward.poisson().net().parameters())


@pytest.fixture(scope="module")
def found():
    rules = ["FedAvg", "averaged second moments", "fresh correction + averaged moments"]
    return forward_gap.gap(32, [3, 1], rules, [5, 1], rounds=2, lr=1e-3)


def test_every_rule_takes_the_same_steps_and_is_charged_for_what_it_sends(found):
    assert list(found)[:2] == ["FedAvg, E = 5", "FedAvg, E = 1"] and len(found) == 6
    vectors = {"FedAvg": 1, "averaged second moments": 2, "fresh correction + averaged moments": 4}
    for of in found.values():
        rounds = 10 // of["E"]
        assert of["megabytes"] == pytest.approx(4 * vectors[of["rule"]] * P * 2 * rounds / 1e6)
        assert len(of["error_percent"]) == 2


def test_with_a_step_a_round_the_correction_is_centralised_training(found):
    """And it is the study's own centralised model: the errors agree but for the half of the test points."""
    history = study(forward.poisson(), [32], [3, 1], ["centralised"], rounds=2, local=Local(5))
    central = history.last("error", kind="centralised", n=32, client=0).sel(seed=[3, 1]).values
    np.testing.assert_allclose(found["fresh correction + averaged moments, E = 1"]["error_percent"], central, rtol=0.02)


def test_told_by_falling_median():
    found = {
        "a, E = 5": {"rule": "a", "E": 5, "error_percent": [4.0, 2.0, 3.0], "megabytes": 12.3},
        "b, E = 1": {"rule": "b", "E": 1, "error_percent": np.array([9.0, 9.5, 100.0]), "megabytes": 0.7},
    }
    assert forward_gap.rows(found, [1.0, 1.6, 0.4]) == [
        ["b", "1", "9500", "9000 to 100000", "1"],
        ["a", "5", "3000", "2000 to 4000", "12"],
        ["centralised", "-", "1000", "400 to 1600", "0"],
    ]
    assert forward_gap.closes(found, [1.5, 1.6, 0.4]) == ["a, E = 5"]
    assert forward_gap.closes(found, [1.0, 1.6, 0.4]) == []
