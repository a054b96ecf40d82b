"""The pictures of notebook 07: what they draw is what the models say, at any size of the study."""

import numpy as np
import pytest
import torch
from torch.func import functional_call

from fedlib.federated.stack import as_dict, stack
from fedlib.models.networks import CartesianDeepONet, glorot_normal
from fedlib.numerics import solutions
from fedlib.numerics.spaces import chebyshev_draws, chebyshev_series
from fedlib.plots import operators as draw
from fedlib.runs.pages import png
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


def test_errors_are_drawn_for_any_number_of_operators_levels_seeds_and_clients():
    """One level and one seed, too; a panel has nothing that was not run, and one legend names everything once."""
    rng = stream(0, "test error view")
    full = {
        "levels": [2, 6, 10], "isolated": rng.uniform(1, 9, (2, 3, 3)), "federated": rng.uniform(1, 9, (2, 3)),
        "centralised": {2: [3.0, 5.0], 10: [1.0, 2.0]}, "paper": {5: 10.0},
    }  # fmt: skip
    one = {"levels": [5], "isolated": np.full((1, 1, 2), 7.0), "federated": np.full((1, 1), 3.0), "centralised": {}}
    for studies in (
        {"A": full},
        {"A": one},
        {"A": full, "B": one},
        dict.fromkeys("ABC", one),
        dict.fromkeys("ABCD", full),
    ):
        fig = draw.error_view(studies)
        assert [ax.get_title() for ax in fig.axes] == list(studies)
        labels = [text.get_text() for text in fig.legends[0].get_texts()]
        assert len(set(labels)) == len(labels) == (7 if full in studies.values() else 3)
        png(fig)
    lines = {line.get_label(): line for line in draw.error_view({"A": full}).axes[0].get_lines()}
    np.testing.assert_allclose(lines["federated"].get_ydata(), full["federated"].mean(0))
    np.testing.assert_allclose(lines["client 2 alone"].get_ydata(), full["isolated"].mean(0)[:, 1])
    assert list(lines["centralised, union"].get_ydata()) == [4, 1.5]
    assert list(lines["centralised, full space"].get_ydata()) == [1.5, 1.5]


def test_the_other_figures_of_one_level_and_one_seed():
    """What a small run has: one level, one E, no clients that start apart."""
    one = {"branch, matrix 1": np.array([[0.5]]), "trunk, matrix 2": np.array([[0.7]])}
    fig = draw.divergence_view({"A": ([10], one, ([], {})), "B": ([10], one, ([10], one))})
    assert [len(ax.get_lines()) for ax in fig.axes] == [2, 4]
    fig = draw.local_updates_view([5], {7: np.array([[3.0]])})
    assert [tick.get_text() for tick in fig.axes[1].get_xticklabels()] == ["7"]
    fig = draw.training_view({"A": {10: ([5], [3.0])}, "B": {2: ([5, 10], [3.0, 2.0]), 5: ([5, 10], [2.0, 1.0])}})
    assert [[text.get_text() for text in ax.texts] for ax in fig.axes] == [["n = 10"], ["n = 2", "n = 5"]]
    png(fig)


def test_the_field_view_names_every_model():
    truth = np.ones((11, 11))
    guesses = {"isolated 1": truth + 0.1, "federated": truth * 1.05, "centralised": truth}
    fig = draw.field_view(np.zeros(11), truth, guesses, "Burgers")
    titles = [ax.get_title() for ax in fig.axes if ax.axison and ax.get_title()]
    assert titles == [
        "input v(x)",
        "solution u(x, t)",
        "isolated 1\ne = 10 %",
        "federated\ne = 5 %",
        "centralised\ne = 0 %",
    ]
