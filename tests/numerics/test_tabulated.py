"""A table holds what each combination of labels gave, under its labels."""

import numpy as np
import pytest
import xarray

from fedlib.numerics.tabulated import tabulated


def test_numbers_and_arrays_stand_under_their_labels():
    calls = []

    def f(m, scale):
        calls.append((m, scale))
        return {"product": m * scale, "count": m, "powers": ("k", [scale, scale**m, 0.0])}

    table = tabulated(f, m=[2, 3], scale=(0.5, 4.0))
    assert calls == [(2, 0.5), (2, 4.0), (3, 0.5), (3, 4.0)], "the last axis is the fastest"
    expected = xarray.Dataset(
        {
            "product": (("m", "scale"), [[1.0, 8.0], [1.5, 12.0]]),
            "count": (("m", "scale"), [[2, 2], [3, 3]]),
            "powers": (("m", "scale", "k"), [[[0.5, 0.25, 0], [4, 16, 0]], [[0.5, 0.125, 0], [4, 64, 0]]]),
        },
        {"m": [2, 3], "scale": [0.5, 4.0]},
    )
    assert table.identical(expected)
    assert table["count"].dtype == np.int64 and [*table.dims] == ["m", "scale", "k"]


def test_labels_may_be_texts():
    table = tabulated(lambda problem: {"length": len(problem)}, problem=["poisson", "beam"])
    assert table.length.sel(problem="beam") == 4


@pytest.mark.parametrize(
    ("f", "labels", "match"),
    [
        (lambda m: {"x": 1.0}, [], "axis 'm' has no labels; expected at least one"),
        (lambda m: {"x": ("k", np.ones(m))}, [1, 2], "inhomogeneous shape"),
    ],
)
def test_what_is_no_table_is_refused(f, labels, match):
    with pytest.raises(ValueError, match=match):
        tabulated(f, m=labels)
