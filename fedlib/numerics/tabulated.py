"""A table with named axes, of what is computed for each combination of labels."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import xarray


def tabulated(f: Callable[..., Mapping], **axes: Sequence) -> xarray.Dataset:
    """f(**labels) -> {name: number, or (dims, array)} for every combination of labels, the last axis fastest.

    Returns:
        a variable for each name [*axes, *dims], dims in the order of the first cell, the labels as coordinates of the
        axes, and the coordinates along dims, where the arrays are labelled.

    Raises:
        ValueError: an axis has no labels, the arrays of a name have several shapes, an array comes without dims, or
            cells differ in their names, dims or coordinates.
    """
    if empty := [name for name, labels in axes.items() if not len(labels)]:
        raise ValueError(f"axis {empty[0]!r} has no labels; expected at least one")
    cells: list[xarray.Dataset] = []
    for combination in product(*axes.values()):
        labels = dict(zip(axes, combination, strict=True))
        cell = cell_of(f(**labels), labels)
        cells.append(cell)
        if (names := names_and_dims(cell)) != (expected := names_and_dims(cells[0])):
            raise ValueError(f"cell {labels} has names and dims {names}; expected those of the first cell, {expected}")
        if not cell.coords.to_dataset().equals(cells[0].coords.to_dataset()):
            raise ValueError(
                f"cell {labels}, {[*cell]}: other coordinates than the first cell's;\n{cell.coords}\nexpected "
                f"{cells[0].coords}\ninterpolate to the same ones, or give (dims, array)"
            )
    sizes = [len(labels) for labels in axes.values()]
    table = {}
    for name, first in cells[0].items():
        arrays = [cell[name].transpose(*first.dims).values for cell in cells]
        table[name] = (*axes, *first.dims), np.reshape(arrays, (*sizes, *first.shape))
    return xarray.Dataset(table, {name: [*labels] for name, labels in axes.items()} | dict(cells[0].coords))


def excerpt(table: xarray.Dataset, variable: str, **labels) -> xarray.DataArray | None:
    """A variable of a table at some labels, without what is NaN all along; None where the table has nothing there."""
    if variable not in table or any(label not in table[axis] for axis, label in labels.items()):
        return None
    values = table[variable].sel(labels, drop=True)
    for axis in values.dims:
        values = values.dropna(axis, how="all")
    return values if values.size else None


def cell_of(values: Mapping, labels: Mapping) -> xarray.Dataset:
    """What one combination of labels gave, with the coordinates along its dims alone."""
    # xarray takes a vector without dims for a coordinate, which then is missing
    if bare := [name for name, v in values.items() if not (isinstance(v, tuple) or hasattr(v, "dims")) and np.ndim(v)]:
        raise ValueError(f"cell {labels}: {bare} are arrays without dims; expected a number, or (dims, array)")
    cell = xarray.Dataset(values)
    # a coordinate without dims (of what .sel took) says nothing of where the numbers of an array stand
    return cell.drop_vars([name for name, c in cell.coords.items() if name in labels or not c.dims])


def names_and_dims(cell: xarray.Dataset) -> dict[str, list]:
    """Its names, and the dims of each in no order of their own."""
    return {name: sorted(values.dims) for name, values in cell.items()}
