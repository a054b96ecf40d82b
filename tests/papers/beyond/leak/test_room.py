"""Pictures, the piece to explore and verdicts of what a server reads."""

import numpy as np
import pytest
import xarray

from fedlib.papers.beyond.leak import claims, figures, live, study
from fedlib.papers.beyond.leak.attack import of_messages
from fedlib.papers.beyond.leak.study import Results

from ...small import quick


@pytest.fixture(scope="module")
def messages():
    return of_messages(3, [1, 10], [1, 5], sensors=12, width=16)


def test_the_answer_shows_the_torque_that_was_read_and_both_other_attacks(messages):
    torques = {1: messages.truth.sel(optimizer="SGD", E=5, points=1).values[None], 10: np.ones((10, 12))}
    one, ten, right = figures.answer(messages, torques).axes
    truth, read = (line.get_ydata() for line in one.get_lines())
    np.testing.assert_allclose(read, truth, atol=1e-3)
    assert len(ten.get_lines()) == 11 and one.get_title() == "1 point\n5 local steps of gradient descent"
    assert [text.get_text() for text in right.get_legend().get_texts()] == [*figures.ATTACKS.values()]


def test_how_far_off_is_drawn_in_per_cent_with_what_it_is(messages):
    gradient, adam = figures.off(messages).axes
    assert "100 sin φ" in gradient.get_ylabel()
    lines = {line.get_label(): line.get_ydata() for line in gradient.get_lines()}
    median = messages.off.sel(optimizer="SGD", E=5).median("client")
    np.testing.assert_allclose(lines["5 local steps"], median)
    assert lines["1 local step"][0] < 0.1 < lines["to another client's torque"][0]
    assert adam.get_title() == "Adam"


def test_pairs_are_drawn_beside_guessing_and_recorded_messages(messages):
    for ax in figures.attacks(messages, (10, messages.sel(optimizer="Adam", E=1, points=10))).axes:
        assert [text.get_text() for text in ax.texts] == ["guessing"]
        (star,) = (line for line in ax.get_lines() if line.get_marker() == "*")
        assert star.get_xdata() == [10]
    rows = figures.rows(messages, "span")
    assert rows[0] == ["gradient descent, E = 1", "100.0", f"{messages.span[0, 0, 1].mean():.1f}"]


def test_the_piece_has_the_curve_of_the_first_client_and_all_distances(messages):
    curves, errors = live.explored(messages)
    assert curves.dims == ("points", "local steps", "optimiser", "model", "x")
    at = {"points": 10, "local steps": 5, "optimiser": "Adam"}
    there = messages.sel(points=10, E=5, optimizer="Adam")
    np.testing.assert_array_equal(curves.sel(at).isel(model=0), there.u)
    np.testing.assert_array_equal(curves.truth.sel(at), there.truth)
    np.testing.assert_array_equal(errors.sel(at | {"model": live.READ}), there.off)
    assert live.levels.explore(curves, errors).data["seeds"] == 3


def table(off=0.0, span=100.0) -> xarray.Dataset:
    dims = ("optimizer", "E", "points", "client")
    coords = {"optimizer": ["SGD"], "E": [1], "points": [1, 10]}
    return xarray.Dataset(
        {"off": (dims, np.full((1, 1, 2, 3), off)), "span": (dims, np.full((1, 1, 2, 3), span))}, coords
    )


WIRE = xarray.Dataset({"span": ("client", [50.0, 52.0]), "fit": ("client", [54.0, 56.0])})


@pytest.mark.parametrize(
    "id, results, holds, words",
    [
        ("equal", Results(None, difference=1e-14), True, "1e-14"),
        ("equal", Results(None, difference=1e-9), False, "1e-09"),
        ("hidden", Results(None, common=0), True, "in 0 arrays"),
        ("hidden", Results(None, common=2), False, "in 2 arrays"),
        ("leak", Results(table(off=0.4)), True, "off by at most 0.4 %"),
        ("leak", Results(table(off=4)), False, "off by at most 4 %"),
        ("recognised", Results(table(span=99)), True, "99 %"),
        ("recognised", Results(table(span=80)), False, "80 %"),
        ("wire", Results(None, WIRE), True, "51 % by their span, 55 % by their fit"),
        ("wire", Results(None, WIRE + 10), False, "61 % by their span, 65 % by their fit"),
        ("price", Results(None, overhead=1.5), True, "1.5 x"),
        ("price", Results(None, overhead=2.5), False, "2.5 x"),
    ],
)
def test_verdicts(id, results, holds, words):
    verdict = claims.CLAIMS[f"fed-deeponet.target.sites.{id}"](results)
    assert (verdict.holds, verdict.why) == (holds, words)


@pytest.mark.parametrize("claim", claims.CLAIMS.values())
def test_nothing_is_judged_where_nothing_is_there(claim):
    assert claim(Results(None)) is None
    assert claim(Results(table().isel(points=[])) if "one" in claim.__name__ else Results(None)) is None


def test_a_study_asks_for_each_size_once():
    p = quick(study, clients=[2, 1], leak_points=[10, 1, 10], leak_steps=[5, 1], sensors=12, width=8)
    arguments = study.trainings(p)["messages"].arguments
    assert arguments == {"clients": 3, "sizes": [1, 10], "steps": [1, 5], "sensors": 12, "width": 8}
