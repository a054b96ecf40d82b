"""Views of stochastic networks that learn a noise: they show what they are given, and redraw in time."""

import numpy as np
import pytest
import torch

from fedlib.federated.stack import predict, stack
from fedlib.models.stochastic import SNN, init_snn
from fedlib.notebook.pages import png
from fedlib.plots import stochastic as draw_stochastic
from fedlib.problems import noisy_curve
from fedlib.problems.fedstnn import Learnt
from fedlib.streams import stream, torch_stream

from ..conftest import assert_redraws_fast, every_move


@pytest.fixture
def bands():
    net = SNN(1, 8, 16)
    rows = stack(net, [(0,), (1,)], init_snn)
    return net, {("energy score", 0.1): rows[0], ("squared error", 0.1): rows[1]}


def test_band_shows_the_spread_of_the_paths(bands):
    net, models = bands
    fig = draw_stochastic.draw_band(net, models, "energy score", 0.1, paths=30, seed=3)
    x = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    w = torch.randn(100, *net.noise(30), generator=torch_stream(3, "widget"))
    out = predict(net, models["energy score", 0.1], torch.as_tensor(x / np.pi - 1)[:, None].float(), w)
    (line, _) = fig.axes[1].get_lines()
    np.testing.assert_allclose(line.get_ydata(), out.std(1), rtol=1e-5)
    shown = {line.get_label(): line.get_ydata() for line in fig.axes[0].get_lines()}
    np.testing.assert_array_equal(shown["true f"], np.sin(x))
    np.testing.assert_array_equal(shown[r"true, 2 $\sigma$"], np.sin(x) + 0.2)
    assert all(ax.get_xlabel() and ax.get_ylabel() for ax in fig.axes)


def test_an_untrained_pair_is_refused(bands):
    with pytest.raises(ValueError, match=r"no model was trained with energy score at sigma = 0\.3"):
        draw_stochastic.draw_band(*bands, "energy score", 0.3)


def test_the_view_is_pure(bands):
    def drawn(**chosen):
        return png(draw_stochastic.draw_band(*bands, **({"loss": "energy score", "sigma": 0.1, "paths": 20} | chosen)))

    assert drawn() == drawn() != drawn(paths=50)


@pytest.fixture
def of_quick_size():
    """What the widget of notebook 08 shows in its quick profile."""
    net = SNN(1, 8, 16)
    rows = iter(stack(net, [(i,) for i in range(12)], init_snn))
    losses, sigmas = ("energy score", "likelihood, corrected", "squared error"), (0.05, 0.1, 0.2, 0.4)
    return net, {(loss, sigma): next(rows) for loss in losses for sigma in sigmas}


def test_sliders_answer_at_once(of_quick_size):
    assert_redraws_fast(every_move(draw_stochastic.band_explorer(*of_quick_size)))


def test_many_paths_are_as_fast_as_few(of_quick_size):
    box = draw_stochastic.band_explorer(*of_quick_size)
    next(c for c in box.children if c.description == "paths").value = 200
    assert_redraws_fast(every_move(box))


def test_limits_of_the_band_do_not_depend_on_what_is_chosen(of_quick_size):
    net, models = of_quick_size
    limits = {tuple(ax.get_ylim() for ax in draw_stochastic.draw_band(net, models, *key).axes) for key in models}
    assert len(limits) == 1


SETTING = noisy_curve.Setting(10, 0.1)


def test_first_look_shows_all_points_and_those_of_a_client():
    data = noisy_curve.observe(SETTING, [3])
    left, right = draw_stochastic.first_look(SETTING, data, 3).axes
    x, y, shards = noisy_curve.seen(SETTING, data)
    np.testing.assert_array_equal(left.lines[0].get_xydata(), np.stack([x, y], 1))
    np.testing.assert_array_equal(right.lines[0].get_xdata(), x[shards[2]])
    assert right.get_title() == "the 110 observations of client 3"


def test_curve_data_has_a_strip_of_points_for_each_client_with_its_number():
    data = noisy_curve.observe(SETTING, [3])
    left, right = draw_stochastic.curve_data(SETTING, data).axes
    x, y, shards = noisy_curve.seen(SETTING, data)
    np.testing.assert_array_equal(left.lines[0].get_ydata(), y)
    np.testing.assert_allclose([line.get_xdata()[0] for line in left.lines[2:]], 2 * np.pi * np.arange(1, 10) / 10)
    for strip, k in zip(right.lines, SETTING.alone, strict=True):
        np.testing.assert_array_equal(strip.get_xdata(), x[shards[k - 1]])
    assert [label.get_text() for label in right.get_yticklabels()] == ["1", "2", "5", "8", "10"]
    assert right.get_title() == "points of 5 of the 10 clients, non-IID 110"


def test_alone_view_marks_what_each_client_knows():
    found = learnt(5 * 200)
    found = Learnt(*(values.reshape(2, 5, 200) for values in found[:3]), found.inside)
    fig = draw_stochastic.alone_view(SETTING, found)
    assert [ax.get_title() for ax in fig.axes] == [f"client {k} alone" for k in SETTING.alone]
    boxes = [ax.patches[0].get_extents().transformed(ax.transData.inverted()) for ax in fig.axes]
    np.testing.assert_allclose([(b.x0, b.x1) for b in boxes], SETTING.regions, atol=1e-12)
    means = [line.get_ydata() for ax in fig.axes for line in ax.lines if line.get_label() == "learnt mean"]
    np.testing.assert_array_equal(means, found.mean[0])


@pytest.mark.parametrize("sigmas", [[0.1], [0.05, 0.4]])
@pytest.mark.parametrize("S", [1, 2])
def test_noise_view_has_a_curve_for_each_loss(sigmas, S):
    spreads = {name: {sigma: np.full(S, 2 * sigma) for sigma in sigmas} for name in ("a", "b", "c")}
    fig = draw_stochastic.noise_view(spreads, {name: np.ones((S, 200)) for name in ("vector", "net")})
    labels = [[line.get_label() for line in ax.lines] for ax in fig.axes]
    learnt = ["one g per block and neuron", "g a network of X"]
    assert labels == [["a", "b", "c", "truth"], [*learnt, r"true $\sigma(x)$"]]
    np.testing.assert_allclose(fig.axes[0].lines[0].get_ydata(), 2 * np.array(sigmas))
    np.testing.assert_allclose(fig.axes[1].lines[2].get_ydata(), noisy_curve.growing_sigma(noisy_curve.grid()))


def test_curves_are_bands_over_the_grid():
    found = learnt(200)
    left, _ = draw_stochastic.curves_view({"one": found, "two": found}, 0.1).axes
    shown = {line.get_label(): line for line in left.lines}
    np.testing.assert_array_equal(shown["true f"].get_xdata(), noisy_curve.grid())
    np.testing.assert_array_equal(shown["true f"].get_ydata(), np.sin(noisy_curve.grid()))
    np.testing.assert_array_equal(shown["learnt mean"].get_ydata(), found.mean[0])


def learnt(n, seeds=2):
    """A model that answers with other numbers at every point, over seeds."""
    rng = stream(0, "learnt")
    return Learnt(*rng.uniform(0.1, 1, (3, seeds, n)), rng.uniform(size=seeds))


def test_bands_draw_the_first_seed():
    x, found = np.linspace(0, 1, 7), learnt(7)
    left, right = draw_stochastic.bands({"one": ("x", x, x**2, found), "two": ("y", x, x, found)}, 0.1, "f").axes
    shown = {line.get_label(): line.get_ydata() for line in left.lines}
    np.testing.assert_array_equal(shown["learnt mean"], found.mean[0])
    np.testing.assert_array_equal(shown["one path"], found.path[0])
    np.testing.assert_array_equal(shown["true f"], x**2)
    (band,) = left.collections
    np.testing.assert_allclose(band.get_paths()[0].vertices[:, 1].max(), (found.mean[0] + 2 * found.std[0]).max())
    assert (left.get_xlabel(), right.get_xlabel(), right.get_title()) == ("x", "y", "two")


def test_surface_maps_share_one_scale_of_colours():
    n = 101
    federated, alone = learnt(n * n), learnt(n * n)._replace(mean=np.full((2, n * n), -4.0))
    axes = draw_stochastic.surface_maps(federated, alone, 0.1).axes
    images = [ax.images[0] for ax in axes if ax.images]
    assert [image.get_clim() for image in images] == [(-4, 4)] * 3 + [(0, pytest.approx(0.3))]
    np.testing.assert_array_equal(images[1].get_array(), federated.mean[0].reshape(n, n).T)
    np.testing.assert_array_equal(images[3].get_array(), federated.std[0].reshape(n, n).T)
    titles = ["true f", "federated mean", "client 1 alone", "federated std (true: 0.1)"]
    assert [ax.get_title() for ax in axes[:4]] == titles
