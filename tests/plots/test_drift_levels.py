"""Every level of every problem is a point over each measure."""

import numpy as np

from fedlib.plots.drift_levels import against_measures

LADDERS = {
    "a": {"W1": [2.0, 1.0], "B at the start": [3.0, 1.5], "B on the way": [9.0, 1.1], "error": [40.0, 10.0]},
    "b": {"W1": [0.1, 0.4], "B at the start": [1.2, 1.4], "B on the way": [2.0, 3.0], "error": [1.0, 2.0]},
}


def test_every_level_is_a_point():
    fig = against_measures(LADDERS, {"all together": {"W1": 0.5, "B at the start": -0.25, "B on the way": 1.0}})
    assert [ax.get_title()[-4:].strip() for ax in fig.axes] == ["0.50", "0.25", "1.00"]
    first, second, third = ({line.get_label(): line.get_xydata() for line in ax.lines} for ax in fig.axes)
    np.testing.assert_allclose(first["a"], [[1, 1], [0.5, 0.25]])
    np.testing.assert_allclose(second["b"], [[0.2, 0.5], [0.4, 1]])
    np.testing.assert_allclose(third["a"], [[8, 1], [0.1, 0.25]])
