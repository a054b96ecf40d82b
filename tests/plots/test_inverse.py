"""Pictures of inverse problems show the numbers that they are given, and their explorers answer quickly."""

import numpy as np
import pytest

from fedlib.numerics import solutions
from fedlib.plots.inverse import (
    blues,
    coefficient_curves,
    coefficient_limits,
    draw_flow,
    draw_reaction,
    errors_and_divergence,
    first_look,
    model_styles,
    pressures,
    reaction_explorer,
    settling_times,
    wake_explorer,
    wake_fields,
    wake_view,
)
from fedlib.plots.style import CLIENTS, COLORS, panels
from fedlib.problems import flow
from fedlib.problems.wake import cylinder_wake

from ..conftest import assert_redraws_fast, every_move

VALUES = (1.0, 0.01)


def flow_case(V=4, ny=3, nx=4):
    """rounds [V], C [V, 2] that reaches the truth, p [V, ny, nx] that does, and the true p."""
    rounds = [10 * (v + 1) for v in range(V)]
    C = np.stack([np.linspace(0, 1, V), np.linspace(0, 0.01, V)], 1)
    truth = np.sin(np.arange(float(ny * nx))).reshape(ny, nx)
    return rounds, C, truth * np.linspace(0, 1, V)[:, None, None], truth


def flows(V=100):
    rounds, C, p, truth = flow_case(V, 13, 25)
    models = {f"federated, n = {n}": {"rounds": rounds, "C": n * C, "p": n * p} for n in (1, 2, 3)}
    return models, truth, VALUES


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


def test_the_wake_view_shows_one_moment():
    rounds, C, p, truth = flow_case()
    fig = wake_view(rounds, C, p, truth, VALUES, 2, [(0, 2), (0, 0.02)], "federated")
    first, above, _, below = fig.axes[:4]
    assert first.get_lines()[2].get_xdata().tolist() == [10, 20, 30]
    assert first.get_lines()[3].get_ydata() == pytest.approx(2 / 3)
    assert first.get_ylim() == (0, 2) and "0.6667" in first.get_title()
    np.testing.assert_array_equal(above.images[0].get_array(), truth)
    np.testing.assert_array_equal(below.images[0].get_array(), p[2])
    assert "round 30: e = 33.3 %" in below.get_title()
    with pytest.raises(ValueError, match="index of the 4 recorded rounds"):
        wake_view(rounds, C, p, truth, VALUES, 4, [(0, 2), (0, 0.02)])


def test_all_moments_and_models_of_the_flow_share_their_axes():
    """So the eye compares, and the slider is fast; the last moment is the default."""
    models, truth, values = flows(6)
    views = [draw_flow(models, truth, values, model, at) for model in models for at in (0, 3, -1)]
    for i in (0, 2):
        assert len({fig.axes[i].get_ylim() for fig in views}) == 1
    assert {fig.axes[3].images[0].get_clim() for fig in views} == {(-abs(truth).max(), abs(truth).max())}
    assert "after round 60: e = 0 %" in views[2].axes[3].get_title()


def test_limits_leave_out_the_wild_start_but_not_the_truth():
    C = np.full((1, 8, 2), 0.5) * VALUES
    C[0, 0] = 100
    (low, high), _ = coefficient_limits([C], VALUES)
    assert low == pytest.approx(-0.1) and high == pytest.approx(1.3)
    C[0, 4, 0] = -40  # six times the truth at most
    assert coefficient_limits([C], VALUES)[0][0] == pytest.approx(-6.1)


@pytest.mark.parametrize("explorer", [lambda: wake_explorer(*flows()), lambda: reaction_explorer(*rates())])
def test_explorers_redraw_quickly(explorer):
    assert_redraws_fast(every_move(explorer()))


def test_explorers_start_midway_and_follow_their_sliders():
    for box, words in ((wake_explorer(*flows(5)), "after round 30"), (reaction_explorer(*rates(4)), "after round 75")):
        picture = box.children[-1]
        before = picture.value
        assert words in picture.alt
        box.children[1].value = box.children[1].options[0]
        assert words not in picture.alt and picture.value != before


def test_coefficient_curves_have_a_mean_and_the_truth():
    rounds, C, *_ = flow_case()
    _, axes = panels(1, 2)
    styles = {"federated": {"color": COLORS["federated"]}}
    coefficient_curves(axes[0], rounds, {"federated": np.stack([C, 3 * C])}, VALUES, styles)
    np.testing.assert_allclose(axes[0, 1].get_lines()[0].get_ydata(), 2 * C[:, 1])
    assert axes[0, 0].get_lines()[1].get_ydata()[0] == 1


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_any_number_of_federations_has_colours_of_its_own(n):
    styles = model_styles(range(2, 2 * n + 2, 2), ["centralised, 300"])
    assert len({s["color"] for s in styles.values()}) == n + 1
    assert styles["centralised, 300"]["color"] == COLORS["centralised"]
    assert not {s["color"] for s in styles.values()} & {*CLIENTS[:3], COLORS["truth"]}
    assert blues(1) == [blues(3)[1]]


def test_fields_and_observations():
    wake = cylinder_wake()
    x = flow.observations(wake, 60, np.random.default_rng(0))["x"].numpy()
    slabs = {n: flow.slabs(x, n) for n in (2, 4)}
    fig = wake_fields({name: np.zeros((4, 6)) for name in "uvp"}, x, slabs)
    below = [ax for ax in fig.axes if ax.get_title().startswith("observations")]
    for ax, (n, own) in zip(below, slabs.items(), strict=True):
        points, cuts = ax.get_lines()[:2], ax.get_lines()[2:]
        assert [len(line.get_xdata()) for line in points] == list(map(len, own)) and len(cuts) == n - 1
        assert [line.get_color() for line in points] == CLIENTS[:2]
    left, right = first_look(wake, x, slabs[2]).axes
    np.testing.assert_array_equal(left.images[0].get_array(), wake.u[:, 0, 0].reshape(50, 100))
    assert abs(right.images[0].get_array().mean()) < 1e-12


@pytest.mark.parametrize("models", [1, 2, 3, 5])
def test_pressures_of_any_number_of_models(models):
    *_, truth = flow_case()
    fig = pressures(truth, {f"n = {n}": (1 - n / 10) * truth for n in range(1, models + 1)})
    titles = [ax.get_title() for ax in fig.axes if ax.images]
    assert titles == ["true p", *(f"n = {n}: e = {10 * n} %" for n in range(1, models + 1))]


def test_what_never_settles_and_what_is_not_printed_is_left_out():
    nan = np.full((2, 2), np.nan)
    times = {"n = 2": np.array([[1.0, 2.0], [3.0, np.nan]]), "n = 4": nan}
    fig = settling_times((10, 1), times, {"n = 2": 2 * times["n = 2"], "n = 4": nan}, model_styles([2, 4], []))
    paper, ours, never = fig.axes[0].get_lines()
    assert [line.get_label() for line in (paper, ours, never)] == ["n = 2, paper", "n = 2", "n = 4"]
    assert paper.get_ydata().tolist() == [2, 4] and ours.get_ydata().tolist() == [1, 2]


def test_errors_stand_above_the_divergence_of_the_same_network():
    kinds = {kind: np.full((2, 3), i + 1.0) for i, kind in enumerate(("isolated", "federated", "centralised"))}
    fig = errors_and_divergence([0.1, 0.2, 0.4], {"u": kinds, "k": kinds}, dict.fromkeys("uk", np.ones((2, 3, 4))))
    above, _, below, _ = fig.axes
    assert [line.get_ydata()[0] for line in above.get_lines()] == [1, 2, 3]
    assert above.get_lines()[1].get_color() == COLORS["federated"] and len(below.get_lines()) == 4


def test_the_reaction_view_names_errors():
    fig = draw_reaction(*rates(4), n=2)
    labels = [text.get_text() for text in fig.legends[0].get_texts()]
    assert "isolated client 1: e(u) = 0 %, e(k) = 0 %" in labels
    assert "isolated client 2: e(u) = 50 %, e(k) = 50 %" in labels
    assert fig.axes[0].get_title().startswith("2 subdomains") and fig.axes[1].get_title() == "after round 100"
    marks = fig.axes[0].get_lines()[-2:]
    assert [len(line.get_xdata()) for line in marks] == [12, 12]
