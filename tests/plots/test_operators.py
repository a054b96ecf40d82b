"""The pictures of notebook 07: what they draw is what the models say, at any size of the study."""

import numpy as np

from fedlib.plots import operators as draw
from fedlib.problems.operators import TITLES
from fedlib.runs.pages import png
from fedlib.streams import stream

A = "antiderivative"


def test_errors_are_drawn_for_any_number_of_operators_levels_seeds_and_clients():
    """One level and one seed, too; a panel has nothing that was not run, and one legend names everything once."""
    rng = stream(0, "test error view")
    full = {
        "levels": [2, 6, 10], "isolated": rng.uniform(1, 9, (2, 3, 3)), "federated": rng.uniform(1, 9, (2, 3)),
        "centralised": {2: [3.0, 5.0], 10: [1.0, 2.0]},
    }  # fmt: skip
    one = {"levels": [5], "isolated": np.full((1, 1, 2), 7.0), "federated": np.full((1, 1), 3.0), "centralised": {}}
    for studies in (
        {A: full},
        {A: one},
        {A: full, "burgers_2": one},
        dict.fromkeys(list(TITLES)[:3], one),
        dict.fromkeys(TITLES, full),
    ):
        fig = draw.error_view(studies, {A: {5: 10.0}} if full in studies.values() else {})
        assert [ax.get_title() for ax in fig.axes] == [TITLES[name] for name in studies]
        labels = [text.get_text() for text in fig.legends[0].get_texts()]
        assert len(set(labels)) == len(labels) == (7 if full in studies.values() else 3)
        png(fig)
    lines = {line.get_label(): line for line in draw.error_view({A: full}, {A: {5: 10.0}}).axes[0].get_lines()}
    np.testing.assert_allclose(lines["federated"].get_ydata(), full["federated"].mean(0))
    np.testing.assert_allclose(lines["client 2 alone"].get_ydata(), full["isolated"].mean(0)[:, 1])
    assert list(lines["centralised, union"].get_ydata()) == [4, 1.5]
    assert list(lines["centralised, full space"].get_ydata()) == [1.5, 1.5]
    assert (*lines["paper, federated"].get_xdata(), *lines["paper, federated"].get_ydata()) == (5, 10)


def test_the_other_figures_of_one_level_and_one_seed():
    """What a small run has: one level, one E, no clients that start apart."""
    one = {"branch, matrix 1": np.array([[0.5]]), "trunk, matrix 2": np.array([[0.7]])}
    names = ("burgers_2", A)
    fig = draw.divergence_view(dict.fromkeys(names, (10,)), dict.fromkeys(names, one), [10], one)
    assert [len(ax.get_lines()) for ax in fig.axes] == [2, 4]
    assert [line.get_mfc() for line in fig.axes[1].get_lines()].count("none") == 2
    assert len(draw.divergence_view({A: [10]}, {A: one}, [], {}).axes[0].get_lines()) == 2
    fig = draw.local_updates_view([5], {7: np.array([[3.0]])})
    assert [tick.get_text() for tick in fig.axes[1].get_xticklabels()] == ["7"]
    curves = {A: {10: [3.0]}, "burgers_2": {2: [3.0, 2.0], 5: [2.0, 1.0]}}
    fig = draw.training_view(curves, {A: [5], "burgers_2": [5000, 10000]})
    assert list(fig.axes[1].get_lines()[0].get_xdata()) == [5, 10]
    assert [[text.get_text() for text in ax.texts] for ax in fig.axes] == [["n = 10"], ["n = 2", "n = 5"]]
    png(fig)
