"""Pictures of drift show the numbers that they are given, and the widget answers in time."""

import numpy as np

from fedlib.federated.rules import RULES
from fedlib.plots import drift as draw
from fedlib.problems.drift_plane import two_clients, walk
from fedlib.problems.drift_study import CENTRAL

from ..conftest import assert_redraws_fast, every_move


def test_the_plane_ends_where_the_walk_ends():
    fig = draw.plane(two_clients(), 3, 4)
    for ax, correct in zip(fig.axes, (False, True), strict=True):
        found = walk(two_clients(), correct, 3, 4, 0.5)
        drawn = {line.get_label(): line.get_xydata() for line in ax.get_lines()}
        np.testing.assert_allclose(drawn["server"], found.theta)
        np.testing.assert_allclose(drawn["client 2, 3 steps a round"], found.local[0, 1])
        off = np.linalg.norm(found.theta[-1] - two_clients().optimum())
        assert ax.get_title() == f"{draw.NAMES[correct]}: {off:.2f} from the best"


def test_the_explorer_redraws_fast():
    box = draw.plane_explorer(two_clients())
    assert_redraws_fast(every_move(box))


def test_the_matrix_writes_every_error_and_leaves_out_what_did_not_run():
    errors = {
        "a": {"FedAvg": np.array([1.0, 3.0]), "centralised": np.array([0.5, 0.5])},
        "b": {"FedAvg": np.array([4.0])},
    }
    (ax,) = draw.matrix(errors, ["FedAvg", "centralised"]).axes
    assert [text.get_text() for text in ax.texts] == ["2 ± 1", "0.5 ± 0", "4"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    errors["b"]["centralised"] = np.array([np.inf, 1.0])
    (ax,) = draw.matrix(errors, ["FedAvg", "centralised"]).axes
    assert ax.texts[-1].get_text() == "diverged" and ax.images[0].get_array()[1, 1] == 300  # white on the darkest
    errors["b"]["centralised"] = np.array([100.0, 140.0])
    (ax,) = draw.matrix(errors, ["FedAvg", "centralised"]).axes
    assert ax.texts[-1].get_text() == "120 ± 30"
    errors["b"]["centralised"] = np.array([20_000.0, 1.0, 2.0])
    (ax,) = draw.matrix(errors, ["FedAvg", "centralised"]).axes
    assert ax.texts[-1].get_text() == "1 of 3\n> 1000", "no mean of what is lost and what is not"


def test_curves_against_E_and_costs():
    values = np.array([[4.0, 2.0], [6.0, 2.0]])
    (ax,) = draw.local_steps({"FedAvg": ([1, 5], values), "centralised": ([1, 5], values / 2)}, "title").axes
    assert ax.get_lines()[0].get_xydata().tolist() == [[1, 5], [5, 2]]
    paths = {"FedAvg": ([1, 2], [5, 10], [3.0, 6.0], values), "centralised": ([1, 2], [5, 10], None, values)}
    fig = draw.costs(paths, "title")
    assert [len(ax.get_lines()) for ax in fig.axes] == [2, 2, 1]
    assert fig.axes[2].get_lines()[0].get_xdata().tolist() == [3, 6]


def test_the_grid_has_a_panel_for_each_problem_and_a_gap_where_training_diverged():
    found = {"a": {"FedAvg": {1e-2: np.inf, 1e-3: 2.0}}, "b": {"FedAvg": {1e-3: 3.0}, "centralised": {1e-3: 1.0}}}
    fig = draw.grids(found)
    first, second = fig.axes
    assert [first.get_title(), second.get_title()] == ["a", "b"]
    np.testing.assert_array_equal(first.get_lines()[0].get_xydata(), [[1e-3, 2], [1e-2, np.nan]])
    assert len(second.get_lines()) == 2
    assert [t.get_text() for t in fig.legends[0].get_texts()] == ["FedAvg", "centralised"]


def test_every_rule_has_a_look_of_its_own():
    looks = [(str(look["color"]), look["marker"]) for look in draw.LOOKS.values()]
    assert set(draw.LOOKS) == {*RULES, CENTRAL} and len(set(looks)) == len(looks)


def test_staleness_has_a_line_for_each_client_from_the_second_gradient_on():
    (ax,) = draw.stale({"a": np.array([[0.0, 0.1, 0.2], [0.0, 0.3, 0.4]])}).axes
    lines = [line.get_xydata().tolist() for line in ax.get_lines()[:2]]
    assert lines == [[[1, 0.1], [2, 0.2]], [[1, 0.3], [2, 0.4]]]


def test_scatter_numbers_the_problems():
    points = {"one": {"start": 0.1, "early": 2.0}, "two": {"start": 0.5}}
    fig = draw.scatter(points, {"start": "B at the start", "early": "B later"}, {"one": 3.0, "two": 30.0})
    assert [[t.get_text() for t in ax.texts] for ax in fig.axes] == [["1", "2"], ["1"]]
    assert fig.axes[0].get_lines()[1].get_xydata().tolist() == [[0.5, 30.0]]
