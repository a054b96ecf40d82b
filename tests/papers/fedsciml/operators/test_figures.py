"""Tables of notebook 07 say the numbers of their arrays."""

import numpy as np
import xarray

from fedlib.notebook import style
from fedlib.papers.fedsciml.operators import figures, study

LINE = study.LINE


def test_a_field_has_x_along_and_is_symmetric_about_zero():
    ax = style.panels(1, 1)[1][0, 0]
    u = np.array([[0.0, 1, 2], [3, -4, 1]])
    figures.field(ax, u, "u(x, t)")
    np.testing.assert_array_equal(ax.images[0].get_array(), u.T)
    assert ax.images[0].get_clim() == (-4, 4)


def test_tables_say_what_is_there(results):
    rows = {row[0]: row for row in figures.level_rows(results)}
    row = rows["antiderivative, federated"]
    assert row[1] == "" and row[5] == figures.number(results.last[LINE].sel(kind="federated", level=5).values)
    (line,) = [row for row in figures.example_rows(results.examples) if row[0] == "antiderivative, n = 6"]
    share = (results.examples[LINE, 6].error[2] < results.examples[LINE, 6].error[:2]).all("model").mean().item()
    assert line[-2:] == [f"{share:.0%}", "5"] and len(line) == len(figures.EXAMPLE_HEADER)
    table = figures.as_table(xarray.DataArray([[1.0, np.nan]], {"kind": ["federated"], "level": [2, 5]}))
    assert table == {"kind": ["federated"], "level": [2, 5], "values": [[1.0, None]]}
