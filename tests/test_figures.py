"""Drawing functions are pure, show what they are given, and answer a slider within 200 ms."""

import asyncio

import ipywidgets
import numpy as np
import pytest
import torch

from fedlib.federated.stack import predict, stack
from fedlib.models.networks import DeepONet, glorot_uniform
from fedlib.plots import pendulum as draw_pendulum
from fedlib.plots import style, widgets
from fedlib.runs.pages import png

from .conftest import assert_redraws_fast, every_move


@pytest.fixture
def pendulum():
    net = DeepONet((100, 50, 50), (1, 50, 50), domain=(0.0, 1.0))
    theta = stack(net, [(0,), (1,)], glorot_uniform)
    return net, {"federated": theta[0], "isolated": theta[1]}


def lines(ax):
    return {line.get_label(): line.get_xydata() for line in ax.get_lines()}


def test_pendulum_view_shows_truth_predictions_and_errors():
    t = np.linspace(0, 1, 5)
    fig = draw_pendulum.pendulum_view(t, t, 2 * t, {"federated": 2 * t, "isolated": np.zeros(5)})
    shown = lines(fig.axes[1])
    np.testing.assert_array_equal(shown["true"][:, 1], 2 * t)
    assert "federated: e = 0.00 %" in shown
    assert "isolated: e = 100.00 %" in shown
    assert all(ax.get_xlabel() and ax.get_ylabel() for ax in fig.axes)


def test_band_is_mean_and_standard_deviation():
    _, ((ax,),) = style.panels()
    style.band(ax, [1, 2], np.array([[1.0, 2.0], [3.0, 2.0]]), "k", "x")
    np.testing.assert_array_equal(lines(ax)["x"][:, 1], [2, 2])
    (polygon,) = ax.collections
    assert polygon.get_paths()[0].vertices[:, 1].max() == 2 + 2**0.5


def test_draw_pendulum_is_a_pure_function(pendulum):
    first, again = (png(draw_pendulum.draw_pendulum(*pendulum, seed=4)) for _ in range(2))
    assert first == again
    assert first != png(draw_pendulum.draw_pendulum(*pendulum, seed=5))


def test_draw_pendulum_shows_the_linear_response(pendulum):
    """u = a t drives a small swing x1 = a (t - sin t), the closed form of x'' = -x + a t."""
    fig = draw_pendulum.draw_pendulum(*pendulum, kind="t", amplitude=0.01)
    shown = lines(fig.axes[1])
    t = shown["true"][:, 0]
    np.testing.assert_allclose(shown["true"][:, 1], 0.01 * (t - np.sin(t)), atol=1e-9)
    net, models = pendulum
    expected = predict(net, models["federated"], torch.as_tensor(0.01 * t).float(), torch.as_tensor(t).float()[:, None])
    (drawn,) = (xy for label, xy in shown.items() if label.startswith("federated"))
    np.testing.assert_allclose(drawn[:, 1], expected, atol=1e-6)


def test_unknown_input_kind():
    with pytest.raises(ValueError, match="expected 'GRF' or one of t, sin"):
        draw_pendulum.pendulum_input(100, "cos")


def test_a_move_of_a_slider_redraws_fast_enough_for_200_ms(pendulum):
    box = draw_pendulum.pendulum_explorer(*pendulum)
    pictures, move = set(), every_move(box)

    def moved():
        move()
        pictures.add(box.children[-1].value)

    assert_redraws_fast(moved)
    assert len(pictures) == 3  # two lengths; amplitude and frequency do nothing for a random field


def test_controls_without_effect_are_disabled(pendulum):
    box = draw_pendulum.pendulum_explorer(*pendulum)
    control = {c.description: c for c in box.children if hasattr(c, "disabled")}
    assert [name for name, c in control.items() if c.disabled] == ["amplitude", "frequency"]
    before = box.children[-1].value
    control["amplitude"].value = 2.0
    assert box.children[-1].value == before
    control["kind"].value = "sin(pi t)"
    assert [name for name, c in control.items() if c.disabled] == ["length scale", "seed"]
    control["amplitude"].value = 1.0
    assert box.children[-1].value != before


def test_the_alt_text_names_the_values(pendulum):
    box = draw_pendulum.pendulum_explorer(*pendulum)
    assert "length scale 0.2" in box.children[-1].alt


def test_overtaken_moves_are_dropped():
    """In a kernel an update waits for the moves that have already arrived."""
    seen, state = [], {"x": 0}
    request = widgets.newest_only(lambda: seen.append(state["x"]))

    async def drag():
        for state["x"] in range(5):
            request()
        await asyncio.sleep(0.1)
        state["x"] = 7
        request()
        await asyncio.sleep(0.1)

    asyncio.run(drag())
    assert seen == [4, 7]


def test_refused_input_is_said_and_the_last_picture_stays():
    def draw(x):
        if x > 1:
            raise ValueError("x = 2 is <too> large")
        return style.panels()[0]

    control = ipywidgets.IntSlider(0, max=3)
    box = widgets.explore(draw, "an empty panel", x=control)
    before = box.children[-1].value
    control.value = 2
    assert box.children[-2].value == "<b>x = 2 is &lt;too&gt; large</b>"
    assert box.children[-1].value == before
    control.value = 1
    assert box.children[-2].value == ""
