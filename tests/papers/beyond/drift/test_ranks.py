"""Ranks are Spearman's, and draws of levels and seeds say how sure they are."""

import numpy as np
import pytest
import xarray
from scipy.stats import spearmanr

from fedlib.papers.beyond.drift.ranks import gain, order, spearman

RNG = np.random.default_rng(0)


def test_spearman_is_scipys_with_ties():
    x, y = RNG.integers(4, size=(5, 9)), RNG.standard_normal((5, 9))
    assert np.allclose(spearman(x, y), [spearmanr(a, b).statistic for a, b in zip(x, y, strict=True)])


def test_order_of_a_perfect_and_of_a_useless_measure():
    levels = [2, 4, 8, 16, 32]
    error = xarray.DataArray(np.array([[1.0, 9, 3, 2, 0.5]] * 4), {"seed": range(4), "level": levels})
    error = error * np.exp(0.01 * RNG.standard_normal((4, 5)))
    numbers = np.array([np.tile([5.0, 4, 3, 2, 1], (4, 1)), np.tile([2.0, 5, 4, 3, 1], (4, 1))])
    numbers = xarray.DataArray(
        numbers, {"measure": ["W1", "B"], "seed": range(4), "level": levels}, ("measure", "seed", "level")
    )
    table = order(xarray.Dataset({"error": error, "number": numbers}), draws=500)
    assert table["rank"].values == pytest.approx([0.4, 1.0])
    assert table.called.values.tolist() == [2, 4]
    assert (table.worst, table.sure) == (4, 1)
    drawn = table.drawn_rank
    assert np.nanmin(drawn.sel(measure="B")) == pytest.approx(1)
    assert np.nanmin(drawn.sel(measure="W1")) < 0 < np.nanmax(drawn.sel(measure="W1")) <= 1
    assert 0 <= np.isnan(drawn).mean() < 0.02  # five times one level of five
    value, low, high = gain([table, table], "B")
    assert value == pytest.approx(0.6)
    assert low == pytest.approx(0, abs=1e-9) and high > 1
    assert np.allclose(gain([table], "W1"), 0)
