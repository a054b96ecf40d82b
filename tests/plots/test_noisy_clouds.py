"""Clouds, slices and residuals show what they are given, in the paper's arrangement."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from fedlib.plots import noisy_clouds
from fedlib.problems.fedstnn import surface, surface_grid
from fedlib.streams import stream

POINTS = surface_grid()
F = surface(*POINTS.T)
Z, PREDICTED = (F + 0.1 * stream(0, name).standard_normal(len(F)) for name in "zp")


def lines(ax):
    return {line.get_label(): line for line in ax.lines}


def test_clouds_show_observations_and_one_prediction_at_each_point():
    x = np.linspace(0, 2 * np.pi, 500)
    y, models = np.sin(x) + 0.1, {"110": np.sin(x), "alone": np.cos(x)}
    fig = noisy_clouds.clouds(x, y, models, {"alone": (1, 2)})
    assert [ax.get_title() for ax in fig.axes] == list(models)
    for ax, values in zip(fig.axes, models.values(), strict=True):
        shown = lines(ax)
        (dots,) = ax.collections
        color = [to_hex(rgba).upper() for rgba in dots.get_facecolors()]
        for label, of in (("observations", y), ("one prediction each", values)):
            drawn = dots.get_offsets()[[c == shown[label].get_color() for c in color]]
            np.testing.assert_array_equal(drawn[np.argsort(drawn[:, 0])], np.stack([x, of], 1))
        np.testing.assert_array_equal(shown["f"].get_ydata(), np.sin(x))
        assert dots.get_rasterized() and ax.get_xlabel() == "x"
    assert [len(ax.patches) for ax in fig.axes] == [0, 1]
    assert fig.axes[1].patches[0].get_x() == 1 and fig.axes[1].patches[0].get_width() == 1


def test_surface_clouds_draw_all_observations_and_some_predictions():
    some = np.array([5, 700, 9000])
    left, right = noisy_clouds.surface_clouds(Z, PREDICTED, some).axes
    x, y, z = left.collections[0]._offsets3d
    np.testing.assert_array_equal(np.stack([x, y], 1), POINTS)
    np.testing.assert_array_equal(z, Z)
    shown = lines(right)
    for name, values in (("observation", Z), ("prediction", PREDICTED)):
        np.testing.assert_array_equal(np.stack(shown[name].get_data_3d(), 1), np.c_[POINTS[some], values[some]])
    assert all(ax.get_zlabel() == "z" for ax in (left, right))


def test_slices_are_the_papers():
    left, right = noisy_clouds.slice_dots(Z, PREDICTED, 0.1).axes
    for ax, (fixed, value, label) in ((left, (0, -0.64, "y")), (right, (1, 0.96, "x"))):
        where, shown = np.isclose(POINTS[:, fixed], value), lines(ax)
        assert ax.get_xlabel() == label and where.sum() == 101
        for name, values in (("f", F), ("observations", Z), ("predictions", PREDICTED)):
            np.testing.assert_array_equal(shown[name].get_xdata(), POINTS[where, 1 - fixed])
            np.testing.assert_allclose(shown[name].get_ydata(), values[where])
        assert len({shown[name].get_marker() for name in ("observations", "predictions")}) == 2
        band = ax.collections[0].get_paths()[0].vertices
        assert band[:, 1].max() == pytest.approx(F[where].max() + 0.2)


def test_residuals_are_densities():
    fig = noisy_clouds.residuals({"5.1": (PREDICTED - F, Z - F), "5.2": (0 * F, Z - F)}, 0.1)
    left, right = fig.axes
    areas = [sum(p.get_height() * p.get_width() for p in ax.patches[:60]) for ax in (left, right)]
    assert areas == pytest.approx([1, 1])
    wide = noisy_clouds.residuals({"a": (Z - F, Z - F), "b": (0 * F + 9, Z - F)}, 0.1).axes[1]
    assert wide.patches[-1].get_xy()[:, 1].max() == pytest.approx(60)  # what is beyond stands at the end, in a bin 1/60
    (law,) = left.lines
    assert law.get_ydata().max() == pytest.approx(1 / (0.1 * np.sqrt(2 * np.pi)))
    assert [ax.get_title() for ax in (left, right)] == ["5.1", "5.2"]
    assert right.patches[-1].get_xy()[:, 1].max() > 5 * left.patches[-1].get_xy()[:, 1].max()  # all samples at f
