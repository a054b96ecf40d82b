"""Pictures of machines show what they are given."""

import numpy as np
import pytest

from fedlib.machines import figures


def test_who_sees_what():
    fig = figures.who_sees({"site-1": [0, 1], "server": []}, {"server": [0, 1, 2]})
    (ax,) = fig.axes
    drawn = {(line.get_marker(), *line.get_ydata()[:1]): list(line.get_xdata()) for line in ax.get_lines()}
    assert drawn["s", 0] == [0, 1] and drawn["o", 1] == [0, 1, 2]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["site-1", "server"]


def test_training_and_price():
    together = np.array([4.0, 2.0, 1.0])
    (ax,) = figures.training({"site-1": 2 * together, "site-2": 0 * together + 1}, together).axes
    lines = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
    np.testing.assert_array_equal(lines["clients of site-1"], 2 * together)
    np.testing.assert_array_equal(lines["all, in one process"], together)
    fig = figures.price([1, 5], {"in one process": [0.1, 0.2]}, [10**6] * 2, [10**6, 5 * 10**6], [10**5, 5 * 10**5])
    assert fig.axes[0].get_lines()[0].get_ydata() == pytest.approx([100, 200])
    assert [line.get_ydata()[-1] for line in fig.axes[1].get_lines()] == pytest.approx([5, 1, 0.5])
