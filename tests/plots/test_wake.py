"""Pictures of the wake show the fields that they are given, and their explorer answers quickly."""

import numpy as np
import pytest

from fedlib.notebook.style import CLIENTS
from fedlib.plots.wake import draw_flow, first_look, pressures, trained_flows, wake_explorer, wake_fields, wake_view
from fedlib.problems import flow
from fedlib.problems.wake import cylinder_wake

from ..conftest import assert_redraws_fast, assert_starts_at_and_follows, every_move

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


def test_the_explorer_redraws_quickly():
    assert_redraws_fast(every_move(wake_explorer(*flows())))


def test_the_explorer_starts_midway_and_follows_its_sliders():
    assert_starts_at_and_follows(wake_explorer(*flows(5)), "after round 30")


def test_every_model_and_seed_can_be_looked_at():
    rounds, C, p, truth = flow_case()
    flat = p.reshape(len(p), -1)
    of_C = {("federated", 2): np.stack([C, 2 * C]), ("summed", 2): np.stack([C, 3 * C]), ("many", 90): C[None]}
    of_p = {
        ("federated", 2): np.stack([flat, 2 * flat]),
        ("summed", 2): np.stack([flat, flat]),
        ("many", 90): flat[None],
    }
    found = trained_flows(rounds, of_C, of_p, [0, 7])
    assert list(found) == [
        "federated, n = 2, seed 0", "federated, n = 2, seed 7", "federated, n = 2, summed C, seed 0",
        "federated, n = 2, summed C, seed 7", "centralised, 90 observations, seed 0",
    ]  # fmt: skip
    fig = draw_flow(found, truth, VALUES, "federated, n = 2, seed 7")
    np.testing.assert_array_equal(fig.axes[3].images[0].get_array(), 2 * p[-1])
    one = trained_flows(rounds, {("federated", 2): C[None]}, {("federated", 2): flat[None]}, [0])
    assert list(one) == ["federated, n = 2"]


def test_a_scrubber_has_so_many_moments_and_the_last_one():
    rounds, C, p, truth = flow_case(V=23)
    flat, model = p.reshape(1, 23, -1), ("federated", 2)
    (few,) = trained_flows(rounds, {model: C[None]}, {model: flat}, [0], most=5).values()
    assert few["rounds"] == [rounds[v] for v in (2, 7, 12, 17, 22)]
    np.testing.assert_array_equal(few["C"], C[[2, 7, 12, 17, 22]])
    np.testing.assert_array_equal(few["p"], flat[0, [2, 7, 12, 17, 22]])
    at_end = trained_flows(rounds, {model: C[None]}, {model: flat[:, -1:]}, [0], most=5)
    for at in (0, -1):
        fig = draw_flow(at_end, truth, VALUES, "federated, n = 2", at)
        np.testing.assert_array_equal(fig.axes[3].images[0].get_array(), p[-1])


def test_fields_and_observations():
    wake = cylinder_wake()
    x = flow.observations(wake, 60, np.random.default_rng(0))["x"].numpy()
    slabs = {n: flow.slabs(x, n) for n in (2, 4, 6, 8)}
    fig = wake_fields(wake, x, slabs)
    above = {ax.get_title(): ax.images[0].get_array() for ax in fig.axes if ax.images and "t = 0.5" in ax.get_title()}
    assert list(above) == ["u at t = 0.5", "v at t = 0.5", "p at t = 0.5"]
    np.testing.assert_array_equal(above["v at t = 0.5"], wake.u[:, 1, 5].reshape(50, 100))
    below = [ax for ax in fig.axes if ax.get_title().startswith("observations")]
    for ax, n in zip(below, (2, 6, 8), strict=True):
        points, cuts = ax.get_lines()[:2], ax.get_lines()[2:]
        assert [len(line.get_xdata()) for line in points] == list(map(len, slabs[n])) and len(cuts) == n - 1
        assert [line.get_color() for line in points] == CLIENTS[:2]
    assert sum(ax.axison for ax in wake_fields(wake, x, {2: slabs[2]}).axes[3:6]) == 1
    left, right = first_look(wake, x, slabs[2]).axes
    np.testing.assert_array_equal(left.images[0].get_array(), wake.u[:, 0, 0].reshape(50, 100))
    assert abs(right.images[0].get_array().mean()) < 1e-12


@pytest.mark.parametrize("models", [1, 2, 3, 5])
def test_pressures_of_any_number_of_models(models):
    *_, truth = flow_case()
    fig = pressures(truth, {("federated", n): (1 - n / 10) * truth.ravel() for n in range(1, models + 1)})
    titles = [ax.get_title() for ax in fig.axes if ax.images]
    assert titles == ["true p", *(f"n = {n}: e = {10 * n} %" for n in range(1, models + 1))]
