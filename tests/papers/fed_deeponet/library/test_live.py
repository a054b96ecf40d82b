"""The slider of notebook 03: pendulums in closed form, and what stored networks say who are not told k."""

import numpy as np
import pytest
import xarray

from fedlib.federated.solved import answer
from fedlib.numerics.heterogeneity import hidden_parameter_floor
from fedlib.numerics.metrics import percent
from fedlib.papers.fed_deeponet import physics
from fedlib.papers.fed_deeponet.library import live, problem, study
from fedlib.trainings.store import folder_of, histories_of


@pytest.fixture(scope="module")
def explored():
    hidden = xarray.DataArray([[4.0, 5.0], [20.0, 22.0]], {"level": [1.0, 3.0], "seed": [0, 1]}, ("level", "seed"))
    return live.explored(hidden)


def test_the_curves_are_pendulums_of_one_torque(explored):
    curves, errors = explored
    x = live.swings(3.0, 0.5)[0]
    state = {"seconds": 3.0, "± of k": 0.5}
    largest = np.abs(x[-1]).max()
    np.testing.assert_allclose(curves.truth.sel(state), x[-1] / largest)
    np.testing.assert_allclose(curves.sel(state).sel(model="softest"), x[0] / largest)
    np.testing.assert_allclose(curves.sel(state).sel(model="one curve for all"), x.mean(0) / largest)
    seed_0 = errors.sel(state).sel(seed=0)
    assert seed_0.sel(model="softest").item() == pytest.approx(percent(x[0], x[-1]))
    off = [percent(x.mean(0), member) for member in x]
    assert seed_0.sel(model="one curve for all").item() == pytest.approx(np.mean(off))


def test_no_one_curve_is_below_the_floor(explored):
    _, errors = explored
    for T in (1.0, 3.0):
        floor = 100 * hidden_parameter_floor(live.swings(T, 0.5))
        assert (errors.sel({"seconds": T, "± of k": 0.5, "model": "one curve for all"}).values >= floor).all()


@pytest.fixture(scope="module")
def histories():
    return histories_of(study.trainings(study.PAPER), folder_of(study.NOTEBOOK))


def test_stored_networks_that_are_not_told_are_above_the_floor(histories):
    results = study.results(study.PAPER, histories)
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
