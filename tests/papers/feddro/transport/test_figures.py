"""Pictures of transport show the clouds, the way between them, and how much too long it is."""

import numpy as np
import pytest

from fedlib.papers.feddro.measures import interpolant
from fedlib.papers.feddro.transport import figures, problem
from fedlib.streams import stream


@pytest.fixture(scope="module")
def walks():
    return problem.walks(25, 4)


def test_the_plane_shows_the_geodesic_and_the_barycenter():
    X, Y, *_ = problem.plane(30, stream(0, "clouds"))
    left, right = figures.plane(X, Y, [X.x, Y.x], 3 * Y.x).axes
    assert [line.get_label() for line in left.get_lines()] == [f"t = {t}" for t in ("0", "0.25", "0.5", "0.75", "1")]
    np.testing.assert_allclose(left.get_lines()[1].get_xydata(), interpolant(X, Y, 0.25).x)
    for line, points in zip(right.get_lines(), (X.x, Y.x, 3 * Y.x), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), points)
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["client 1", "client 2", "barycenter Q"]


def test_the_first_picture_shows_two_rounds_and_all_gaps(walks):
    first, third, right = figures.answer(walks, problem.STARTS[0]).axes
    for ax, r in ((first, 0), (third, 2)):
        here = walks.sel(start=problem.STARTS[0]).isel(round=r)
        drawn = [line.get_xydata() for line in ax.get_lines()]
        for k in (0, 1):
            np.testing.assert_array_equal(drawn[2 * k], walks.cloud[k])
            np.testing.assert_array_equal(drawn[2 * k + 1], here.eta[k])
        np.testing.assert_array_equal(drawn[-1], here.xi)
    np.testing.assert_array_equal(right.get_lines()[0].get_ydata(), walks.gap.sel(start=problem.STARTS[0]))
    assert right.get_yscale() == "log"


def test_gaps_have_a_panel_for_each_place():
    table = problem.bounds(20, 4, 2)
    axes = figures.gaps(table).axes
    assert [ax.get_title() for ax in axes] == [*problem.PANELS]
    for ax, cases in zip(axes, problem.PANELS.values(), strict=True):
        assert ax.get_yscale() == "log"
        for line, case in zip(ax.get_lines(), cases, strict=True):
            gap = table.gap.sel(case=case).dropna("round")
            np.testing.assert_array_equal(line.get_ydata(), gap.where(gap > figures.LEAST))


def test_tables_have_a_row_for_each_variant_and_number_of_rounds():
    table = problem.barycenters([0], 20, 3)
    rows = figures.barycenter_rows(table)
    assert [row[0] for row in rows] == [*problem.VARIANTS]
    assert all(len(row) == len(figures.BARYCENTER_HEADER) for row in rows)
    assert rows[0][1] == f"{100 * (table.ratio[0, 0].item() - 1):.2f}"
    assert figures.chain_rows({2: (3.0, 2.0, 5.0, 4.0)}) == [["2", "3.000", "2.000", "5.000", "4.000"]]
