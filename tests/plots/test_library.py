"""Pictures of a library of pendulums show the family, who owns which, and the floor; the explorer is fast enough."""

import numpy as np
import pytest
import xarray

from fedlib.federated.stack import stack
from fedlib.models.networks import DeepONet, glorot_uniform
from fedlib.numerics.solutions import pendulum
from fedlib.papers.fed_deeponet.physics import half_steps
from fedlib.plots import library as draw

from ..conftest import assert_redraws_fast, every_move


def test_the_library_view_shows_true_angle_and_phase_portrait():
    net = DeepONet((31, 10, 10), (1, 10, 10), domain=(0.0, 1.0))
    row = stack(net, [(0,)], glorot_uniform)[0]
    fig = draw.draw_library(net, row, k=0.7, kind="sin(pi t)", amplitude=0.5)
    lines = {line.get_label(): line.get_xydata() for line in fig.axes[1].get_lines()}
    phase = {line.get_label(): line.get_xydata() for line in fig.axes[2].get_lines()}
    x = pendulum(0.5 * np.sin(np.pi * half_steps(30))[None], 0.7)[0, ::2]
    np.testing.assert_allclose(lines["truth"][:, 1], x[:, 0])
    np.testing.assert_allclose(phase["truth"], x)
    t, angle = lines["federated"].T
    velocity = phase["federated"][:, 1]
    jumps = np.abs(np.diff(angle) / np.diff(t) - (velocity[1:] + velocity[:-1]) / 2)
    assert np.median(jumps) < 1e-2  # the drawn velocity is the slope of the drawn angle, but for the kinks


@pytest.fixture
def library():
    net = DeepONet((101, 50, 50), (1, 50, 50), domain=(0.0, 1.0))
    return net, stack(net, [(0,)], glorot_uniform)[0]


def test_the_library_explorer_answers_to_the_stiffness_and_keeps_to_its_interval(library):
    box = draw.library_explorer(*library, stiffness=(2.0, 3.0))
    k = next(c for c in box.children if c.description == "stiffness k")
    assert (k.values[0], k.values[-1]) == (2.0, 3.0)
    before = box.children[-1].value
    k.value = 2.9
    assert box.children[-1].value != before
    assert box.children[-2].value == ""


def test_a_move_of_the_library_redraws_fast_enough_for_200_ms(library):
    assert_redraws_fast(every_move(draw.library_explorer(*library)))


def test_the_family_is_one_torque_with_every_stiffness():
    u = np.sin(half_steps(10))[None]
    left, right = draw.draw_family(u, [0.5, 1.0, 1.5], lw=1).axes
    for i, k in enumerate((0.5, 1.0, 1.5)):
        x = pendulum(u, k)[0]
        np.testing.assert_allclose(left.get_lines()[i].get_ydata(), x[:, 0])
        np.testing.assert_allclose(right.get_lines()[i].get_xydata(), x)
    assert [float(line.get_color()) for line in left.get_lines()] == [0.8, 0.4, 0]  # dark is stiff
    assert "3 pendulums" in left.get_title()


def test_at_most_ten_clients_have_a_row():
    shards = np.split(np.arange(60), 30)
    ks = {"mixed": np.linspace(0, 1, 60), "own": np.repeat(np.arange(30.0), 2)}
    left, right = draw.draw_stiffness(ks, shards).axes
    assert len(left.get_lines()) == 10
    assert right.get_lines()[-1].get_xdata().tolist() == [29, 29]
    assert [label.get_text() for label in left.get_yticklabels()][-1] == "29"
    assert [ax.get_title() for ax in (left, right)] == ["mixed: every triplet has its k", "own: every client has its k"]


@pytest.mark.parametrize("seeds", [[0], [0, 1]])
def test_concept_shift_shows_the_four_cases_and_the_floor(seeds):
    cases = [*((data, k) for data in draw.SHIFTS for k in draw.TOLD), "isolated"]
    values = np.array([8.0, 6.0, 7.0, 5.0, 30.0])[:, None, None] / np.array([1.0, 2.0])[:, None] + np.array(seeds)
    coords = {"round": [3, 6], "seed": seeds}
    errors = {case: xarray.DataArray(v, coords, list(coords)) for case, v in zip(cases, values, strict=True)}
    alone = {"same passes": errors["mixed", "told"] / 4}
    left, right = draw.draw_concept_shift(errors, 1.5, alone).axes
    drawn = {line.get_label(): line.get_xydata().tolist() for line in left.get_lines()}
    shift = np.mean(seeds)
    assert drawn["mixed, told"] == [[3, 8 + shift], [6, 4 + shift]]
    assert drawn["one client alone"] == [[3, 30 + shift], [6, 15 + shift]]
    assert drawn["floor, k hidden"][0][1] == 1.5
    assert drawn["centralised, same passes"][1] == [6, (4 + shift) / 4]
    assert [line.get_ydata()[0] for line in right.get_lines() if line.get_color() == "k"] == [1.5]
    assert next(line.get_ydata()[0] for line in right.get_lines() if line.get_color() != "k") == (4 + shift) / 4
    assert [bar.get_height() for bar in right.patches] == [4 + shift, 3 + shift, 3.5 + shift, 2.5 + shift]
    assert [bool(bar.get_hatch()) for bar in right.patches] == [False, True, False, True]
    assert [label.get_text() for label in right.get_xticklabels()][1] == "mixed k,\nhidden"
    assert len(right.collections) == len(seeds) - 1  # st.dev. of several seeds only
