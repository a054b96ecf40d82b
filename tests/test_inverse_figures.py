"""Pictures of inverse problems show the numbers that they are given."""

import numpy as np
import pytest

from fedlib.figures import COLORS, panels
from fedlib.inverse_figures import coefficient_curves, observed, reaction_view, wake_view
from fedlib.pages import png

from .conftest import assert_redraws_fast


def wake_case(V=4):
    rounds = 10 * np.arange(1, V + 1)
    C = np.stack([np.linspace(0, 1, V), np.linspace(0, 0.01, V)], 1)
    truth = np.sin(np.arange(12.0)).reshape(3, 4)
    return rounds, C, truth * np.linspace(0, 1, V)[:, None, None], truth, (1.0, 0.01)


def test_the_wake_view_shows_one_moment():
    rounds, C, p, truth, values = wake_case()
    fig = wake_view(rounds, C, p, truth, values, 2, "federated")
    first, _, above, below = fig.axes[:4]
    assert first.get_lines()[2].get_xdata().tolist() == [10, 20, 30]
    assert first.get_lines()[3].get_ydata() == pytest.approx(2 / 3)
    np.testing.assert_array_equal(above.images[0].get_array(), truth)
    np.testing.assert_array_equal(below.images[0].get_array(), p[2])
    assert "round 30: e = 33.3 %" in below.get_title()
    with pytest.raises(ValueError, match="index of the 4 recorded rounds"):
        wake_view(rounds, C, p, truth, values, 4)


def test_the_wake_view_redraws_quickly():
    case = wake_case(200)
    assert_redraws_fast(lambda: png(wake_view(*case, 100)), 0.3)


def test_coefficient_curves_have_a_mean_and_the_truth():
    rounds, C, *_ = wake_case()
    _, axes = panels(1, 2)
    styles = {"federated": {"color": COLORS["federated"]}}
    coefficient_curves(axes[0], rounds, {"federated": np.stack([C, 3 * C])}, (1.0, 0.01), styles)
    np.testing.assert_allclose(axes[0, 1].get_lines()[0].get_ydata(), 2 * C[:, 1])
    assert axes[0, 0].get_lines()[1].get_ydata()[0] == 1
    observed(axes[0, 0], np.ones((4, 3)), [np.arange(2), np.arange(2, 4)], 2)


def test_the_reaction_view_names_errors():
    x = np.linspace(0, 1, 11)
    truth = {"u": np.sin(np.pi * x), "k": 1 + x}
    models = {"isolated client 1": {"u": 0 * x, "k": 2 * truth["k"]}, "federated": truth}
    fig = reaction_view(x, truth, models, [x[:5], x[5:]], "n = 2")
    labels = [[line.get_label() for line in ax.get_lines()] for ax in fig.axes]
    assert "isolated client 1: e = 100 %" in labels[0] and "federated: e = 0 %" in labels[1]
    assert png(fig)
