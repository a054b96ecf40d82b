"""Pictures of solutions are pure functions of their arrays."""

import numpy as np
import pytest

from fedlib import pdes
from fedlib.pages import png
from fedlib.pinn_figures import solution_view

from .conftest import assert_redraws_fast


def arrays(problem, level):
    x, own = problem.points(level)
    truth = np.sin(3 * problem.test).prod(1)
    models = {"isolated client 1": truth + 0.1, "isolated client 2": truth * 1.1, "federated": truth + 0.01}
    return problem.coordinates, [x[s] for s in own], problem.test, truth, models | {"centralised": truth}


@pytest.mark.parametrize("problem", [pdes.poisson(), pdes.helmholtz()], ids=lambda p: p.name)
def test_the_view_names_every_model_and_redraws_fast(problem):
    given = arrays(problem, 4)
    before = [np.copy(a) for a in (given[2], given[3], *given[4].values())]
    fig = solution_view(*given, title="four")
    text = [t.get_text() for ax in fig.axes for t in (ax.title, *(ax.get_legend().texts if ax.get_legend() else ()))]
    assert all(any(t.startswith(label) for t in text) for label in given[4])
    assert any("federated: e = " in t for t in text)
    assert_redraws_fast(lambda: png(solution_view(*given)), 0.3)  # two dimensions, five maps
    for a, b in zip(before, (given[2], given[3], *given[4].values()), strict=True):
        np.testing.assert_array_equal(a, b)


def test_three_coordinates_have_no_picture():
    problem = pdes.poisson()
    with pytest.raises(ValueError, match="3 coordinates 'xyt'"):
        solution_view("xyt", *arrays(problem, 2)[1:])
