"""Pictures of functions and operators: what they draw is what the models and the solvers say."""

import numpy as np
import pytest
import torch
from torch.func import functional_call

from fedlib.federated.stack import as_dict, stack
from fedlib.models.networks import CartesianDeepONet, glorot_normal
from fedlib.notebook.style import CLIENTS
from fedlib.numerics import solutions, spaces
from fedlib.numerics.spaces import chebyshev_draws, chebyshev_series
from fedlib.plots import operator_fields as draw
from fedlib.streams import stream

from ..conftest import assert_redraws_fast, every_move


@pytest.fixture
def models():
    """A net of the antiderivative and three models of it, at the levels of the quick profile."""
    net = CartesianDeepONet((100, 40, 40), (1, 40, 40))
    theta = stack(net, [(0,), (1,), (2,)], glorot_normal)
    rows = dict(zip(("federated", "isolated 1", "isolated 2"), theta, strict=True))
    return net, {n: rows for n in (2, 5, 6, 10)}


def test_the_widget_draws_what_the_models_say(models):
    net, rows = models
    c = chebyshev_draws("forward", 10, 1, stream(0, "test operator learning", 10))[0]
    fig = draw.draw_antiderivative(net, rows[6], 6, c)
    lines = {line.get_label(): line.get_ydata() for line in fig.axes[2].get_lines()}
    x = np.linspace(0, 1, 100)
    np.testing.assert_allclose(lines["solver"], solutions.antiderivative(c[None], x)[0])
    inputs = torch.as_tensor(chebyshev_series(c[None], x)).float(), torch.as_tensor(x[:, None]).float()
    errors = [text.get_text() for text in fig.axes[2].texts]
    for (label, row), error in zip(rows[6].items(), errors, strict=True):
        guess = functional_call(net, as_dict(net, row), inputs)[0].detach()
        np.testing.assert_allclose(lines[label], guess, atol=1e-6)
        e = 100 * np.linalg.norm(guess - lines["solver"]) / np.linalg.norm(lines["solver"])
        assert error == f"{label.replace('isolated', 'client')}: e = {e:.3g} %"
    assert [line.get_xdata().tolist() for line in fig.axes[1].get_lines()] == [[0, 1, 2, 3, 4, 5], [4, 5, 6, 7, 8, 9]]
    with pytest.raises(ValueError, match="move a slider"):
        draw.draw_antiderivative(net, rows[6], 6, 0 * c)


def test_the_explorer_answers_every_move(models):
    box = draw.antiderivative_explorer(*models, c=[0.5, -0.4, 0.3, 0, 0, 0.6, 0, 0, -0.3, 0], n=6)
    level, *sliders, message, picture = box.children
    assert [slider.description for slider in sliders] == [f"T{j}" for j in range(10)]
    before = picture.value
    level.value = 5
    assert picture.value != before
    before = picture.value
    sliders[9].value = 0.5
    assert picture.value != before
    for slider in sliders:
        slider.value = 0
    assert "move a slider" in message.value
    assert_redraws_fast(every_move(box))


def test_an_axis_keeps_its_limits_while_a_slider_moves():
    assert draw.limit(np.array([-0.3, 0.2])) == draw.limit(np.array([0.22])) == (-0.35, 0.35)
    assert draw.limit(np.array([37.0])) == (-37, 37)


def images(fig):
    return {ax.get_title(): ax.images[0].get_array() for ax in fig.axes if ax.images}


def test_operators_and_solutions_are_those_of_the_solvers():
    c, x = chebyshev_draws("forward", 10, 1, stream(0, "test operators")), np.linspace(0, 1, 101)
    v = chebyshev_series(c, x)
    fig = draw.operators_view(c)
    np.testing.assert_array_equal(fig.axes[0].get_lines()[0].get_ydata(), v[0])
    np.testing.assert_array_equal(fig.axes[1].get_lines()[0].get_ydata(), solutions.antiderivative(c, x)[0])
    shown = images(fig)
    np.testing.assert_array_equal(shown["Burgers u(x, t)"], solutions.burgers(v[:, :-1])[0].T)
    reacted = solutions.diffusion_reaction(lambda z: chebyshev_series(c, z), x)[0]
    np.testing.assert_array_equal(shown["diffusion-reaction u(x, t)"], reacted.T)
    waves = stream(0, "test waves").uniform(-1, 1, (1, 2, 9))
    shown = images(draw.solutions_view(c, waves, 0.2))
    np.testing.assert_array_equal(shown["diffusion-reaction"], reacted.T)
    np.testing.assert_array_equal(shown["Burgers, wrapped input"], solutions.burgers(v[:, :-1], 0.2)[0].T)
    clean = spaces.fourier_series(waves, x, (0, np.pi / 2))[:, :-1]
    np.testing.assert_array_equal(shown["Burgers, Fourier input"], solutions.burgers(clean, 0.2)[0].T)


def test_knowledge_has_a_panel_per_client_and_one_of_counts():
    inputs = {kind: np.full((3, 5), k) for k, kind in enumerate(("forward", "inverse"))}
    fig = draw.knowledge_view(np.linspace(0, 1, 5), inputs, 2, [1, 2, 2], [0, 0, 1])
    for k, ax in enumerate(fig.axes[:2]):
        assert {(line.get_color(), *line.get_ydata()) for line in ax.get_lines()} == {(CLIENTS[k], *[k] * 5)}
    somebody, both = fig.axes[2].get_lines()
    assert (list(somebody.get_ydata()), list(both.get_ydata())) == ([1, 2, 2], [0, 0, 1])
