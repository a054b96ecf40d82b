"""Tables and figures of notebook 05 say the numbers of its arrays, and survive the way through a file."""

import json

import numpy as np
import pytest
import xarray

from fedlib.federated.experiment import KINDS, models_of, sweep
from fedlib.papers.fedsciml.forward import claims, figures, problem
from fedlib.runs.results import _plain

AT = {"level": [2, 8, 32], "w1": ("level", [0.9, 0.4, 0.1])}


@pytest.fixture
def metrics():
    """Two seeds; the federation is worse than the central model by 3, and the first matrix diverges with W1."""
    error = np.stack([np.multiply.outer([1.0, 3.0], [4.0, 2.0, 1.0]) * factor for factor in (1, 5, 3)])
    coords = AT | {"kind": ["centralised", "isolated", "federated"]}
    final = xarray.DataArray(error, coords, ["kind", "seed", "level"])
    weights = np.multiply.outer([1.0, 2.0], [[3, 1, 1], [2, 2, 3], [1, 3, 2]])
    divergence = xarray.DataArray(weights, AT, ["seed", "level", "matrix"])
    made = figures.metrics_of({"poisson": final}, {"poisson": divergence})
    return json.loads(json.dumps(made, default=_plain))


def test_metrics_stand_by_problem(metrics):
    assert metrics["levels"] == {"poisson": [2, 8, 32]}
    assert metrics["w1"] == {"poisson": [0.9, 0.4, 0.1]}
    assert list(metrics["error_percent"]["poisson"]) == list(KINDS)
    assert metrics["error_percent"]["poisson"]["centralised"] == [[4, 2, 1], [12, 6, 3]]
    assert metrics["weight_divergence"]["poisson"][0] == [[3, 1, 1], [2, 2, 3], [1, 3, 2]]


def test_errors_have_a_row_per_level(metrics):
    rows = figures.error_rows(metrics, 1)
    assert {len(row) for row in rows} == {len(figures.HEADER)}
    assert rows[0] == ["poisson", "2", "24.0 ± 17.0", "40.0 ± 28.3", "8.0 ± 5.7", "3.0"]
    assert [row[1] for row in rows] == ["2", "8", "32"]


def test_correlations_are_those_of_the_ranks(metrics):
    assert claims.correlations(metrics, "poisson") == pytest.approx([1, -1, -0.5])
    assert claims.correlations(metrics, "poisson", [8, 32]) == pytest.approx([1, -1, 1])


def test_divergence_is_that_of_the_weight_matrices():
    experiment = problem.poisson(8)
    history = sweep(experiment, [2, 4], [3, 1], rounds=2)
    values = figures.divergence(experiment, history, [2, 4])
    assert values.sizes == {"seed": 2, "level": 2, "matrix": 4}
    first = slice(20)  # the first matrix comes first
    for n in (2, 4):
        a, b = (models_of(history, kind, n, 1)[0][first] for kind in ("federated", "centralised"))
        expected = ((a - b).norm() / b.norm()).item()
        assert values.sel(level=n, seed=1, matrix=1).item() == pytest.approx(expected, rel=1e-5)
    assert (values.diff("level") != 0).all()
    labels = figures.labelled(history, 4, 3)
    assert list(labels) == ["isolated client 1", "isolated client 2", "federated", "centralised"]
    assert (labels["isolated client 2"] == history.models("isolated", 4, 3)[1]).all()


def test_the_first_look_names_both_problems():
    titles = [ax.get_title() for ax in figures.first_look(problem.poisson(), problem.helmholtz()).axes]
    assert "Poisson" in titles[0] and "Helmholtz" in titles[1]


def test_the_gap_is_told_by_falling_median():
    gap = {
        "a, E = 5": {"rule": "a", "E": 5, "error_percent": [4.0, 2.0, 3.0], "megabytes": 12.3},
        "b, E = 1": {"rule": "b", "E": 1, "error_percent": np.array([9.0, 9.5, 100.0]), "megabytes": 0.7},
    }
    assert figures.gap_rows(gap, [1.0, 1.6, 0.4]) == [
        ["b", "1", "9500", "9000 to 100000", "1"],
        ["a", "5", "3000", "2000 to 4000", "12"],
        ["centralised", "-", "1000", "400 to 1600", "0"],
    ]


def test_a_rule_has_a_colour_and_an_E_a_shape():
    gap = {
        f"{rule}, E = {E}": {"rule": rule, "E": E, "error_percent": [3.0, 1.0, 2.0], "megabytes": 10.0 * E}
        for rule in ("a", "b")
        for E in (5, 1)
    }
    (ax,) = figures.gap_view(gap, np.array([0.1, 0.2, 0.4])).axes
    named = {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}
    assert [*named] == [*gap, "centralised"]
    assert named["a, E = 5"].get_ydata() == 2 and named["centralised"].get_ydata()[0] == 0.2
    assert named["a, E = 5"].get_marker() == named["b, E = 5"].get_marker() != named["a, E = 1"].get_marker()
    assert named["a, E = 5"].get_color().tolist() == named["a, E = 1"].get_color().tolist()
    assert named["a, E = 1"].get_xdata()[0] < named["a, E = 5"].get_xdata()[0]
