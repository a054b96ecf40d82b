"""Every figure of notebook 01 from what is stored: finite, legible, and of the numbers that the text gives."""

import numpy as np
import pytest
import torch

from fedlib.federated.sweep import best
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
