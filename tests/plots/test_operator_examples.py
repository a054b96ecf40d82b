"""Pictures of single functions: maps are |error|, and dots below the diagonal are functions of the federation."""

import numpy as np
import pytest

from fedlib.federated.stack import stack
from fedlib.models.networks import glorot_normal
from fedlib.notebook.pages import png
from fedlib.notebook.style import CLIENTS
from fedlib.papers.fedsciml.operators.problem import choose
from fedlib.plots import operator_examples as draw
from fedlib.problems import operator_examples as examples


@pytest.fixture
def errors():
    return {
        "federated": np.array([3.0, 1, 2]),
        "isolated 1": np.array([2.0, 4, 5]),
        "isolated 2": np.array([9.0, 8, 7]),
    }


def test_a_map_is_the_absolute_error_in_the_order_given(errors):
    truth = np.ones((11, 7))
    said = {"federated": truth - 0.05, "isolated 1": truth + 0.1, "isolated 2": truth}
    fig = draw.field_view(np.zeros(11), truth, said, errors, "Burgers, n = 5")
    maps = {ax.get_title(): ax.images[0].get_array() for ax in fig.axes if ax.images and "e = " in ax.get_title()}
    assert list(maps) == ["federated: e = 5 %", "client 1 alone: e = 10 %", "client 2 alone: e = 0 %"]
    np.testing.assert_allclose(maps["federated: e = 5 %"], np.full((7, 11), 0.05))
    assert len({ax.images[0].norm.vmax for ax in fig.axes if ax.images and "e = " in ax.get_title()}) == 1
    png(fig)
    four = draw.field_view(np.zeros(11), truth, said | {"centralised": truth}, errors, "")
    assert [ax.get_title() for ax in four.axes if ax.axison and "centralised" in ax.get_title()]


def test_all_functions_are_dots_of_their_client_and_the_example_a_star(errors):
    fig = draw.curve_view(np.arange(3), np.ones(3), np.ones(3), {"federated": np.full(3, 1.1)}, errors, "")
    right = fig.axes[2]
    dots = {line.get_color(): line for line in right.get_lines() if line.get_marker() == "o"}
    stars = {line.get_color(): line for line in right.get_lines() if line.get_marker() == "*"}
    for k in (0, 1):
        assert list(dots[CLIENTS[k]].get_xdata()) == list(errors[f"isolated {k + 1}"])
        assert list(dots[CLIENTS[k]].get_ydata()) == [3, 1, 2]
        assert (*stars[CLIENTS[k]].get_xdata(), *stars[CLIENTS[k]].get_ydata()) == ((2, 9)[k], 3)
    assert right.get_xlim() == right.get_ylim()
    assert "federated: 10 %" in [text.get_text() for text in fig.legends[0].get_texts()]


@pytest.mark.parametrize(("name", "panels"), [("antiderivative", 3), ("burgers_2", 6)])
def test_an_example_of_any_operator(name, panels, errors):
    problem = choose([name])[name]
    rows = dict(zip(errors, stack(problem.net(), [(0,), (1,), (2,)], glorot_normal), strict=True))
    c = examples.functions(0, 2)
    e = examples.errors(problem, c, rows)
    fig = draw.view(problem, c[:1], rows, e, name)
    assert len([ax for ax in fig.axes if ax.axison and ax.get_title()]) == panels
    text = [t.get_text() for t in fig.legends[0].get_texts()] if fig.legends else [ax.get_title() for ax in fig.axes]
    assert any(f"{e['isolated 1'][0]:.3g} %" in t for t in text), "the error shown is that of the example"
