"""The pictures of notebook 07: what they draw is what the models say, at any size of the study."""

import numpy as np

from fedlib.notebook.pages import png
from fedlib.papers.fedsciml.operators.problem import TITLES
from fedlib.plots import operators as draw
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
        for ax, name in zip(fig.axes, studies, strict=True):
            assert ax.get_title().startswith(TITLES[name]) and ax.get_xlabel() == "nonzero Chebyshev terms n"
        labels = [text.get_text() for text in fig.legends[0].get_texts()]
        assert len(set(labels)) == len(labels) == (7 if full in studies.values() else 3)
        png(fig)
    lines = {line.get_label(): line for line in draw.error_view({A: full}, {A: {5: 10.0}}).axes[0].get_lines()}
    np.testing.assert_allclose(lines["federated"].get_ydata(), np.median(full["federated"], 0))
    np.testing.assert_allclose(lines["client 2 alone"].get_ydata(), np.median(full["isolated"], 0)[:, 1])
    assert list(lines["centralised, union"].get_ydata()) == [4, 1.5]
    assert list(lines["centralised, full space"].get_ydata()) == [1.5, 1.5]
    assert (*lines["paper, federated"].get_xdata(), *lines["paper, federated"].get_ydata()) == (5, 10)


def test_the_other_figures_of_one_level_and_one_seed():
    """What a small run has: one level, one E, no clients that start apart."""
    one = {"branch, matrix 1": np.array([[0.5]]), "trunk, matrix 2": np.array([[0.7]])}
    names = ("burgers_2", A)
    fig = draw.divergence_view(dict.fromkeys(names, (10,)), dict.fromkeys(names, one), [10], one)
    hollow = [line for line in fig.axes[1].get_lines() if line.get_mfc() == "none"]
    assert len(hollow) == 2 and all(line.get_xdata()[0] > 10 for line in hollow), "they stand beside their level"
    assert [text.get_text() for text in fig.legends[0].get_texts()][-1] == "started apart (hollow)"
    assert not [
        a for a in draw.divergence_view({A: [10]}, {A: one}, [], {}).axes[0].get_lines() if a.get_mfc() == "none"
    ]
    study = {"levels": [5], "steps": 70, "percent": {7: np.array([[3.0]])}}
    fig = draw.local_updates_view({A: study, "diffusion_reaction": study})
    assert [tick.get_text() for tick in fig.axes[1].get_xticklabels()] == ["7"]
    assert [ax.get_title() for ax in fig.axes[::2]] == [
        "antiderivative (Fig. 15A), T = 70",
        "diffusion-reaction (Fig. 15B), T = 70",
    ]
    curves = {A: {10: [3.0]}, "burgers_2": {2: [3.0, 2.0], 5: [2.0, 1.0]}}
    fig = draw.training_view(curves, {A: [5], "burgers_2": [5000, 10000]})
    assert list(fig.axes[1].get_lines()[0].get_xdata()) == [5, 10]
    assert [[text.get_text() for text in ax.texts] for ax in fig.axes] == [["n = 10"], ["n = 2", "n = 5"]]
    png(fig)


def test_two_and_three_clients_share_an_axis():
    study = {"levels": [2, 10], "federated": np.array([[9.0, 3], [7, 3], [1, 3]]), "centralised": {10: [2.0]}}
    fig = draw.clients_view(study, study | {"centralised": {}})
    lines = {line.get_label(): list(line.get_ydata()) for line in fig.axes[0].get_lines()}
    assert lines["2 clients"] == lines["3 clients"] == [7, 3]
    assert lines["centralised, functions of 2 clients"] == [2, 2] and len(fig.legends[0].get_texts()) == 3


def test_errors_over_two_decades_have_plain_numbers():
    fig = draw.error_view({A: {"levels": [1, 10], "isolated": np.full((1, 2, 2), 90.0),
                               "federated": np.array([[50.0, 0.5]]), "centralised": {}}}, {})  # fmt: skip
    png(fig)
    assert {"1", "10"} <= {tick.get_text() for tick in fig.axes[0].get_yticklabels()}


def test_an_axis_has_no_more_ticks_than_one_can_read():
    for top in (4.2, 5.7, 9, 30, 3000):
        ax = draw.training_view({A: {10: np.linspace(top, 4, 5)}}, {A: range(5)}).axes[0]
        low, high = ax.get_ylim()
        shown = [t for t in ax.get_yticks() if low <= t <= high]
        assert 1 <= len(shown) <= draw.MOST, (top, shown)
