"""Pictures of solutions are pure functions of their arrays, and their explorer answers in time."""

import numpy as np
import pytest

from fedlib.federated.stack import draw_parameters
from fedlib.models.networks import glorot_uniform
from fedlib.plots.forward import alt, explorer, first_look, picture, solution_view, solved
from fedlib.problems import forward
from fedlib.streams import torch_stream

from ..conftest import assert_redraws_fast, every_move

QUICK = {
    "poisson": (forward.poisson(), (2, 8, 32)),
    "helmholtz": (forward.helmholtz(2 * np.pi, 8, 16), (2, 8)),
    "allen_cahn_2": (forward.allen_cahn(2, 12, 10, 12, 12, 0.01, 1.0), (2, 8)),
    "allen_cahn_3": (forward.allen_cahn(3, 12, 10, 12, 12, 0.01, 1.0), (3, 15)),
    "beam": (forward.euler_beam(), (2, 10)),
}


def untrained(name):
    """Models that nobody trained, all different."""
    problem, levels = QUICK[name]
    labels = [f"isolated client {k + 1}" for k in range(problem.clients)] + ["federated", "centralised"]

    def row(level, label):
        return draw_parameters(problem.net(), glorot_uniform, torch_stream(0, label, level))

    return solved(problem, {n: {label: row(n, label) for label in labels} for n in levels})


def arrays(of, level):
    return of.problem.coordinates, of.clouds[level], of.problem.test, of.truth, of.models[level], of.limits


def texts(fig):
    legends = [t for ax in fig.axes if ax.get_legend() for t in ax.get_legend().texts]
    return [t.get_text() for t in (*fig.texts, *legends, *(t for ax in fig.axes for t in (*ax.texts, ax.title)))]


@pytest.mark.parametrize("name", ["poisson", "helmholtz", "allen_cahn_3"])
def test_the_view_names_every_model_and_changes_nothing(name):
    of = untrained(name)
    level = min(of.models)
    given = arrays(of, level)
    before = [np.copy(a) for a in (given[2], given[3], *given[4].values())]
    text = texts(solution_view(*given, title="four"))
    assert "four" in text
    for label, u in of.models[level].items():
        e = 100 * np.linalg.norm(u - of.truth) / np.linalg.norm(of.truth)
        assert any(t.startswith(label) and t.endswith(f"e = {e:.3g} %") for t in text)
    for a, b in zip(before, (given[2], given[3], *given[4].values()), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["poisson", "helmholtz"])
def test_levels_of_a_problem_share_their_scale(name):
    """A colour, and a height, means the same error at every level."""
    of = untrained(name)
    gaps = [np.abs(u - of.truth) for models in of.models.values() for u in models.values()]
    assert of.limits[1] == max(gap.max() for gap in gaps)
    scales = {tuple(ax.get_ylim() for ax in picture(of, n).axes) for n in of.models}
    assert len(scales) == 1


@pytest.mark.parametrize("name", ["poisson", "helmholtz", "allen_cahn_3"])
def test_the_explorer_redraws_fast(name):
    limit = 0.1 if name == "allen_cahn_3" else 0.07  # seven panels, five of them maps
    assert_redraws_fast(every_move(explorer({name: untrained(name)})), limit)


def test_the_explorer_keeps_equation_and_level_together():
    studies = {name: untrained(name) for name in ("poisson", "helmholtz", "allen_cahn_3")}
    box = explorer(studies)
    equation, n, message, shown = box.children
    for name in ("helmholtz", "allen_cahn_3", "poisson"):
        equation.value = name
        assert list(n.options) == list(studies[name].models)
        assert n.description == ("blocks per axis" if name == "helmholtz" else "subdomains n")
        assert message.value == ""
        assert shown.value == explorer({name: studies[name]}).children[-1].value, "the picture before left its layout"


def test_the_first_look_names_both_problems():
    text = texts(first_look(QUICK["poisson"][0], QUICK["helmholtz"][0]))
    assert any("Poisson" in t for t in text) and any("Helmholtz" in t for t in text)
    assert "3 subdomains" in alt(untrained("allen_cahn_3"), 3)


def test_three_coordinates_have_no_picture():
    of = untrained("poisson")
    with pytest.raises(ValueError, match="3 coordinates 'xyt'"):
        solution_view("xyt", *arrays(of, 2)[1:])
