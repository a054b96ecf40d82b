"""Pictures of the ways show what they are given, and the explorer redraws in time."""

import numpy as np
import pytest

from fedlib.models.networks import fan_in_uniform
from fedlib.papers.fedstnn import plane
from fedlib.papers.fedstnn.as_coded import figures as draw
from fedlib.papers.fedstnn.as_coded import study
from fedlib.papers.fedstnn.as_coded.coded import Coded
from fedlib.papers.fedstnn.experiment import Answers as Learnt
from fedlib.papers.fedstnn.network import SNN, init_snn
from fedlib.streams import stream

from ....conftest import assert_redraws_fast, every_move


def test_spread_against_noise():
    spreads = {name: {0.1: np.array([0.1, 0.3]), 0.4: np.array([0.4, 0.4])} for name in draw.WAYS}
    (ax,) = draw.sigma_figure(spreads, "all").axes
    lines = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
    np.testing.assert_allclose(lines["as coded"], [0.2, 0.4])
    np.testing.assert_allclose(lines["truth"], [0.1, 0.4])
    (ax,) = draw.sigma_figure({"fresh paths": spreads["as coded"]}, "alone").axes
    assert ax.get_title() == "alone" and ax.get_xlabel() and ax.get_ylabel()


def test_arms_side_by_side():
    rng, n = stream(0, "views"), 200
    shown = {name: Learnt(*rng.normal(size=(3, 1, n)) ** 2, np.ones(1)) for name in draw.WAYS}
    fig = draw.ways_figure(shown, 0.1)
    assert [ax.get_title() for ax in fig.axes] == list(draw.WAYS)
    lines = {line.get_label(): line.get_ydata() for line in fig.axes[1].get_lines()}
    np.testing.assert_array_equal(lines["learnt mean"], shown["as coded"].mean[0])
    points = plane.surface_grid()
    truth = plane.surface(*points.T)
    flat = {name: Learnt(truth[None] + 0.2, 0 * truth[None] + 0.1, truth[None], np.ones(1)) for name in draw.WAYS}
    images = [ax.images[0].get_array() for ax in draw.surface_figure(flat, truth, 0.1).axes if ax.images]
    np.testing.assert_allclose([images[0].mean(), images[3].mean()], [2, 1])


def test_a_client():
    data = study.observe(20, [0.1], [3])
    (ax,) = draw.client_figure(data, 0.1, client=5).axes
    own, _ = ax.get_lines()
    at = data.shards[3][study.POINTS][4]
    np.testing.assert_allclose(own.get_ydata(), data.pool["y"][at])
    np.testing.assert_allclose(own.get_xdata(), np.pi * (data.pool["x"][at, 0] + 1))


@pytest.fixture(scope="module")
def models():
    found = {}
    for name, net, init in (("as printed", SNN(1, 8, 16), init_snn), ("as coded", Coded(1, 8, 16), fan_in_uniform)):
        found |= {(name, sigma): (net, study.start_of(net, init)) for sigma in (0.1, 0.4)}
    return found


def test_an_arm_that_was_not_trained_is_refused(models):
    with pytest.raises(ValueError, match=r"'as coded' at sigma = 0\.3; choose another"):
        draw.draw_way(models, "as coded", 0.3)
    fig = draw.draw_way(models, "as coded", 0.4, paths=20)
    assert all(ax.get_xlabel() and ax.get_ylabel() for ax in fig.axes)


def test_the_explorer_redraws_fast(models):
    assert_redraws_fast(every_move(draw.ways_explorer(models)))
