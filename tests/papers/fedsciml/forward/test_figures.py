"""What tables of notebook 05 compute."""

import json

import numpy as np
import xarray

from fedlib.notebook import pictures
from fedlib.notebook.run import _plain
from fedlib.papers.fedsciml.forward import figures


def test_metrics_and_error_rows_stand_by_problem_kind_and_level():
    """Two seeds; the federation is worse than the central model by 3."""
    at = {"level": [2, 8, 32], "distance": ("level", [0.9, 0.4, 0.1])}
    error = np.stack([np.multiply.outer([1.0, 3.0], [4.0, 2.0, 1.0]) * factor for factor in (1, 5, 3)])
    final = xarray.DataArray(error, at | {"kind": ["centralised", "isolated", "federated"]}, ["kind", "seed", "level"])
    weights = xarray.DataArray(np.ones((2, 3, 1)), at, ["seed", "level", "matrix"])
    made = pictures.metrics_of({"poisson": final}, {"poisson": weights})
    metrics = json.loads(json.dumps(made, default=_plain))
    assert metrics["levels"] == {"poisson": [2, 8, 32]} and metrics["w1"] == {"poisson": [0.9, 0.4, 0.1]}
    assert metrics["error_percent"]["poisson"]["centralised"] == [[4, 2, 1], [12, 6, 3]]
    assert metrics["weight_divergence"]["poisson"][1] == [[1], [1], [1]]
    first, *_ = pictures.error_rows(metrics, 1)
    assert first == ["poisson", "2", "24.0 ± 17.0", "40.0 ± 28.3", "8.0 ± 5.7", "3.0"]


def test_other_rates_are_told_as_medians_and_paired_ratios():
    """Made-up errors: eight pieces are ten times as bad as two, six are three times."""
    levels, seeds = [2, 6, 8, 10], [0, 1, 2]
    error = np.ones((2, 3, 4, 3)) * np.array([1, 3, 10, 2])[:, None] * np.array([1, 2, 4])
    dims = "schedule", "lr", "level", "seed"
    coords = {"schedule": ["constant", "falling"], "lr": [0.001, 0.003, 0.03], "level": levels, "seed": seeds}
    rates = xarray.Dataset({"error": (dims, error)}, coords)
    rounds = np.arange(1, 11) * 500
    longer = rates.error.sel(schedule="constant", lr=0.001, drop=True).expand_dims(round=rounds)
    rows = figures.hump(rates, longer)
    assert [row[0] for row in rows] == [*figures.RATES, *(f"0.001, {rounds[i]} rounds" for i in (1, 5, -1))]
    assert all(row[1:5] == ["2.0", "6.0", "20", "4.0"] for row in rows), "medians"
    assert {row[5] for row in rows} == {"10 [10, 10]"} and {row[6] for row in rows} == {"3 [3, 3]"}
