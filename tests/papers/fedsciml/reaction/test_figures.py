"""What pictures and tables of notebook 06b compute."""

import numpy as np

from fedlib.papers.fedsciml.reaction import figures


def test_the_network_is_shown_without_the_factor_that_vanishes(results):
    squares, answers = results.squares["4 inner"], results.answers["4 inner"].isel(level=0)
    answers = answers.sel(model="centralised", field="u")
    left, right = figures.residual_figure(squares, answers).axes
    np.testing.assert_allclose(np.sum([line.get_ydata() for line in left.get_lines()], 1), 100)
    for line, u in zip(right.get_lines(), (answers.truth, *answers), strict=True):
        x = line.get_xdata()
        np.testing.assert_allclose(line.get_ydata() * np.tanh(x) * np.tanh(1 - x), u.sel(x=x), atol=1e-6)
