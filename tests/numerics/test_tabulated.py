"""A table holds what each combination of labels gave, under its labels."""

import numpy as np
import pytest
import xarray

from fedlib.numerics.tabulated import excerpt, tabulated


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


def test_labelled_arrays_keep_their_coordinates_and_the_first_order_of_dims():
    whole = xarray.DataArray(np.arange(12.0).reshape(2, 2, 3), {"m": [0, 1], "k": [7, 8], "j": [*"abc"]})

    def f(m):
        cell = whole.sel(m=m).assign_coords(half=m / 2)
        return {"x": cell.T if m else cell}

    assert tabulated(f, m=[0, 1]).identical(whole.to_dataset(name="x"))


@pytest.mark.parametrize(
    ("f", "labels", "match"),
    [
        (lambda m: {"x": 1.0}, [], "axis 'm' has no labels; expected at least one"),
        (lambda m: {"x": np.ones(2)}, [1, 2], r"cell \{'m': 1\}: \['x'\] are arrays without dims"),
        (lambda m: {"xy"[m]: 1.0}, [0, 1], r"cell \{'m': 1\} .*'y'.*; expected .*'x'"),
        (lambda m: {"x": ("kj"[m], [1.0, 2.0])}, [0, 1], r"cell \{'m': 1\} .*'j'.*; expected .*'k'"),
        (lambda m: {"x": xarray.DataArray([1, 2], {"k": [m, 5]})}, [0, 1], r"cell \{'m': 1\}, \['x'\]: other coord"),
    ],
)
def test_what_is_no_table_is_refused(f, labels, match):
    with pytest.raises(ValueError, match=match):
        tabulated(f, m=labels)


def test_an_excerpt_has_what_a_table_has_there():
    table = xarray.Dataset(
        {"error": (("problem", "level"), [[1.0, np.nan, 3.0], [np.nan] * 3])},
        {"problem": ["wave", "ring"], "level": [2, 4, 6]},
    )
    part = excerpt(table, "error", problem="wave")
    assert part.dims == ("level",) and part.level.values.tolist() == [2, 6] and part.values.tolist() == [1, 3]
    assert excerpt(table, "error", problem="ring") is None
    assert excerpt(table, "error", problem="square") is None and excerpt(table, "time", problem="wave") is None
