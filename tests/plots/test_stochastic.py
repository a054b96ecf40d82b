"""Views of the stochastic networks: they show what they are given, refuse what is not there, and redraw in time."""

import numpy as np
import pytest
import torch

from fedlib.federated.partitions import focused
from fedlib.federated.stack import predict, stack
from fedlib.models.stochastic import SNN, init_snn
from fedlib.plots import stochastic as draw_stochastic
from fedlib.problems import letters as picture_of
from fedlib.runs.pages import png
from fedlib.streams import stream, torch_stream

from ..conftest import assert_redraws_fast, every_move


@pytest.fixture
def bands():
    net = SNN(1, 8, 16)
    rows = stack(net, [(0,), (1,)], init_snn)
    return net, {("energy score", 0.1): rows[0], ("squared error", 0.1): rows[1]}


@pytest.fixture
def letters():
    """Three clients whose scores are: the truth, its opposite, noise; two rounds. The federation: noise, then truth."""
    truth, rng = picture_of.letters().ravel(), stream(0, "scores")
    noise = rng.uniform(size=len(truth))
    scores = {"alone": np.stack([[truth, ~truth, noise]] * 2).astype(float), "federation": np.stack([noise, truth])}
    return scores, truth, focused(picture_of.thirds(), len(truth), 3, 400, 12, rng)


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


def test_letters_view_knows_right_from_wrong(letters):
    scores, truth, owned = letters
    fig = draw_stochastic.draw_letters(scores, truth, owned, client=1, round=2)
    titles = [ax.get_title() for ax in fig.axes]
    assert titles[0] == "client 1 owns\n412 pixels"
    assert titles[1].startswith("alone, round 2\nIoU F 1.00, S 1.00, U 1.00")
    (image,) = fig.axes[1].images
    np.testing.assert_array_equal(image.get_array().ravel(), truth)  # no pixel is coloured as wrong
    seen = fig.axes[0].images[0].get_array().ravel()
    assert np.isfinite(np.ma.filled(seen, np.nan)).sum() == 412
    wrong = draw_stochastic.draw_letters(scores, truth, owned, client=2, round=1).axes[1].images[0].get_array()
    assert (wrong >= 2).sum() == 2 * truth.sum()  # all white ones missed, as many black ones white


@pytest.mark.parametrize("chosen", [dict(client=0, round=1), dict(client=4, round=1), dict(client=1, round=3)])
def test_unknown_client_or_round_is_refused(letters, chosen):
    with pytest.raises(ValueError, match=r"expected 1\.\.3 and 1\.\.2"):
        draw_stochastic.draw_letters(*letters, **chosen)


def test_views_are_pure(bands, letters):
    for draw, one, other in (
        (
            lambda **k: draw_stochastic.draw_band(*bands, **k),
            dict(loss="energy score", sigma=0.1, paths=20),
            dict(paths=50),
        ),
        (lambda **k: draw_stochastic.draw_letters(*letters, **k), dict(client=2, round=1), dict(client=3)),
    ):
        assert png(draw(**one)) == png(draw(**one)) != png(draw(**(one | other)))


@pytest.fixture
def of_quick_size():
    """What the widgets of notebooks 08 and 09 show in their quick profiles: explorer -> arguments."""
    net, rng = SNN(1, 8, 16), stream(0, "quick size")
    rows = iter(stack(net, [(i,) for i in range(12)], init_snn))
    losses, sigmas = ("energy score", "likelihood, corrected", "squared error"), (0.05, 0.1, 0.2, 0.4)
    truth = picture_of.letters().ravel()
    scores = {
        "alone": rng.uniform(size=(10, 30, len(truth))).astype(np.float32),
        "federation": rng.uniform(size=(10, len(truth))).astype(np.float32),
    }
    return {
        "band": (net, {(loss, sigma): next(rows) for loss in losses for sigma in sigmas}),
        "letters": (scores, truth, focused(picture_of.thirds(), len(truth), 30, 400, 12, rng)),
    }


@pytest.mark.parametrize("name", ["band", "letters"])
def test_sliders_answer_at_once(of_quick_size, name):
    box = getattr(draw_stochastic, f"{name}_explorer")(*of_quick_size[name])
    assert_redraws_fast(every_move(box))


def test_many_paths_are_as_fast_as_few(of_quick_size):
    box = draw_stochastic.band_explorer(*of_quick_size["band"])
    next(c for c in box.children if c.description == "paths").value = 200
    assert_redraws_fast(every_move(box))


def test_limits_of_the_band_do_not_depend_on_what_is_chosen(of_quick_size):
    net, models = of_quick_size["band"]
    limits = {tuple(ax.get_ylim() for ax in draw_stochastic.draw_band(net, models, *key).axes) for key in models}
    assert len(limits) == 1


def test_first_look_shows_all_points_and_those_of_a_client():
    x, own = np.linspace(0, 1, 50), np.arange(10, 17)
    left, right = draw_stochastic.first_look(x, x**2 + 0.1, x**2, 0.1, own, 3).axes
    assert len(left.lines[0].get_xdata()) == 50
    np.testing.assert_array_equal(right.lines[0].get_xdata(), x[own])
    assert right.get_title() == "the 7 observations of client 3"


def test_curve_data_has_a_strip_of_points_for_each_client_with_its_number():
    x = np.linspace(0, 2 * np.pi, 50)
    owned = {1: x[:7], 25: x[20:23]}
    left, right = draw_stochastic.curve_data(x, np.sin(x) + 0.1, np.sin(x), 0.2, owned, 30).axes
    np.testing.assert_allclose([line.get_xdata()[0] for line in left.lines[2:]], 2 * np.pi * np.arange(1, 10) / 10)
    for strip, own in zip(right.lines, owned.values(), strict=True):
        np.testing.assert_array_equal(strip.get_xdata(), own)
    assert [label.get_text() for label in right.get_yticklabels()] == ["1", "25"]
    assert right.get_title() == "points of 2 of the 30 clients, non-IID 110"


def test_alone_view_marks_what_each_client_knows():
    x, K = np.linspace(0, 1, 20), 3
    regions = [(k / K, (k + 1) / K) for k in range(K)]
    fig = draw_stochastic.alone_view(x, x, 0.1, [1, 5, 9], np.zeros((K, 20)), np.ones((K, 20)), regions)
    assert [ax.get_title() for ax in fig.axes] == ["client 1 alone", "client 5 alone", "client 9 alone"]
    boxes = [ax.patches[0].get_extents().transformed(ax.transData.inverted()) for ax in fig.axes]
    np.testing.assert_allclose([(b.x0, b.x1) for b in boxes], regions)


@pytest.mark.parametrize("sigmas", [[0.1], [0.05, 0.4]])
@pytest.mark.parametrize("S", [1, 2])
def test_noise_view_has_a_curve_for_each_loss(sigmas, S):
    x, learnt = np.linspace(0, 6, 30), {name: np.full((S, len(sigmas)), 0.2) for name in ("a", "b", "c")}
    fig = draw_stochastic.noise_view(sigmas, learnt, x, 0.1 + x, {n: np.ones((S, 30)) for n in ("vector", "net")})
    labels = [[line.get_label() for line in ax.lines] for ax in fig.axes]
    assert labels == [["a", "b", "c", "truth"], ["vector", "net", r"true $\sigma(x)$"]]
    np.testing.assert_allclose(fig.axes[0].lines[0].get_ydata(), 0.2)


def test_surface_maps_share_one_scale_of_colours():
    n = 5
    fields = {title: np.full(n * n, value) for title, value in (("true f", 1.0), ("federated", -2.0), ("alone", 0.0))}
    fig = draw_stochastic.surface_maps(fields, np.full(n * n, 0.2), 0.1)
    images = [ax.images[0] for ax in fig.axes if ax.images]
    assert [image.get_clim() for image in images] == [(-2, 2)] * 3 + [(0, pytest.approx(0.3))]


def test_iou_view_shows_every_client_of_every_seed():
    S, R, K = 2, 4, 6
    own, others = np.full((S, K), 0.9), np.full((S, K, 2), 0.1)
    left, right = draw_stochastic.iou_view([1, 2, 3, 4], np.full((S, R, 3), 0.5), own, others).axes
    assert [len(line.get_ydata()) for line in right.lines] == [S * K, 2 * S * K, 3 * S]
    assert [set(line.get_ydata()) for line in right.lines] == [{0.9}, {0.1}, {0.5}]
    assert len(left.lines) == 3


@pytest.mark.parametrize("n", [1, 2, 5])
def test_pictures_view_has_no_empty_panel(letters, n):
    truth = letters[1]
    fig = draw_stochastic.pictures_view({f"round {r}": truth for r in range(n)}, truth)
    assert [ax.get_title() for ax in fig.axes] == [f"round {r}: IoU F 1.00, S 1.00, U 1.00" for r in range(n)]
