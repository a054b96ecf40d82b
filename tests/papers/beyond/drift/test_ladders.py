"""Measures of heterogeneity over all levels: what is read of other notebooks, ranks, and how sure they are."""

import numpy as np
import xarray

from fedlib.papers.beyond.drift import ladders


def test_a_ladder_is_measured_where_it_stands(monkeypatch):
    """B is at least 1, and nearly 1 where clients are alike; W1 is the closed form L / n of clients who take turns."""
    error = xarray.DataArray([[3.0, 4.0], [0.2, 0.1]], {"level": [2, 32], "seed": [0, 1]}, ("level", "seed"))
    ladder = ladders.LADDERS["Poisson"]._replace(errors=lambda: error)
    monkeypatch.setitem(ladders.LADDERS, "Poisson", ladder)
    table = ladders.measured(["Poisson"], share=0.002)
    (one,) = ladders.with_errors(table).values()
    np.testing.assert_array_equal(one.error, error)
    np.testing.assert_allclose(one.number.sel(measure="W1"), np.pi / np.array([2, 32]), rtol=0.1)
    assert (one.number.sel(measure=[*ladders.MEASURES[1:]]) >= 1).all()
    assert one.number.sel(measure="B at the start", level=32) < 1.05, "every other point each: nearly the same gradient"
