"""Pictures of machines show what they are given; the widget of what leaks answers in time."""

import numpy as np
import pytest

from fedlib.machines.price import expected_bytes
from fedlib.models.networks import DeepONet
from fedlib.papers.fed_deeponet.physics import pendulum_triplets
from fedlib.plots import machines, pendulum_leak
from fedlib.problems import pendulum_leak as leak
from fedlib.streams import stream

from ..conftest import assert_redraws_fast, every_move


def test_who_sees_what():
    fig = machines.who_sees({"site-1": [0, 1], "server": []}, {"server": [0, 1, 2]})
    (ax,) = fig.axes
    drawn = {(line.get_marker(), *line.get_ydata()[:1]): list(line.get_xdata()) for line in ax.get_lines()}
    assert drawn["s", 0] == [0, 1] and drawn["o", 1] == [0, 1, 2]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["site-1", "server"]


def test_training_and_price():
    together = np.array([4.0, 2.0, 1.0])
    (ax,) = machines.training({"site-1": 2 * together, "site-2": 0 * together + 1}, together).axes
    lines = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
    np.testing.assert_array_equal(lines["clients of site-1"], 2 * together)
    np.testing.assert_array_equal(lines["all, in one process"], together)
    fig = machines.price([1, 5], {"in one process": [0.1, 0.2]}, [10**6] * 2, [10**6, 5 * 10**6], [10**5, 5 * 10**5])
    assert fig.axes[0].get_lines()[0].get_ydata() == pytest.approx([100, 200])
    assert [line.get_ydata()[-1] for line in fig.axes[1].get_lines()] == pytest.approx([5, 1, 0.5])


def test_megabytes_grow_with_the_rounds_and_seconds_with_a_slow_link():
    left, right = machines.megabytes((10**6, 9 * 10**6), 100, 5 * 10**6, 3 * 10**6, 8.0).axes
    lines = {line.get_label(): line.get_ydata() for line in left.get_lines()}
    assert lines["every client's model"] == pytest.approx([10, 1000])
    assert lines["a mean of each site"] == pytest.approx([4, 400])
    assert lines["all points, once"] == pytest.approx([5, 5])
    assert [bar.get_width() for bar in right.patches] == pytest.approx([1, 9, 3])


def test_the_explorer_of_bytes_asks_for_what_is_chosen_and_redraws_fast():
    asked = []
    box = machines.bytes_explorer(lambda P, sizes: asked.append((P, sizes)) or expected_bytes(P, sizes), 5681, 208)
    assert asked == [(5681, [7, 7, 7])]
    assert "sites 3, clients per site 7, points per client 50, rounds 1000, Mbit/s 100" in box.children[-1].alt
    assert_redraws_fast(every_move(box))


def test_what_was_read_is_drawn_with_its_likeness():
    own = np.array([[1.0, 2.0, -1.0]])
    (ax,) = pendulum_leak.curves({("SGD", 1, 1): (2 * own[0], own)}).axes
    assert ax.get_title() == "SGD, E = 1, 1 point\nlikeness 1.00"
    truth, found = (line.get_ydata() for line in ax.get_lines())
    np.testing.assert_allclose(found, truth)
    np.testing.assert_allclose(found, leak.scaled(own)[0])


def test_many_cases_stand_in_rows_of_three():
    own = np.array([[1.0, 2.0, -1.0]])
    fig = pendulum_leak.curves({("SGD", E, 1): (own[0], own) for E in range(1, 6)})
    assert len(fig.axes) == 6 and [ax.get_visible() for ax in fig.axes] == [True] * 5 + [False]
    assert [ax.get_title().split(",")[1] for ax in fig.axes[:5]] == [f" E = {E}" for E in range(1, 6)]


def test_what_is_learnt_is_drawn_against_the_points():
    found = leak.Learnt(np.array([0.9, 0.7]), np.array([0.5, 0.5]), np.array([0.8, 1.0]))
    left, right = pendulum_leak.against_points({"SGD, E = 1": {1: found, 5: found}}, (5, found)).axes
    assert left.get_lines()[0].get_ydata() == pytest.approx([0.3, 0.3]) and left.get_xscale() == "log"
    assert right.get_lines()[0].get_ydata() == pytest.approx([90, 90])
    assert right.get_lines()[1].get_xdata() == [5] and right.get_lines()[1].get_ydata() == pytest.approx([90])


def test_the_explorer_redraws_fast():
    net = DeepONet((50, 40, 40), (1, 40, 40))
    points = [pendulum_triplets(50, 50, 0.2, stream(k, "leak explorer")) for k in range(3)]
    box = pendulum_leak.leak_explorer(net, points)
    assert "points n 1, local steps E 1, optimiser SGD, client 0" in box.children[-1].alt
    assert_redraws_fast(every_move(box))
