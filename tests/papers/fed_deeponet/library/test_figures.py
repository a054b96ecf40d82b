"""What is stored of notebook 03 is above the floor, and what is asked is what these networks say."""

import numpy as np
import pytest

from fedlib.federated.solved import answer
from fedlib.papers.fed_deeponet import physics
from fedlib.papers.fed_deeponet.library import live, problem, study
from fedlib.trainings.store import folder_of, histories_of


@pytest.fixture(scope="module")
def p():
    return study.PAPER


@pytest.fixture(scope="module")
def histories(p):
    return histories_of(study.trainings(p), folder_of(study.NOTEBOOK))


@pytest.fixture(scope="module")
def results(p, histories):
    return study.results(p, histories)


def test_stored_networks_that_are_not_told_are_above_the_floor(results):
    hidden = study.last(results.cases, "common").sel(case=[case for case in study.CASES if "hidden" in case])
    assert (hidden.dropna("seed") > results.floor).all()


def test_what_is_asked_is_what_the_stored_networks_say(histories):
    told, hidden = (histories["library", f"mixed, {what}"] for what in ("told", "hidden"))
    t, _, truth, said = live.guesses(told, hidden, 3.0, 0.7, kind="sin(pi t)")
    exact = physics.pendulum_trajectories(np.sin(np.pi * physics.half_steps(100))[None], 0.7, 3.0)
    np.testing.assert_allclose(truth, exact["x1"][0])
    points = {"GRF u": physics.with_stiffness(exact["u"], 0.7, True), "times": physics.times(100)}
    again = answer(problem.library(), hidden.model("federated", 3.0, 0), points)[0]
    np.testing.assert_allclose(said["hidden"], again, atol=1e-6)
    assert t[-1] == 3.0 and np.abs(said["told"] - said["hidden"]).max() > 0.01
