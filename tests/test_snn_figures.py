"""Views of the stochastic networks: they show what they are given, refuse what is not there, and redraw in time."""

from itertools import cycle

import numpy as np
import pytest
import torch

from fedlib import noisy, snn_figures
from fedlib.networks import predict, stack
from fedlib.pages import png
from fedlib.partitions import focused
from fedlib.stochastic import SNN, init_snn
from fedlib.streams import stream, torch_stream

from .conftest import assert_redraws_fast


@pytest.fixture
def bands():
    net = SNN(1, 8, 16)
    rows = stack(net, [(0,), (1,)], init_snn)
    return net, {("energy score", 0.1): rows[0], ("squared error", 0.1): rows[1]}


@pytest.fixture
def letters():
    """Three clients whose scores are: the truth, its opposite, noise; two rounds. The federation: noise, then truth."""
    truth, rng = noisy.letters().ravel(), stream(0, "scores")
    noise = rng.uniform(size=len(truth))
    scores = {"alone": np.stack([[truth, ~truth, noise]] * 2).astype(float), "federation": np.stack([noise, truth])}
    return scores, truth, focused(noisy.thirds(), len(truth), 3, 400, 12, rng)


def test_band_shows_the_spread_of_the_paths(bands):
    net, models = bands
    fig = snn_figures.draw_band(net, models, "energy score", 0.1, paths=30, seed=3)
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
        snn_figures.draw_band(*bands, "energy score", 0.3)


def test_letters_view_knows_right_from_wrong(letters):
    scores, truth, owned = letters
    fig = snn_figures.draw_letters(scores, truth, owned, client=1, round=2)
    titles = [ax.get_title() for ax in fig.axes]
    assert titles[0] == "client 1 owns 412 pixels"
    assert titles[1].startswith("alone, round 2: IoU F 1.00, S 1.00, U 1.00")
    (image,) = fig.axes[1].images
    np.testing.assert_array_equal(image.get_array().ravel(), truth)  # no pixel is coloured as wrong
    seen = fig.axes[0].images[0].get_array().ravel()
    assert np.isfinite(np.ma.filled(seen, np.nan)).sum() == 412
    wrong = snn_figures.draw_letters(scores, truth, owned, client=2, round=1).axes[1].images[0].get_array()
    assert (wrong >= 2).sum() == 2 * truth.sum()  # all white ones missed, as many black ones white


@pytest.mark.parametrize("chosen", [dict(client=0, round=1), dict(client=4, round=1), dict(client=1, round=3)])
def test_unknown_client_or_round_is_refused(letters, chosen):
    with pytest.raises(ValueError, match=r"expected 1\.\.3 and 1\.\.2"):
        snn_figures.draw_letters(*letters, **chosen)


def test_views_are_pure_and_redraw_within_200_ms(bands, letters):
    """Processor time: what a slider costs does not depend on who else uses the machine."""
    for draw, one, other in (
        (
            lambda **k: snn_figures.draw_band(*bands, **k),
            dict(loss="energy score", sigma=0.1, paths=20),
            dict(paths=50),
        ),
        (lambda **k: snn_figures.draw_letters(*letters, **k), dict(client=2, round=1), dict(client=3)),
    ):
        assert png(draw(**one)) == png(draw(**one)) != png(draw(**(one | other)))
    for box, name in (
        (snn_figures.band_explorer(*bands), "paths"),
        (snn_figures.letters_explorer(*letters), "client"),
    ):
        slider = next(c for c in box.children if c.description == name)
        values = cycle((2, 3))
        assert_redraws_fast(lambda: setattr(slider, "value", next(values)))  # noqa: B023
