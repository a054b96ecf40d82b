"""Pictures of notebook 04: they show what they are given, for any number of levels, and answer a slider in time."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer

from fedlib.federated.partitions import index_rule
from fedlib.plots import functions as draw_functions
from fedlib.plots.style import CLIENTS, COLORS, panels
from fedlib.runs.pages import png

from ..conftest import assert_redraws_fast, every_move

X, Z = np.linspace(-1, 1, 200), np.linspace(-1, 1, 1000)


def labelled(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def fits(levels=((2, 1), (2, 5), (5, 1), (5, 5))):
    """A fit of every level, of quick's size; the federation knows the function, client k is k + 1 times too large."""
    f = np.sin(5 * Z)
    return f, {(K, p): (index_rule(200, K, p), f, np.stack([(k + 2) * f for k in range(K)])) for K, p in levels}


def test_fit_view_shows_owners_and_errors():
    f, of = fits()
    fig = draw_functions.fit_view(X, Z, f, *of[2, 1])
    strip, curves = fig.axes
    assert [line.get_xdata().tolist() for line in strip.get_lines()] == [X[s].tolist() for s in of[2, 1][0]]
    assert {"federated: e = 0.0 %", "client 1 alone: e = 100.0 %", "client 2 alone: e = 200.0 %"} <= set(
        labelled(curves)
    )
    assert "1.005" in strip.get_title()  # two halves: 100 spacings of 2 / 199
    assert [text.get_text() for text in strip.texts] == ["client 1", "client 2"]


def test_colours_keep_their_meaning():
    f, of = fits()
    lines = [*draw_functions.fit_view(X, Z, f, *of[5, 1]).axes[1].get_lines()]
    lines += draw_functions.fits_side_by_side(Z, f, {"p": of[5, 1][1:]}).axes[0].get_lines()
    colour = {line.get_label().split(":")[0]: to_hex(line.get_color()) for line in lines}
    assert colour["f"] == COLORS["truth"].lower()
    assert colour["federated"] == COLORS["federated"].lower()
    assert [colour[f"client {k + 1} alone"] for k in range(5)] == [c.lower() for c in CLIENTS]
    roles = {COLORS[role].lower() for role in ("truth", "federated", "isolated", "centralised")}
    assert not roles & {to_hex(style["color"]) for n in (1, 4, 5) for style in draw_functions.ordered(n)}


def test_untrained_choice_is_refused_with_what_there_is():
    f, of = fits([(2, 1)])
    with pytest.raises(ValueError, match="3 clients with 1 pieces each were not trained here; trained: -"):
        draw_functions.draw_fits(X, Z, f, of, 3, 1)


def test_the_explorer_answers_a_slider_within_200_ms():
    f, of = fits()
    assert_redraws_fast(every_move(draw_functions.fit_explorer(X, Z, f, of)))


@pytest.mark.parametrize(("seeds", "levels"), [(1, 1), (2, 3)])
def test_pictures_of_levels_take_any_number_of_seeds_and_levels(seeds, levels):
    """Each one is drawn to the end: a single level has no width on a logarithmic axis, a single seed no spread."""
    at = np.arange(1, levels + 1)
    error = 0.1 * np.ones((seeds, levels)) / at
    alone = np.stack([error, 2 * error], 2)

    def draw(ax, x):
        draw_functions.error_curves(ax, x, error, alone, error[:, 0])

    n = min(levels, 2)  # numbers of local steps
    of = {"federated": error, "isolated": error[..., None], "central": error[:, 0]}
    sweep = SimpleNamespace(errors=lambda kind, K=None: of[kind])
    everything = [
        draw_functions.two_scales(2 * at, 1 / at, draw, "e"),
        draw_functions.more_clients(at, {K: 1 / at for K in (2, 3, 4, 5)}, sweep),
        draw_functions.bound_panels(at, [2, 5][:n], {"2": error[:1].repeat(n, 0)}, np.ones((n, levels))),
    ]
    for fig in everything:
        assert png(fig)
        assert all(ax.get_xlabel() for ax in fig.axes)
    (shown,) = [line for line in everything[0].axes[0].get_lines() if line.get_label() == "federated"]
    np.testing.assert_allclose(shown.get_ydata(), 0.1 / at)


def test_bars_are_means_of_the_variants():
    _, ((ax,),) = panels()
    draw_functions.bars(ax, {"a": np.array([[0.1, 0.2], [0.3, 0.2]]), "b": np.full((2, 2), 0.5)}, ["coarse", "fine"])
    coarse, fine = (c for c in ax.containers if isinstance(c, BarContainer))
    np.testing.assert_allclose([bar.get_width() for bar in coarse], [0.2, 0.5])
    np.testing.assert_allclose([bar.get_width() for bar in fine], [0.2, 0.5])
