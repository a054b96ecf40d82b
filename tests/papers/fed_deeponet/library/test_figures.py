"""Every figure of notebook 03 from what is stored: finite, legible, and of the numbers that the text gives."""

import numpy as np
import pytest

from fedlib.federated.solved import answer
from fedlib.numerics.metrics import percent
from fedlib.numerics.solutions import pendulum
from fedlib.papers.fed_deeponet import physics
from fedlib.papers.fed_deeponet.library import figures, live, problem, study
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


def test_the_family_is_one_torque_with_every_stiffness_and_one_curve_is_their_mean():
    u = np.sin(physics.half_steps(10))[None]
    x = problem.family(u, np.array([0.5, 1.0, 1.5]), 2.0)[0]
    (ax,) = figures.families({2.0: x}).axes
    *members, mean = ax.get_lines()
    for line, k in zip(members, (0.5, 1.0, 1.5), strict=True):
        np.testing.assert_allclose(line.get_ydata(), pendulum(u, k, 2.0)[0, ::2, 0])
    assert float(members[0].get_color()) > float(members[-1].get_color()) == 0, "dark is stiff"
    np.testing.assert_allclose(mean.get_ydata(), x.mean(0))
    off = [percent(x.mean(0), member) for member in x]
    assert figures.blind_error(x) == pytest.approx(np.mean(off)) and ax.get_title().startswith("2 s: one curve is off")


def test_told_or_not_shows_medians_seeds_and_the_floor(results):
    fig = figures.told_or_not(results)
    for ax, T in zip(fig.axes, results.cases.level.values, strict=True):
        errors = study.last(results.cases).sel(level=T)
        medians = [line.get_ydata()[0] for line in ax.get_lines() if line.get_label() == "_median"]
        np.testing.assert_allclose(medians[:4], errors.median("seed"))
        dots = [line.get_ydata() for line in ax.get_lines() if line.get_label() == "_seeds"]
        np.testing.assert_allclose(dots[0], errors.sel(case=study.TOLD))
        (floor,) = (line.get_ydata()[0] for line in ax.get_lines() if line.get_linestyle() == "--")
        assert floor == pytest.approx(results.floor.sel(level=T).item())


def test_stored_networks_that_are_not_told_are_above_the_floor(results):
    hidden = study.last(results.cases, "common").sel(case=[case for case in study.CASES if "hidden" in case])
    assert (hidden.dropna("seed") > results.floor).all()


def test_at_most_ten_clients_have_a_row():
    owners = np.split(np.arange(60), 30)
    left, right = figures.stiffness(
        {"mixed": (np.linspace(0, 1, 60), owners), "own": (np.repeat(np.arange(30.0), 2), owners)}
    ).axes
    assert len(left.get_lines()) == 10 and right.get_lines()[-1].get_xdata().tolist() == [29, 29]
    assert [label.get_text() for label in left.get_yticklabels()][-1] == "30"


def test_what_is_asked_is_what_the_stored_networks_say(histories):
    told, hidden = (histories["library", f"mixed, {what}"] for what in ("told", "hidden"))
    t, _, truth, said = live.guesses(told, hidden, 3.0, 0.7, kind="sin(pi t)")
    exact = physics.pendulum_trajectories(np.sin(np.pi * physics.half_steps(100))[None], 0.7, 3.0)
    np.testing.assert_allclose(truth, exact["x1"][0])
    points = {"GRF u": physics.with_stiffness(exact["u"], 0.7, True), "times": physics.times(100)}
    again = answer(problem.library(), hidden.model("federated", 3.0, 0), points)[0]
    np.testing.assert_allclose(said["hidden"], again, atol=1e-6)
    assert t[-1] == 3.0 and np.abs(said["told"] - said["hidden"]).max() > 0.01
