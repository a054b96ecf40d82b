"""Tables of a study say the numbers of its metrics, and survive the way through a file."""

import json

import numpy as np
import pytest
import xarray

from fedlib.problems import forward_tables
from fedlib.problems.forward_study import KINDS
from fedlib.runs.results import _plain

AT = {"n": [2, 8, 32], "w1": ("n", [0.9, 0.4, 0.1])}


@pytest.fixture
def metrics():
    """Two seeds; the federation is worse than the central model by 3, and the first matrix diverges with W1."""
    error = np.stack([np.multiply.outer([1.0, 3.0], [4.0, 2.0, 1.0]) * factor for factor in (1, 5, 3)])
    final = xarray.DataArray(error, AT | {"kind": ["centralised", "isolated", "federated"]}, ["kind", "seed", "n"])
    weights = np.multiply.outer([1.0, 2.0], [[3, 1, 1], [2, 2, 3], [1, 3, 2]])
    divergence = xarray.DataArray(weights, AT, ["seed", "n", "matrix"])
    made = forward_tables.metrics_of({"poisson": final}, {"poisson": divergence})
    return json.loads(json.dumps(made, default=_plain))


def test_metrics_stand_by_problem(metrics):
    assert metrics["levels"] == {"poisson": [2, 8, 32]}
    assert metrics["w1"] == {"poisson": [0.9, 0.4, 0.1]}
    assert list(metrics["error_percent"]["poisson"]) == list(KINDS)
    assert metrics["error_percent"]["poisson"]["centralised"] == [[4, 2, 1], [12, 6, 3]]
    assert metrics["weight_divergence"]["poisson"][0] == [[3, 1, 1], [2, 2, 3], [1, 3, 2]]


def test_errors_have_a_row_per_level(metrics):
    rows = forward_tables.error_rows(metrics, 1)
    assert {len(row) for row in rows} == {len(forward_tables.HEADER)}
    assert rows[0] == ["poisson", "2", "24.0 ± 17.0", "40.0 ± 28.3", "8.0 ± 5.7", "3.0"]
    assert [row[1] for row in rows] == ["2", "8", "32"]


def test_correlations_are_those_of_the_ranks(metrics):
    assert forward_tables.correlations(metrics, "poisson") == pytest.approx([1, -1, -0.5])
    assert forward_tables.correlations(metrics, "poisson", [8, 32]) == pytest.approx([1, -1, 1])
