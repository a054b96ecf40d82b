"""Drawing functions are pure, show what they are given, and answer a slider within 200 ms."""

from itertools import cycle

import ipywidgets
import numpy as np
import pytest
import torch

from fedlib import figures, widgets
from fedlib.networks import DeepONet, glorot_uniform, predict, stack

from .conftest import assert_redraws_fast


@pytest.fixture
def pendulum():
    net = DeepONet((100, 50, 50), (1, 50, 50), domain=(0.0, 1.0))
    theta = stack(net, [(0,), (1,)], glorot_uniform)
    return net, {"federated": theta[0], "isolated": theta[1]}


def lines(ax):
    return {line.get_label(): line.get_xydata() for line in ax.get_lines()}


def test_pendulum_view_shows_truth_predictions_and_errors():
    t = np.linspace(0, 1, 5)
    fig = figures.pendulum_view(t, t, 2 * t, {"federated": 2 * t, "isolated": np.zeros(5)})
    shown = lines(fig.axes[1])
    np.testing.assert_array_equal(shown["true"][:, 1], 2 * t)
    assert "federated: e = 0.00 %" in shown
    assert "isolated: e = 100.00 %" in shown
    assert all(ax.get_xlabel() and ax.get_ylabel() for ax in fig.axes)


def test_band_is_mean_and_standard_deviation():
    _, ((ax,),) = figures.panels()
    figures.band(ax, [1, 2], np.array([[1.0, 2.0], [3.0, 2.0]]), "k", "x")
    np.testing.assert_array_equal(lines(ax)["x"][:, 1], [2, 2])
    (polygon,) = ax.collections
    assert polygon.get_paths()[0].vertices[:, 1].max() == 3


def test_draw_pendulum_is_a_pure_function(pendulum):
    first, again = (figures.png(widgets.draw_pendulum(*pendulum, seed=4)) for _ in range(2))
    assert first == again
    assert first != figures.png(widgets.draw_pendulum(*pendulum, seed=5))


def test_draw_pendulum_shows_the_linear_response(pendulum):
    """u = a t drives a small swing x1 = a (t - sin t), the closed form of x'' = -x + a t."""
    fig = widgets.draw_pendulum(*pendulum, kind="t", amplitude=0.01)
    shown = lines(fig.axes[1])
    t = shown["true"][:, 0]
    np.testing.assert_allclose(shown["true"][:, 1], 0.01 * (t - np.sin(t)), atol=1e-9)
    net, models = pendulum
    expected = predict(net, models["federated"], torch.as_tensor(0.01 * t).float(), torch.as_tensor(t).float()[:, None])
    (drawn,) = (xy for label, xy in shown.items() if label.startswith("federated"))
    np.testing.assert_allclose(drawn[:, 1], expected, atol=1e-6)


def test_unknown_input_kind():
    with pytest.raises(ValueError, match="expected 'GRF' or one of t, sin"):
        widgets.pendulum_input(100, "cos")


def test_a_move_of_a_slider_redraws_within_200_ms(pendulum):
    box = widgets.pendulum_explorer(*pendulum)
    picture = box.children[-1]
    slider = next(c for c in box.children if c.description == "length scale")
    values, pictures = cycle((0.4, 0.6, 0.8, 1.0)), {picture.value}

    def move():
        slider.value = next(values)
        pictures.add(picture.value)

    assert_redraws_fast(move)
    assert len(pictures) == 5


def test_refused_input_is_said_and_the_last_picture_stays():
    def draw(x):
        if x > 1:
            raise ValueError("x = 2 is <too> large")
        return figures.panels()[0]

    control = ipywidgets.IntSlider(0, max=3)
    box = widgets.explore(draw, x=control)
    before = box.children[-1].value
    control.value = 2
    assert box.children[-2].value == "<b>x = 2 is &lt;too&gt; large</b>"
    assert box.children[-1].value == before
    control.value = 1
    assert box.children[-2].value == ""


def test_fit_view_shows_owners_and_errors():
    x, z = np.linspace(-1, 1, 8), np.linspace(-1, 1, 5)
    own = [np.arange(4), np.arange(4, 8)]
    fig = figures.fit_view(x, z, z, own, z, np.stack([0 * z, 2 * z]))
    strip, curves = fig.axes
    assert [line.get_xdata().tolist() for line in strip.get_lines()] == [x[s].tolist() for s in own]
    labels = set(lines(curves))
    assert {"federated: e = 0 %", "client 1 alone: e = 1e+02 %", "client 2 alone: e = 1e+02 %"} <= labels
    assert "1.143" in strip.get_title()  # two shifted halves: 4 spacings of 2 / 7


def test_untrained_choice_is_refused_with_what_there_is():
    x = np.linspace(-1, 1, 8)
    fits = {(2, 1): ([np.arange(4), np.arange(4, 8)], x, np.stack([x, x]))}
    with pytest.raises(ValueError, match="3 clients with 1 pieces each were not trained here; trained: -"):
        widgets.draw_fits(x, x, x, fits, 3, 1)


@pytest.mark.parametrize("method", ["x", "xy"])
def test_partition_view_gives_every_point_one_owner(method):
    (ax,) = widgets.draw_partition(method, 3, 4).axes
    shown = np.concatenate([line.get_xydata() for line in ax.get_lines()])
    assert len(ax.get_lines()) == 3
    assert len(np.unique(shown, axis=0)) == len(shown) == 400


def test_function_widgets_answer_a_slider_within_200_ms():
    x, z = np.linspace(-1, 1, 200), np.linspace(-1, 1, 1000)
    own = [np.arange(k, 200, 5) for k in range(5)]
    fits = {(5, 40): (own, z, np.stack([z] * 5))}
    for draw in (lambda: widgets.draw_fits(x, z, z, fits, 5, 40), lambda: widgets.draw_partition("xy", 5, 8)):
        assert_redraws_fast(lambda draw=draw: figures.png(draw()))
