"""Every figure of notebook 01 from what is stored: finite, legible, and of the numbers that the text gives."""

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg

from fedlib.federated.sweep import best
from fedlib.notebook import style
from fedlib.numerics.metrics import percent
from fedlib.papers.fed_deeponet import physics
from fedlib.papers.fed_deeponet.pendulum import figures, live, problem, study
from fedlib.trainings.store import folder_of, histories_of, last_reading


@pytest.fixture(scope="module")
def p():
    return study.PAPER


@pytest.fixture(scope="module")
def histories(p):
    stored = histories_of(study.trainings(p), folder_of(study.NOTEBOOK))
    grid = {
        name: last_reading(study.trainings(p), name, [folder_of(study.NOTEBOOK)], earlier=True)[0].result
        for name in study.trainings(p)
        if name[0] == "grid"
    }
    return stored | grid


@pytest.fixture(scope="module")
def results(p, histories):
    return study.results(p, histories)


def fig_4(p, histories, results):
    unseen, theta = physics.unseen_tests(100), histories["shares"].model("federated", 20, 0, 1.0)
    return figures.predicted(theta, unseen["u"], unseen["x1"], [*physics.OUT_OF_DISTRIBUTION])


FIGURES = {
    "answer": lambda p, histories, results: live.answer(histories["clients"], histories["alone"]),
    "data": lambda *_: figures.torques_and_angles(problem.dealt(tests=5, common=2).data(20, 0)),
    "deeponet": lambda *_: figures.deeponet_schematic(),
    "round": lambda *_: figures.round_schematic(),
    "clients": lambda p, histories, results: figures.error_against_clients(results),
    "fig2": lambda p, histories, results: figures.training(results),
    "fig4": fig_4,
    "conventions": lambda p, histories, results: figures.conventions(results),
    "tables": lambda p, histories, results: figures.tables(results, p["passes"]),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_finite_within_its_limits_and_legible(p, histories, results, name):
    style.use()
    fig = FIGURES[name](p, histories, results)
    FigureCanvasAgg(fig).draw()
    for ax in fig.axes:
        for line in ax.get_lines():
            data = np.array(line.get_xydata(), float)
            drawn = data[np.isfinite(data).all(1)]
            assert len(drawn), f"{name}: a line without a point"
            if line.get_transform() == ax.transData:
                for values, (low, high) in zip(drawn.T, (sorted(ax.get_xlim()), sorted(ax.get_ylim())), strict=True):
                    assert (values >= low).all() and (values <= high).all(), f"{name}: outside of its axes"
        if ax.axison:
            assert ax.get_xlabel() or ax.get_title()
    legends = [legend for legend in [*fig.legends, *(ax.get_legend() for ax in fig.axes)] if legend]
    assert all(len(legend.get_texts()) <= 6 for legend in legends)
    boxes = [text.get_window_extent() for text in visible(fig, legends)]
    overlapping = [(a, b) for i, a in enumerate(boxes) for b in boxes[:i] if a.padded(-1).overlaps(b.padded(-1))]
    assert not overlapping, f"{name}: words on words"


def visible(fig, legends):
    """Words of a figure: titles, labels, ticks, texts, legends."""
    texts = [text for legend in legends for text in legend.get_texts()]
    for ax in fig.axes:
        texts += [*ax.texts, ax.title]
        if ax.axison:
            texts += [ax.xaxis.label, ax.yaxis.label]
            for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
                ticks = [tick for tick in axis.get_major_ticks() if min(limits) <= tick.get_loc() <= max(limits)]
                texts += [tick.label1 for tick in ticks]
    inside = fig.bbox
    drawn = [text for text in texts if text.get_visible() and text.get_text().strip()]
    return [text for text in drawn if inside.overlaps(text.get_window_extent())]


def test_curves_are_what_the_stored_models_say(histories):
    axes = live.answer(histories["clients"], histories["alone"]).axes
    lines = {line.get_label(): line.get_ydata() for line in axes[1].get_lines()}
    exact = physics.unseen_tests(100)
    np.testing.assert_allclose(lines["truth"], exact["x1"][2], atol=1e-9)
    theta = histories["clients"].model("federated", 20, 0)
    guess = problem.angles({"federated": theta}, exact["u"][2])["federated"]
    (label,) = (label for label in lines if label.startswith("federated"))
    np.testing.assert_allclose(lines[label], guess, atol=1e-6)
    off = percent(guess, exact["x1"][2].numpy())
    assert label == f"federated: off by {figures.in_percent(off)}"


def test_the_chosen_setting_is_the_best_on_validation_data(p):
    history = last_reading(study.trainings(p), ("grid", "near"), [folder_of(study.NOTEBOOK)], earlier=True)[0].result
    assert best(history, "validation error") == {"lr": p["lr"], "decay": p["decay"]}


def test_schematics_say_what_the_network_and_a_round_are():
    words = "\n".join(text.get_text() for text in figures.deeponet_schematic().axes[0].texts)
    widths = [layer.out_features for layer in problem.dealt().net.branch if isinstance(layer, torch.nn.Linear)]
    assert f"branch network\n{widths[-1]} numbers" in words
    words = "\n".join(text.get_text() for text in figures.round_schematic().axes[0].texts)
    assert "K steps of Adam" in words and "silent" in words
