"""The price of machines is drawn in milliseconds and megabytes."""

import pytest

from fedlib.machines import figures


def test_price():
    fig = figures.price([1, 5], {"in one process": [0.1, 0.2]}, [10**6] * 2, [10**6, 5 * 10**6], [10**5, 5 * 10**5])
    assert fig.axes[0].get_lines()[0].get_ydata() == pytest.approx([100, 200])
    assert [line.get_ydata()[-1] for line in fig.axes[1].get_lines()] == pytest.approx([5, 1, 0.5])
