"""Pictures of all levels draw the arrays that they are given, the finest partition left, with a band over seeds."""

import numpy as np
import pytest
import xarray

from fedlib.notebook.style import COLORS
from fedlib.plots.forward_levels import data_view, divergence_view, errors_view, gap_view, grid_of, training_view
from fedlib.problems.forward_study import KINDS, heterogeneity
from fedlib.streams import stream

from .test_forward import QUICK

W1 = {"n": [2, 8, 32], "w1": ("n", [0.9, 0.1, 0.2])}  # in no order, as Allen-Cahn's may be
ROUNDS = list(range(1, 13))


@pytest.fixture
def errors():
    values = stream(0, "errors").uniform(1, 2, (12, 3, 3, 2))
    coords = W1 | {"round": ROUNDS, "kind": sorted(KINDS), "seed": [0, 1]}
    return xarray.DataArray(values, coords, ["round", "kind", "n", "seed"], "Poisson", {"level": "subdomains n"})


def lines(ax, color):
    return [line for line in ax.lines if line.get_color() == color]


def test_points_and_distances():
    problems = {name: part[0] for name, part in QUICK.items()}
    w1 = {name: {n: heterogeneity(problem, n) for n in levels} for name, (problem, levels) in QUICK.items()}
    fig = data_view(problems, w1)
    assert len(fig.axes) == 2 * len(QUICK)
    for lower, name in zip(fig.axes[len(QUICK) :], QUICK, strict=True):
        np.testing.assert_array_equal(lower.lines[0].get_xdata(), QUICK[name][1])
        np.testing.assert_array_equal(lower.lines[0].get_ydata(), list(w1[name].values()))
    assert fig.axes[0].get_title() == "Poisson\nn = 2"
    assert len(data_view({"beam": problems["beam"]}, {"beam": {4: 0.1}}).axes) == 2


def test_errors_stand_over_the_distance(errors):
    fig = errors_view({"poisson": errors})
    ax, above = fig.axes
    assert ax.get_title() == "Poisson"
    for kind in KINDS:
        line, *dots = lines(ax, COLORS[kind])
        last = errors.sel(kind=kind, n=[8, 32, 2]).isel(round=-1)
        np.testing.assert_array_equal(line.get_xdata(), [0.1, 0.2, 0.9])
        np.testing.assert_allclose(line.get_ydata(), last.median("seed"), rtol=1e-12)
        np.testing.assert_array_equal([dot.get_ydata() for dot in dots], last.transpose("seed", "n"))
    assert above.get_xlabel() == "subdomains n"
    ticks = dict(zip(above.get_xticks(), [text.get_text() for text in above.get_xticklabels()], strict=True))
    assert ticks == {0.1: "8", 0.2: "32", 0.9: "2"}


def test_training_shows_the_coarsest_and_the_finest_partition(errors):
    (ax,) = training_view({"poisson": errors}).axes
    for kind in KINDS:
        dashed, solid = lines(ax, COLORS[kind])
        assert (dashed.get_linestyle(), solid.get_linestyle()) == ("--", "-")
        for line, n in ((dashed, 2), (solid, 32)):
            np.testing.assert_array_equal(line.get_xdata(), ROUNDS)
            np.testing.assert_allclose(line.get_ydata(), errors.sel(kind=kind, n=n).mean("seed"), rtol=1e-12)


def test_every_matrix_has_its_line():
    values = stream(0, "divergence").uniform(1, 2, (2, 3, 4))
    given = xarray.DataArray(
        values, W1 | {"seed": [0, 1], "matrix": [1, 2, 3, 4]}, ["seed", "n", "matrix"], "beam", {"level": "n"}
    )
    fig = divergence_view({"beam": given})
    assert [text.get_text() for text in fig.legends[0].texts] == [f"matrix {i}" for i in (1, 2, 3, 4)]
    for line, matrix in zip(fig.axes[0].lines, values.mean(0).T, strict=True):
        np.testing.assert_allclose(line.get_ydata(), matrix[[1, 2, 0]], rtol=1e-12)


def test_panels_in_rows_of_three():
    fig, axes = grid_of(QUICK)
    assert list(axes) == list(QUICK) and len(fig.axes) == len(QUICK)


def test_a_rule_has_a_colour_and_an_E_a_shape():
    found = {
        f"{rule}, E = {E}": {"rule": rule, "E": E, "error_percent": [3.0, 1.0, 2.0], "megabytes": 10.0 * E}
        for rule in ("a", "b")
        for E in (5, 1)
    }
    (ax,) = gap_view(found, np.array([0.1, 0.2, 0.4])).axes
    named = {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}
    assert [*named] == [*found, "centralised"]
    assert named["a, E = 5"].get_ydata() == 2 and named["centralised"].get_ydata()[0] == 0.2
    assert named["a, E = 5"].get_marker() == named["b, E = 5"].get_marker() != named["a, E = 1"].get_marker()
    assert named["a, E = 5"].get_color().tolist() == named["a, E = 1"].get_color().tolist()
    assert named["a, E = 1"].get_xdata()[0] < named["a, E = 5"].get_xdata()[0]
