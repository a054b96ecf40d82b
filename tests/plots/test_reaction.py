"""Pictures of the reaction rate show the numbers that they are given, and their explorer answers quickly."""

import numpy as np

from fedlib.notebook.style import CLIENTS
from fedlib.numerics import solutions
from fedlib.plots.reaction import data_view, draw_reaction, reaction_explorer, trained_fields
from fedlib.problems import reaction

from ..conftest import assert_redraws_fast, assert_starts_at_and_follows, every_move, recorded


def rates(V=20):
    """What ``draw_reaction`` takes, as large as in the quick profile."""
    z, xk = np.linspace(0, 1, 1001), np.linspace(0, 1, 24)
    truth = {"u": np.sin(2 * np.pi * z), "k": solutions.reaction_rate(z)}
    shards = {n: [np.arange(24)[np.arange(24) * n // 24 % 2 == k] for k in (0, 1)] for n in (2, 8, 24)}
    rounds = [25 * (v + 1) for v in range(V)]
    grown = {name: np.linspace(0, 1, V)[:, None] * f for name, f in truth.items()}
    labels = ("isolated client 1", "isolated client 2", "federated", "centralised")
    history = {label: {"rounds": rounds} | {m: f / (j + 1) for m, f in grown.items()} for j, label in enumerate(labels)}
    return z, truth, xk, shards, dict.fromkeys(shards, history)


def test_the_reaction_view_names_errors():
    fig = draw_reaction(*rates(4), n=2)
    labels = [text.get_text() for text in fig.legends[0].get_texts()]
    assert "isolated client 1: e(u) = 0 %, e(k) = 0 %" in labels
    assert "isolated client 2: e(u) = 50 %, e(k) = 50 %" in labels
    assert fig.axes[0].get_title().startswith("2 subdomains") and fig.axes[1].get_title() == "after round 100"
    marks = fig.axes[0].get_lines()[-2:]
    assert [len(line.get_xdata()) for line in marks] == [12, 12]


def test_the_explorer_redraws_quickly():
    assert_redraws_fast(every_move(reaction_explorer(*rates())))


def test_the_explorer_starts_midway_and_follows_its_sliders():
    assert_starts_at_and_follows(reaction_explorer(*rates(4)), "after round 75")


def test_the_data_view_shows_who_observes_u_and_both_k():
    truth = {name: values[0].numpy() for name, values in reaction.reaction_test(1, "code").items()}
    pool, shards = reaction.reaction_data([4], 24, "code")
    left, right = data_view(truth, pool, shards[4], "code").axes
    _, *clients = left.get_lines()
    for line, own, color in zip(clients, shards[4], CLIENTS, strict=False):
        np.testing.assert_array_equal(line.get_ydata(), pool["u"][own])
        assert line.get_color() == color
    lines = {line.get_label(): line.get_ydata() for line in right.get_lines()}
    np.testing.assert_array_equal(lines["k, code"], truth["k"])
    np.testing.assert_allclose(lines["k, paper"], solutions.reaction_rate(truth["x"][:, 0], "paper"))


def test_fields_are_found_by_level_and_model():
    keys = [("federated", 2, 1), ("isolated", 2, 1), ("centralised", None, 1)]
    rows = dict(zip(keys, (slice(0, 2), slice(2, 4), slice(4, 5)), strict=True))
    values = np.arange(3 * 5 * 4.0).reshape(3, 5, 4)
    history = recorded(rows, ("kind", "n", "seed"), [2, 4, 6], {"u": values, "k": -values})
    found = trained_fields(history, 1)
    assert list(found) == [2]
    at = {"isolated client 1": 2, "isolated client 2": 3, "federated": 0, "centralised": 4}
    assert list(found[2]) == list(at)
    for name, row in at.items():
        assert found[2][name]["rounds"] == [2, 4, 6]
        np.testing.assert_array_equal(found[2][name]["k"], -values[:, row])
