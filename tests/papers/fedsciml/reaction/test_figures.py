"""What pictures and tables of notebook 06b compute."""

import numpy as np

from fedlib.numerics.metrics import in_percent
from fedlib.papers.fedsciml.reaction import figures


def test_the_network_is_shown_without_the_factor_that_vanishes(results):
    squares, answers = results.squares["4 inner"], results.answers["4 inner"].isel(level=0)
    answers = answers.sel(model="centralised", field="u")
    left, right = figures.residual_figure(squares, answers).axes
    np.testing.assert_allclose(np.sum([line.get_ydata() for line in left.get_lines()], 1), 100)
    for line, u in zip(right.get_lines(), (answers.truth, *answers), strict=True):
        x = line.get_xdata()
        np.testing.assert_allclose(line.get_ydata() * np.tanh(x) * np.tanh(1 - x), u.sel(x=x), atol=1e-6)


def test_rows_of_medians_and_of_how_often_k_is_found(results):
    rows = figures.median_rows(results.last)
    assert len(rows) == 6 and rows[0][0] == "4 inner, federated" and len(rows[0]) == 3
    median = results.last["4 inner"].sel(field="k", kind="federated", level=2).median().item()
    assert in_percent(median) in rows[0]
    many = results.many["4 inner"].copy()
    many.loc[{"field": "u"}] = [[10, 49, 51]]
    many.loc[{"field": "k"}] = [[3, 5, 700]]
    assert figures.found_rows({"4 inner": many}) == [["4 inner", "2", "2 of 3", "4.0 %", "700 %"]]
    many.loc[{"field": "u"}] = 60
    assert figures.found_rows({"4 inner": many})[0][2:] == ["0 of 3", "-", "5.0 %"]
