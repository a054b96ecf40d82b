"""Tables and figures of notebook 05 say the numbers of its arrays, and survive the way through a file."""

import json

import numpy as np
import pytest
import torch
import xarray

from fedlib.federated.experiment import KINDS, data_of
from fedlib.notebook import pictures
from fedlib.notebook.run import _plain
from fedlib.papers.fedsciml.forward import figures, problem

AT = {"level": [2, 8, 32], "distance": ("level", [0.9, 0.4, 0.1])}


@pytest.fixture
def metrics():
    """Two seeds; the federation is worse than the central model by 3, and the first matrix diverges with W1."""
    error = np.stack([np.multiply.outer([1.0, 3.0], [4.0, 2.0, 1.0]) * factor for factor in (1, 5, 3)])
    coords = AT | {"kind": ["centralised", "isolated", "federated"]}
    final = xarray.DataArray(error, coords, ["kind", "seed", "level"])
    weights = np.multiply.outer([1.0, 2.0], [[3, 1, 1], [2, 2, 3], [1, 3, 2]])
    divergence = xarray.DataArray(weights, AT, ["seed", "level", "matrix"])
    made = pictures.metrics_of({"poisson": final}, {"poisson": divergence})
    return json.loads(json.dumps(made, default=_plain))


def test_metrics_stand_by_problem(metrics):
    assert metrics["levels"] == {"poisson": [2, 8, 32]}
    assert metrics["w1"] == {"poisson": [0.9, 0.4, 0.1]}
    assert {*metrics["error_percent"]["poisson"]} == {*KINDS}
    assert metrics["error_percent"]["poisson"]["centralised"] == [[4, 2, 1], [12, 6, 3]]
    assert metrics["weight_divergence"]["poisson"][0] == [[3, 1, 1], [2, 2, 3], [1, 3, 2]]


def test_errors_have_a_row_per_level(metrics):
    rows = pictures.error_rows(metrics, 1)
    assert {len(row) for row in rows} == {len(pictures.HEADER)}
    assert rows[0] == ["poisson", "2", "24.0 ± 17.0", "40.0 ± 28.3", "8.0 ± 5.7", "3.0"]
    assert [row[1] for row in rows] == ["2", "8", "32"]


def test_at_eight_pieces_a_client_owns_hills_or_valleys():
    """f's largest part is positive at every point of client 1's pieces, and negative at those of client 2."""
    data = data_of(problem.poisson(), 8)
    last = torch.sin(8 * data.pool["x"][:, 0])
    inner = last.abs() > 0.1  # at the cuts it is zero
    first, second = (last[shard][inner[shard]] for shard in data.owners)
    assert (first > 0).all() and (second < 0).all()
    assert len(figures.hills_and_valleys(problem.poisson(), 8).axes[0].lines) == 4


def gap_of(error: dict, megabytes: dict) -> xarray.Dataset:
    """As of ``study.gap``; (rule, E) -> errors (%) by seed."""
    rules, Es = (list(dict.fromkeys(labels)) for labels in zip(*error, strict=True))
    values = [[error[rule, E] for E in Es] for rule in rules]
    sent = [[megabytes[rule, E] for E in Es] for rule in rules]
    arrays = {"error": (("rule", "E", "seed"), values), "megabytes": (("rule", "E"), sent)}
    return xarray.Dataset(arrays, {"rule": rules, "E": Es, "seed": [0, 1, 2]})


def test_the_gap_is_told_by_falling_median():
    error = {("a", 5): [4, 2, 3], ("a", 1): [1, 1, 1.2], ("b", 5): [2, 2, 2], ("b", 1): [9, 9.5, 100]}
    gap = gap_of(error, {("a", 5): 12.3, ("a", 1): 60, ("b", 5): 0.14, ("b", 1): 0.7})
    assert figures.gap_rows(gap, [1.0, 1.6, 0.4]) == [
        ["b", "1", "9500", "9000 to 100000", "1"],
        ["a", "5", "3000", "2000 to 4000", "12"],
        ["b", "5", "2000", "2000 to 2000", "0"],
        ["a", "1", "1000", "1000 to 1200", "60"],
        ["centralised", "-", "1000", "400 to 1600", "0"],
    ]


def test_other_rates_are_drawn_and_told_as_they_are():
    """Made-up errors: at the paper's rate eight pieces are ten times as bad as two, six are three times."""
    levels, seeds = [2, 6, 8, 10], [0, 1, 2]
    error = np.ones((2, 3, 4, 3)) * np.array([1, 3, 10, 2])[:, None] * np.array([1, 2, 4])
    dims = "schedule", "lr", "level", "seed"
    coords = {"schedule": ["constant", "falling"], "lr": [0.001, 0.003, 0.03], "level": levels, "seed": seeds}
    rates = xarray.Dataset({"error": (dims, error)}, coords)
    (ax,) = figures.at_other_rates(rates).axes
    lines = {
        line.get_label(): line.get_ydata().tolist() for line in ax.get_lines() if line.get_label() in figures.RATES
    }
    assert [*lines.values()] == [[2, 6, 20, 4]] * 3
    rounds = np.arange(1, 11) * 500
    longer = rates.error.sel(schedule="constant", lr=0.001, drop=True).expand_dims(round=rounds)
    rows = figures.hump(rates, longer)
    assert [row[0] for row in rows] == [*figures.RATES, *(f"0.001, {rounds[i]} rounds" for i in (1, 5, -1))]
    assert all(row[1:5] == ["2.0", "6.0", "20", "4.0"] for row in rows), "medians"
    assert {row[5] for row in rows} == {"10 [10, 10]"} and {row[6] for row in rows} == {"3 [3, 3]"}
