"""A table with named axes, of what is computed for each combination of labels."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import xarray


def tabulated(f: Callable[..., Mapping], **axes: Sequence) -> xarray.Dataset:
    """f(**labels) -> {name: number, or (dims, array)} for every combination of labels, the last axis fastest.

    Returns:
        a variable for each name [*axes, *dims], and the labels as coordinates of the axes.

    Raises:
        ValueError: an axis has no labels, or the arrays of a name have several shapes.
    """
    if empty := [name for name, labels in axes.items() if not len(labels)]:
        raise ValueError(f"axis {empty[0]!r} has no labels; expected at least one")
    cells = [xarray.Dataset(f(**dict(zip(axes, labels, strict=True)))) for labels in product(*axes.values())]
    sizes = [len(labels) for labels in axes.values()]
    table = {}
    for name, first in cells[0].items():
        values = np.reshape([cell[name].values for cell in cells], (*sizes, *first.shape))
        table[name] = (*axes, *first.dims), values
    return xarray.Dataset(table, {name: [*labels] for name, labels in axes.items()})
