"""Measures of heterogeneity over all levels: what is read of other notebooks, ranks, and how sure they are."""

import numpy as np
import pytest
import xarray
from scipy.stats import spearmanr

from fedlib.papers.beyond.drift import ladders


@pytest.mark.parametrize("name", ladders.LADDERS)
def test_a_ladder_has_errors_of_several_seeds_at_every_level(name):
    error = ladders.LADDERS[name].errors()
    assert error.dims == ("level", "seed") and error.sizes["level"] > 4 and error.sizes["seed"] > 2
    assert (error > 0).all() and list(error.level) == sorted(error.level.values)


def test_a_ladder_is_measured_where_it_stands(monkeypatch):
    """B is at least 1, and nearly 1 where clients are alike; W1 is the closed form L / n of clients who take turns."""
    error = xarray.DataArray([[3.0, 4.0], [0.2, 0.1]], {"level": [2, 32], "seed": [0, 1]}, ("level", "seed"))
    ladder = ladders.LADDERS["Poisson"]._replace(errors=lambda: error)
    monkeypatch.setitem(ladders.LADDERS, "Poisson", ladder)
    table = ladders.measured(["Poisson"], share=0.002)
    (one,) = ladders.with_errors(table).values()
    np.testing.assert_array_equal(one.error, error)
    np.testing.assert_allclose(one["W1"], np.pi / np.array([2, 32]), rtol=0.1)
    for measure in ladders.MEASURES[1:]:
        assert (one[measure] >= 1).all()
    assert one["B at the start"].sel(level=32) < 1.05, "every other point each: nearly the same gradient"


def test_functions_that_both_know_are_not_apart():
    assert abs(ladders.functions_apart(None, 10, 40)) < 0.3 * ladders.functions_apart(None, 1, 40)


def ladder_of(error, **measures):
    error = np.asarray(error, float)
    levels, seeds = np.arange(1, len(error) + 1), np.arange(error.shape[1])
    table = {"error": (("level", "seed"), error)} | {
        name: ("level", np.asarray(x, float)) for name, x in measures.items()
    }
    return xarray.Dataset(table, {"level": levels, "seed": seeds})


def test_ranks_are_spearmans_and_draws_surround_them():
    rng = np.random.default_rng(0)
    x = rng.random((3, 12))
    error = x[0][:, None] + 0.3 * rng.random((12, 4))
    table = ladders.ranks(ladder_of(error, **dict(zip(ladders.MEASURES, x, strict=True))), draws=300)
    expected = [spearmanr(row, np.median(error, 1)).statistic for row in x]
    np.testing.assert_allclose(table["rank"], expected)
    low, high = ladders.interval(table.drawn.sel(measure="W1").values)
    assert low < expected[0] < high < 1.001 and high - low < 0.7
    gain = ladders.gain(table, "B at the start")
    assert gain.value == pytest.approx(expected[1] - expected[0])
    both = ladders.mean_gain({"a": table, "b": table}, "B at the start")
    assert both.value == pytest.approx(gain.value)
    np.testing.assert_allclose(both.drawn, gain.drawn)


def test_a_measure_that_is_the_same_at_all_levels_has_no_rank():
    assert np.isnan(ladders.spearman(np.ones(4), np.arange(4)))
    assert ladders.spearman(np.array([1, 2, 3]), np.array([5, 7, 9])) == pytest.approx(1)
    assert ladders.interval(np.linspace(0, 100, 1001)) == pytest.approx((2.5, 97.5))
