"""Means and st.devs. over seeds: the textbook's, and one for the whole project."""

import re
import statistics

import nbformat
import numpy as np
import pytest
import torch
import xarray
from scipy.stats import ttest_1samp

from fedlib.files import ROOT
from fedlib.numerics.metrics import (
    after_holm,
    in_percent,
    mean_sd,
    paired_ratio,
    percent,
    plus_minus,
    relative_l2,
    two_digits,
)
from fedlib.streams import stream


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_mean_sd_is_that_of_the_statistics_module(axis):
    values = stream(0, "values").normal(size=(4, 3, 5))
    mean, sd = mean_sd(values, axis)
    for at in np.ndindex(mean.shape):
        column = np.moveaxis(values, axis, 0)[:, *at].tolist()
        np.testing.assert_allclose(mean[at], statistics.mean(column))
        np.testing.assert_allclose(sd[at], statistics.stdev(column))


def test_one_value_has_no_spread_and_none_is_refused():
    mean, sd = mean_sd([[2.0, 3.0]])
    assert (mean.tolist(), sd.tolist()) == ([2, 3], [0, 0])
    assert mean_sd(torch.tensor([2.0])) == (2, 0)
    with pytest.raises(ValueError, match="at least one run"):
        mean_sd([])


def test_labels_stay():
    values = xarray.DataArray(stream(0, "labelled").normal(size=(3, 4)), dims=("kind", "seed"))
    for n in (4, 1):
        mean, sd = mean_sd(values[:, :n], "seed")
        plain = mean_sd(values.values[:, :n], 1)
        assert mean.dims == sd.dims == ("kind",)
        np.testing.assert_allclose([mean, sd], plain)


def test_plus_minus_pools_all_values_and_leaves_out_a_spread_that_is_not_known():
    assert plus_minus([1, 3]) == "2.000 ± 1.414"
    assert plus_minus([[1.0], [3.0]], 1) == "2.0 ± 1.4"
    assert plus_minus([0.25], 2) == plus_minus(0.25, 2) == "0.25"


@pytest.mark.parametrize(
    ("e", "words"),
    [
        (3.43e4, "34 000 %"), (1_234_567.0, "1 200 000 %"), (999.9, "1 000 %"), (135, "140 %"), (99.6, "100 %"),
        (66.1, "66 %"), (9.96, "10 %"), (1, "1.0 %"), (0.2949, "0.29 %"), (0.1, "0.10 %"), (1e-4, "0.00010 %"),
        (0.99e-4, "below 0.0001 %"), (0, "below 0.0001 %"), (np.nan, "-"), (np.inf, "-"), (-3.2, "-"),
    ],
)  # fmt: skip
def test_an_error_is_told_in_two_digits_without_an_exponent(e, words):
    assert in_percent(e) == in_percent(np.float32(e)) == in_percent(torch.tensor(e)) == words


def test_every_spread_over_seeds_comes_from_here():
    """No other st.dev. of numpy's, with its own ddof, in the library or in a notebook."""
    sources = {path: path.read_text() for path in ROOT.glob("fedlib/**/*.py")}
    for path in [*ROOT.glob("notebooks/[01]*.ipynb"), *ROOT.glob("notebooks/solutions/[01]*.ipynb")]:
        cells = nbformat.read(path, 4).cells
        sources[path] = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    found = [
        path.name
        for path, source in sources.items()
        if re.search(r"\bnp\.(std|var)\b|ddof=|\.(std|var)\(['\"]", source)
    ]
    assert sorted(found) == ["aten.py", "metrics.py"]  # the former translates what torch was asked for


def test_relative_l2_is_free_of_scale():
    truth, error = torch.tensor([[3.0, 4.0], [0.0, 2.0]]), torch.tensor([[0.3, -0.4], [1.0, 0.0]])
    torch.testing.assert_close(relative_l2(truth + error, truth), torch.tensor([0.1, 0.5]))
    torch.testing.assert_close(relative_l2(7 * (truth + error), 7 * truth), torch.tensor([0.1, 0.5]))


def test_percent_is_relative_l2_of_all_numbers():
    truth, prediction = np.array([[3.0, 0.0], [0.0, 4.0]]), np.array([[3.0, 1.0], [0.0, 4.0]])
    assert percent(prediction, truth) == pytest.approx(20)


def test_small_integers_do_not_wrap_around():
    one, other = np.array([200, 10], np.uint8), np.array([100, 250], np.uint8)
    assert (
        percent(one, other)
        == pytest.approx(percent(one.astype(float), other.astype(float)))
        == pytest.approx(96.6, abs=0.1)
    )


@pytest.mark.parametrize(
    ("e", "words"), [(100, "100"), (8.03, "8.0"), (0.00123, "0.0012"), (1e-4, "0.00010"), (2.3e-5, "2.3e-05")]
)
def test_two_digits(e, words):
    assert two_digits(e) == words


def test_a_paired_ratio_is_students_t_on_the_logarithms():
    values, to = stream(1, "values").lognormal(size=(2, 7))
    one, test = paired_ratio(values, to), ttest_1samp(np.log(values / to), 0)
    np.testing.assert_allclose(np.log(one[1:3]), test.confidence_interval(0.95))
    np.testing.assert_allclose([np.log(one.mean), one.p], [np.log(values / to).mean(), test.pvalue])
    assert str(paired_ratio([2, 4, 4], [1, 1, 2])) == "2.5 [0.93, 6.8]"
    assert np.isnan(paired_ratio([2], [1]).low) and np.isnan(paired_ratio([np.nan, 1], [1, 1]).mean)


def test_holms_correction_is_scipys_in_pairs_and_stops_at_the_first_that_fails():
    assert after_holm([0.001, 0.04, 0.03, 0.01]).tolist() == [True, False, False, True]
    assert after_holm([0.02, 0.03]).tolist() == [True, True] and after_holm([0.03, 0.03]).tolist() == [False, False]
    p = stream(2, "p").uniform(0, 0.1, 9)
    order = np.sort(p)
    adjusted = np.maximum.accumulate(order * np.arange(9, 0, -1))  # the same by adjusted p
    assert after_holm(p).sum() == (adjusted < 0.05).sum() and (p[after_holm(p)] <= order[after_holm(p).sum() - 1]).all()
