"""A field's picture, and arrays as a result file keeps them; tables stand in checked cells of notebook 07."""

import numpy as np
import xarray

from fedlib.notebook import style
from fedlib.papers.fedsciml.operators import figures


def test_a_field_has_x_along_and_white_is_zero():
    ax = style.panels(1, 1)[1][0, 0]
    u = np.array([[0.0, 1, 2], [3, -4, 1]])
    figures.field(ax, u, 4, "u(x, t)")
    np.testing.assert_array_equal(ax.images[0].get_array(), u.T)
    assert ax.images[0].get_clim() == (-4, 4)


def test_a_table_has_none_for_what_is_not_there():
    table = figures.as_table(xarray.DataArray([[1.0, np.nan]], {"kind": ["federated"], "level": [2, 5]}))
    assert table == {"kind": ["federated"], "level": [2, 5], "values": [[1.0, None]]}
