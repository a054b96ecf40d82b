"""Medians with every seed, and ticks of the level above an axis of W1."""

import numpy as np

from fedlib.notebook.style import panels
from fedlib.plots.levels import against_w1, seeds_and_median


def test_the_line_is_the_median_and_every_seed_a_dot():
    _, ((ax,),) = panels()
    values = np.array([[1.0, 5.0], [2.0, 4.0], [30.0, 3.0]])
    seeds_and_median(ax, [0.1, 0.2], values, "federated", color="k", marker="s")
    line, *dots = ax.lines
    assert line.get_ydata().tolist() == [2, 4] and line.get_label() == "federated"
    assert sorted(tuple(dot.get_ydata()) for dot in dots) == sorted(map(tuple, values))
    assert {dot.get_marker() for dot in dots} == {"s"}


def test_levels_that_nearly_coincide_share_a_tick():
    _, ((ax,),) = panels()
    ax.plot([0.04, 0.0404, 0.5, 0.25], [1, 1, 1, 1])
    against_w1(ax, [0.5, 0.25, 0.0404, 0.04], [2, 4, 12, 24], "blocks per axis")
    above = ax.figure.axes[-1]
    assert [text.get_text() for text in above.get_xticklabels()] == ["12, 24", "4", "2"]
    assert above.get_xlim() == ax.get_xlim() and above.get_xlabel() == "blocks per axis"
