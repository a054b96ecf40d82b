"""Pictures of pendulums are pure, show what they are given, and answer a slider within 200 ms."""

import numpy as np
import pytest
import torch

from fedlib.federated.stack import predict, stack
from fedlib.models.networks import DeepONet, glorot_uniform
from fedlib.numerics.solutions import pendulum
from fedlib.plots import pendulum as draw
from fedlib.problems.pendulum import half_steps
from fedlib.runs.pages import png

from ..conftest import assert_redraws_fast, every_move


@pytest.fixture
def trained():
    net = DeepONet((100, 50, 50), (1, 50, 50), domain=(0.0, 1.0))
    theta = stack(net, [(0,), (1,)], glorot_uniform)
    return net, {"federated": theta[0], "isolated": theta[1]}


def lines(ax):
    return {line.get_label(): line.get_xydata() for line in ax.get_lines()}


def test_pendulum_view_shows_truth_predictions_and_errors():
    t = np.linspace(0, 1, 5)
    fig = draw.pendulum_view(t, t, 2 * t, {"federated": 2 * t, "isolated": np.zeros(5)})
    shown = lines(fig.axes[1])
    np.testing.assert_array_equal(shown["true"][:, 1], 2 * t)
    assert "federated: e = 0.00 %" in shown
    assert "isolated: e = 100.00 %" in shown
    assert all(ax.get_xlabel() and ax.get_ylabel() for ax in fig.axes)


def test_draw_pendulum_is_a_pure_function(trained):
    first, again = (png(draw.draw_pendulum(*trained, seed=4)) for _ in range(2))
    assert first == again
    assert first != png(draw.draw_pendulum(*trained, seed=5))


def test_draw_pendulum_shows_the_linear_response(trained):
    """u = a t drives a small swing x1 = a (t - sin t), the closed form of x'' = -x + a t."""
    fig = draw.draw_pendulum(*trained, kind="t", amplitude=0.01)
    shown = lines(fig.axes[1])
    t = shown["true"][:, 0]
    np.testing.assert_allclose(shown["true"][:, 1], 0.01 * (t - np.sin(t)), atol=1e-9)
    net, models = trained
    expected = predict(net, models["federated"], torch.as_tensor(0.01 * t).float(), torch.as_tensor(t).float()[:, None])
    (drawn,) = (xy for label, xy in shown.items() if label.startswith("federated"))
    np.testing.assert_allclose(drawn[:, 1], expected, atol=1e-6)


def test_unknown_input_kind():
    with pytest.raises(ValueError, match="expected 'GRF' or one of t, sin"):
        draw.pendulum_input(100, "cos")


def test_a_move_of_a_slider_redraws_fast_enough_for_200_ms(trained):
    box = draw.pendulum_explorer(*trained)
    pictures, move = set(), every_move(box)

    def moved():
        move()
        pictures.add(box.children[-1].value)

    assert_redraws_fast(moved)
    assert len(pictures) == 3  # two lengths; amplitude and frequency do nothing for a random field


def test_controls_without_effect_are_disabled(trained):
    box = draw.pendulum_explorer(*trained)
    control = {c.description: c for c in box.children if hasattr(c, "disabled")}
    assert [name for name, c in control.items() if c.disabled] == ["amplitude", "frequency"]
    before = box.children[-1].value
    control["amplitude"].value = 2.0
    assert box.children[-1].value == before
    control["kind"].value = "sin(pi t)"
    assert [name for name, c in control.items() if c.disabled] == ["length scale", "seed"]
    control["amplitude"].value = 1.0
    assert box.children[-1].value != before


def test_the_alt_text_names_the_values(trained):
    box = draw.pendulum_explorer(*trained)
    assert "length scale 0.2" in box.children[-1].alt


def test_the_library_view_shows_true_angle_and_phase_portrait():
    net = DeepONet((31, 10, 10), (1, 10, 10), domain=(0.0, 1.0))
    row = stack(net, [(0,)], glorot_uniform)[0]
    fig = draw.draw_library(net, row, k=0.7, kind="sin(pi t)", amplitude=0.5)
    lines = {line.get_label(): line.get_xydata() for line in fig.axes[1].get_lines()}
    phase = {line.get_label(): line.get_xydata() for line in fig.axes[2].get_lines()}
    x = pendulum(0.5 * np.sin(np.pi * half_steps(30))[None], 0.7)[0, ::2]
    np.testing.assert_allclose(lines["truth"][:, 1], x[:, 0])
    np.testing.assert_allclose(phase["truth"], x)
    t, angle = lines["federated"].T
    velocity = phase["federated"][:, 1]
    jumps = np.abs(np.diff(angle) / np.diff(t) - (velocity[1:] + velocity[:-1]) / 2)
    assert np.median(jumps) < 1e-2  # the drawn velocity is the slope of the drawn angle, but for the kinks


@pytest.fixture
def library():
    net = DeepONet((101, 50, 50), (1, 50, 50), domain=(0.0, 1.0))
    return net, stack(net, [(0,)], glorot_uniform)[0]


def test_the_library_explorer_answers_to_the_stiffness_and_keeps_to_its_interval(library):
    box = draw.library_explorer(*library, stiffness=(2.0, 3.0))
    k = next(c for c in box.children if c.description == "stiffness k")
    assert (k.min, k.max) == (2.0, 3.0)
    before = box.children[-1].value
    k.value = 2.9
    assert box.children[-1].value != before
    assert box.children[-2].value == ""


def test_a_move_of_the_library_redraws_fast_enough_for_200_ms(library):
    assert_redraws_fast(every_move(draw.library_explorer(*library)))
