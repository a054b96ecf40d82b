"""Pictures and tables of drift show the numbers that they are given, and the widget answers in time."""

import numpy as np
import pytest
import xarray

from fedlib.papers.beyond.drift import figures, ladders
from fedlib.papers.beyond.drift import live as drift_live
from fedlib.papers.beyond.drift.plane import two_clients, walk
from fedlib.papers.beyond.drift.study import CENTRAL, CONSTANT, FALLING, REPAIR, ratio

from ....conftest import assert_redraws_fast, every_move
from .results import by_rule


def drawn(ax) -> dict:
    """Label -> points of the lines."""
    return {line.get_label(): line.get_xydata() for line in ax.get_lines()}


def test_the_plane_ends_where_the_walk_ends():
    fig = figures.plane(two_clients(), 3, 4)
    for ax, correct in zip(fig.axes, (False, True), strict=True):
        path = walk(two_clients(), correct, 3, 4, 0.5)
        np.testing.assert_allclose(drawn(ax)["server"], path.theta)
        np.testing.assert_allclose(drawn(ax)["client 2, 3 steps a round"], path.local[0, 1])
        off = np.linalg.norm(path.theta[-1] - two_clients().optimum())
        assert ax.get_title() == f"{('FedAvg', 'repair')[correct]}: {off:.2f} from the best"


def test_the_explorer_of_the_plane_redraws_fast():
    assert_redraws_fast(every_move(drift_live.plane_explorer()))


def table(x=5):
    values = np.arange(2 * 3 * 2 * 2 * x, dtype=float).reshape(2, 3, 2, 2, x)
    error = 1 + np.arange(2 * 3 * 2 * 2 * 2, dtype=float).reshape(2, 3, 2, 2, 2)
    coords = {"schedule": [CONSTANT, FALLING], "rule": ["FedAvg", REPAIR, CENTRAL], "lr": [1e-3, 3e-3]}
    coords |= {"round": [10, 20], "seed": [0, 1]}
    dims = "schedule", "rule", "lr", "round"
    arrays = {"u": ((*dims, "x"), values), "error": ((*dims, "seed"), error)}
    places = np.linspace(0, 1, x)
    more = {"x": places, "truth": ("x", places**2), "owner": ("x", np.arange(x) % 2)}
    return xarray.Dataset(arrays, coords | more)


def test_curves_side_by_side_are_those_of_the_last_round_with_the_first_seeds_errors():
    fig = figures.side_by_side(table(), {"one": {"FedAvg": 1e-3}, "two": {"FedAvg": 3e-3, REPAIR: 1e-3}})
    left, right = fig.axes
    np.testing.assert_array_equal(drawn(left)["truth"][:, 1], table().truth)
    end = table().sel(schedule=CONSTANT, rule="FedAvg", lr=1e-3, round=20)
    (label,) = [label for label in drawn(left) if label.startswith("FedAvg")]
    np.testing.assert_array_equal(drawn(left)[label][:, 1], end.u)
    assert label == f"FedAvg, rate 0.001: off by {float(end.error[0]):.1f} %"
    assert [left.get_title(), right.get_title()] == ["one", "two"] and len(drawn(right)) == 3


def test_errors_against_the_rate_are_medians_and_every_seed():
    (ax,) = figures.against_rate({"line_20": table()}).axes
    last = table().error.sel(round=20)
    for label, schedule in (("FedAvg", CONSTANT), ("FedAvg, falling", FALLING)):
        medians = last.sel(rule="FedAvg", schedule=schedule).median("seed")
        np.testing.assert_array_equal(drawn(ax)[label][:, 1], medians)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0.001", "0.003"]
    assert ax.get_title() == "wave, 20 pieces"


def test_ratios_are_paired_by_seed_and_their_interval_is_students():
    errors = by_rule(FedAvg=[1, 2, 4], repair=[0.5, 1, 2], Mime=[1, 1, 16])
    assert ratio(errors, REPAIR)[:3] == pytest.approx((0.5, 0.5, 0.5))
    mean, low, high, _ = ratio(errors, "Mime")
    logs = np.log([1, 0.5, 4])
    half = 4.302653 * logs.std(ddof=1) / 3**0.5  # t(0.975) of two degrees of freedom
    np.testing.assert_allclose(np.log([mean, low, high]), logs.mean() + half * np.array([0, -1, 1]), rtol=1e-6)
    assert np.isnan(ratio(errors.isel(seed=[0]), "Mime").low)


def test_every_problem_has_a_row_and_what_diverged_is_said():
    errors = {
        "line_20": by_rule(FedAvg=[1, 2], repair=[0.1, 0.3], SCAFFOLD=[np.nan, 1]),
        "poisson_8": by_rule(FedAvg=[4, 4], repair=[8, 8]),
    }
    fig = figures.against_fedavg(errors)
    scaffold, repair = fig.axes
    assert [scaffold.get_title(), repair.get_title()] == ["SCAFFOLD", "repair"]
    assert [text.get_text() for text in scaffold.texts] == ["diverged"]
    marks = [line.get_xydata()[0].tolist() for line in repair.get_lines() if len(line.get_xdata()) == 1]
    np.testing.assert_allclose(marks, [[(0.1 * 0.15) ** 0.5, 0], [2, 1]])
    assert [label.get_text() for label in scaffold.get_yticklabels()] == ["wave, 20 pieces", "Poisson, 8 pieces"]


def test_local_steps_costs_and_age_draw_what_they_are_given():
    values = xarray.concat([by_rule(FedAvg=[4, 6], repair=[1, 1]).expand_dims(E=[1]),
                            by_rule(FedAvg=[2, 2]).expand_dims(E=[5])], "E", join="outer")  # fmt: skip
    (ax,) = figures.local_steps({"poisson_8": values}, {"poisson_8": by_rule(a=[0.5, 0.5]).sel(rule="a")}).axes
    assert drawn(ax)["FedAvg"].tolist() == [[1, 5], [5, 2]] and "repair" not in drawn(ax), "at one E only"
    path = xarray.DataArray(
        [[3.0, 1.0], [2.0, np.nan]], {"rule": ["FedAvg", REPAIR], "round": [10, 20]}, ("rule", "round")
    )
    left, right = figures.costs({"poisson_8": path}).axes
    assert drawn(left)["FedAvg"].tolist() == [[10, 3], [20, 1]]
    np.testing.assert_allclose(drawn(right)["FedAvg"][:, 0], np.array([10, 20]) * 4e-6 * 2 * 901)
    np.testing.assert_allclose(drawn(right)["repair"][:, 0], 10 * 4e-6 * 2 * 901 * 4)
    off = xarray.DataArray([[[0, 0.1, 0.2], [0, 0.3, 0.4]]] * 2, {"lr": [1e-3, 1e-2]}, ("lr", "client", "step"))
    (ax,) = figures.stale(off).axes
    assert [line.get_xydata().tolist() for line in ax.get_lines()[:2]] == [[[1, 0.1], [2, 0.2]], [[1, 0.3], [2, 0.4]]]


def test_ranks_stand_with_their_intervals():
    drawn_ranks = np.tile(np.linspace(0, 1, 101), (3, 1))
    one = xarray.Dataset({"rank": ("measure", [0.2, 0.7, 0.4]), "drawn_rank": (("measure", "draw"), drawn_ranks)},
                         {"measure": [*ladders.MEASURES]})  # fmt: skip
    left, right = figures.rank_figure({"a": one}).axes
    marks = {label: points for label, points in drawn(left).items() if label in ladders.MEASURES}
    assert {label: round(points[0, 0], 6) for label, points in marks.items()} == dict(
        zip(ladders.MEASURES, (0.2, 0.7, 0.4), strict=True)
    )
    assert any(np.allclose(points[:, 0], [0.025, 0.975]) for points in drawn(left).values() if len(points) == 2)
    assert any(len(line.get_xdata()) == 1 and line.get_xdata()[0] == pytest.approx(0.5) for line in right.get_lines())


def test_tables_say_every_number_and_what_there_is_not():
    errors = {"line_20": by_rule(FedAvg=[1, 3], centralised=[0.01, 0.02]), "poisson_8": by_rule(FedAvg=[20_000, 1])}
    header, rows = figures.error_rows(errors)
    assert header == ["error (%)", "FedAvg", "centralised"]
    assert rows == [["wave, 20 pieces", "2.0 ± 1.4", "0.015 ± 0.007"], ["Poisson, 8 pieces", "1 of 2 above 1000", "-"]]
    assert figures.in_short(by_rule(a=[np.nan, 1]).sel(rule="a")) == "diverged"
    B = xarray.DataArray([[[2.0, 100.0]]], {"problem": ["line_20"], "seed": [0], "when": ["start", "on the way"]},
                         ("problem", "seed", "when"))  # fmt: skip
    assert figures.dissimilarity_rows(B) == [["wave, 20 pieces", "0.5", "0.01"]]
    assert figures.as_table(by_rule(a=[np.nan, 1])) == {"a": [None, 1.0]}
    some = by_rule(FedAvg=[1, 1]).expand_dims(fraction=[0.5])
    assert figures.some_rows(some, by_rule(FedAvg=[2, 2])) == [["FedAvg", "2.0 ± 0.0", "1.0 ± 0.0"]]
