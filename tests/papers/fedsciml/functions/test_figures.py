"""Every figure of notebook 04 is drawn from what is stored, and says its numbers."""

import xarray

from fedlib.papers.fedsciml.functions import figures


def test_rows_of_the_fall():
    coords = {"level": [2, 50], "seed": [0, 1]}
    rows = figures.fall_rows({("reset",): xarray.DataArray([[20.0, 22.0], [2.0, 2.2]], coords, ["level", "seed"])})
    assert rows == [["reset", "2", "21.00 ± 1.41", "2.10 ± 0.14", "10.0"]] and len(figures.FALL_HEADER) == 5


def test_four_kinds_of_difference_and_what_w1_sees_of_them():
    w1 = {kind: distance for kind, (_, _, distance) in figures.kinds().items()}
    assert w1["concept shift"] == 0 < w1["concept drift"] < w1["covariance shift"]
