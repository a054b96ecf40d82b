"""Pictures of pendulums are pure, show what they are given, and answer a slider within 200 ms."""

import numpy as np
import pytest
import torch
import xarray

from fedlib.federated.stack import predict, stack
from fedlib.models.networks import DeepONet, glorot_uniform
from fedlib.notebook.pages import png
from fedlib.papers.fed_deeponet.physics import random_tests, times
from fedlib.plots import pendulum as draw

from ..conftest import assert_redraws_fast, every_move


@pytest.fixture
def trained():
    net = DeepONet((100, 50, 50), (1, 50, 50), domain=(0.0, 1.0))
    theta = stack(net, [(0,), (1,)], glorot_uniform)
    return net, {"federated": theta[0], "isolated": theta[1]}


def lines(ax):
    return {line.get_label(): line.get_xydata() for line in ax.get_lines()}


def test_data_show_inputs_trajectories_and_targets():
    tests = random_tests(7, 12, 0.3, 0)
    left, middle, right = draw.draw_data(tests, [np.array([0.1]), np.array([0.2, 0.3])]).axes
    for ax, values in ((left, tests["u"]), (middle, tests["x1"])):
        assert len(ax.get_lines()) == 5
        np.testing.assert_array_equal(ax.get_lines()[4].get_ydata(), values[4])
    assert right.get_lines()[1].get_xdata().tolist() == [0.2, 0.3]
    assert right.get_title() == "targets owned by 2 clients"


def test_training_shows_loss_and_error_of_every_curve():
    values = xarray.DataArray([[4.0, 2.0], [2.0, 1.0]], {"seed": [0, 1], "round": [1, 2]}, ("seed", "round"))
    fig = draw.draw_training({"SGD, 1": (values, 9 * values), "SGD, 2": (2 * values, values), "Adam": (values, values)})
    drawn = [{line.get_label(): line.get_xydata().tolist() for line in ax.get_lines()} for ax in fig.axes]
    assert drawn[0] == {"SGD, 1": [[1, 3], [2, 1.5]], "SGD, 2": [[1, 6], [2, 3]], "Adam": [[1, 3], [2, 1.5]]}
    assert drawn[1]["SGD, 1"] == [[1, 27], [2, 13.5]]
    assert fig.axes[0].get_lines()[-1].get_color() == draw.COLORS["federated"]
    assert [text.get_text() for text in fig.legends[0].get_texts()] == list(drawn[0])


def test_tables_show_printed_values_once():
    ours = {"epochs": np.array([[1.0, 2.0], [3.0, 2.0]]), "steps": np.array([[4.0, 4.0], [4.0, 4.0]])}
    tables = {
        "Table 1": draw.Table("C", [10, 20], [1.5, np.nan], ours, {"centralised": np.array([1.0, 2.0])}),
        "Table 2": draw.Table("a", [1], [2], {"steps": [[3]]}),
    }
    fig = draw.draw_tables(tables)
    left, right = fig.axes
    names = [text.get_text() for text in fig.legends[0].get_texts()]
    assert sorted(names) == ["centralised", "epochs", "paper", "steps"]
    assert [line.get_label() for line in right.get_lines() if line.get_marker() == "s"] == ["paper"]
    (level,) = (line for line in left.get_lines() if line.get_label() == "centralised")
    assert set(level.get_ydata()) == {1.5}
    points = [line.get_xydata().tolist() for line in left.get_lines() if line.get_marker() == "o"]
    assert points == [[[10, 2], [20, 2]], [[10, 4], [20, 4]]]
    assert (left.get_xlabel(), left.get_title(), left.get_ylim()[0]) == ("C", "Table 1", 0)


def test_predictions_are_the_models(trained):
    net, models = trained
    tests = random_tests(2, 100, 0.3, 0)
    rows = {name: models["federated"] * factor for name, factor in (("federated", 1), ("centralised", 0.9))}
    fig = draw.draw_predictions(net, rows, tests["u"], tests["x1"], ["a", "b"])
    for name, row in rows.items():
        expected = predict(net, row, tests["u"][1].float(), times(100))
        np.testing.assert_allclose(lines(fig.axes[1])[name][:, 1], expected, atol=1e-6)
    np.testing.assert_array_equal(lines(fig.axes[1])["true"][:, 1], tests["x1"][1])
    assert [ax.get_title() for ax in fig.axes] == ["a", "b"]


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
