"""Pictures of coefficients show the numbers that they are given."""

import numpy as np
import pytest

from fedlib.notebook.style import CLIENTS, COLORS, panels
from fedlib.plots.inverse import (
    aliasing_view,
    blues,
    coefficient_curves,
    coefficient_limits,
    distances,
    label,
    model_styles,
    training_view,
)

VALUES = (1.0, 0.01)


def curves(factor=1.0, seeds=2, V=4):
    """C [seeds, V, 2] that comes to factor times the truth, every seed a little later."""
    return factor * np.linspace(0, 1, V)[:, None] * np.array(VALUES) / (1 + np.arange(seeds)[:, None, None])


def test_limits_leave_out_the_wild_start_but_not_the_truth():
    C = np.full((1, 8, 2), 0.5) * VALUES
    C[0, 0] = 100
    (low, high), _ = coefficient_limits([C], VALUES)
    assert low == pytest.approx(-0.1) and high == pytest.approx(1.3)
    C[0, 4, 0] = -40  # six times the truth at most
    assert coefficient_limits([C], VALUES)[0][0] == pytest.approx(-6.1)


def test_coefficient_curves_have_a_mean_and_the_truth():
    rounds, C = [10, 20, 30, 40], curves(seeds=1)[0]
    _, axes = panels(1, 2)
    styles = {"federated": {"color": COLORS["federated"]}}
    coefficient_curves(axes[0], rounds, {"federated": np.stack([C, 3 * C])}, VALUES, styles)
    np.testing.assert_allclose(axes[0, 1].get_lines()[0].get_ydata(), 2 * C[:, 1])
    assert axes[0, 0].get_lines()[1].get_ydata()[0] == 1


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_any_number_of_federations_has_colours_of_its_own(n):
    models = [("federated", level) for level in range(2, 2 * n + 2, 2)] + [("centralised", 300)]
    styles = model_styles(models)
    assert list(styles) == models and len({s["color"] for s in styles.values()}) == n + 1
    assert styles["centralised", 300]["color"] == COLORS["centralised"]
    assert not {s["color"] for s in styles.values()} & {*CLIENTS[:3], COLORS["truth"]}
    assert blues(1) == [blues(3)[1]]


def test_names_of_models():
    models = (("federated", 2), ("summed", 2), ("centralised", 700), ("many", 7000))
    assert [label(*m) for m in models] == ["n = 2", "n = 2, summed C", "centralised, 700", "centralised, 7000"]


def test_the_training_view_has_every_model_in_both_panels():
    C = {("federated", 2): curves(), ("federated", 6): curves(0.5), ("centralised", 300): curves(0.9)}
    fig = training_view([10, 20, 30, 40], C, VALUES)
    for i, ax in enumerate(fig.axes):
        lines = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
        assert list(lines) == ["n = 2", "n = 6", "centralised, 300", "truth"]
        np.testing.assert_allclose(lines["n = 6"], C["federated", 6][..., i].mean(0))


def test_aliasing_compares_the_levels_that_were_summed():
    C = {("federated", n): curves(0.1 * n) for n in (2, 4, 6)} | {("summed", n): curves(0.2 * n) for n in (6, 2)}
    fig = aliasing_view([10, 20, 30, 40], C, VALUES)
    above = fig.axes[:2]
    assert [ax.get_title() for ax in above] == ["n = 2", "n = 6"]
    for ax, n in zip(above, (2, 6), strict=True):
        mean, total, _ = ax.get_lines()
        np.testing.assert_allclose(mean.get_ydata(), C["federated", n][..., 0].mean(0))
        np.testing.assert_allclose(total.get_ydata(), C["summed", n][..., 0].mean(0))
        assert (mean.get_color(), total.get_color()) == (COLORS["federated"], COLORS["other"])


def test_distances_are_drawn_beside_length_over_n():
    levels, lengths = {"flow": [2, 8], "rate": [2, 4]}, {"flow": 7, "rate": 1}
    fig = distances(levels, {"rate": [0.5, 0.25]}, lengths)
    points, line = fig.axes[0].get_lines()
    assert list(points.get_ydata()) == [0.5, 0.25] and line.get_ydata().tolist() == [0.5, 0.25]
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["rate", "1 / n"]
    assert len(distances(levels, {"flow": [3, 1], "rate": [1, 1]}, lengths).axes[0].get_lines()) == 4
