"""Fits of notebook 04: they show what they are given, and answer a slider in time."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from fedlib.federated.partitions import index_rule
from fedlib.notebook.pages import png
from fedlib.notebook.style import CLIENTS, COLORS
from fedlib.plots import functions as draw_functions

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


def test_examples_show_who_owns_what():
    """Fig. 4C: shades from half way to half way, in the owners' colours."""
    f, of = fits([(2, 1), (2, 5)])
    fig = draw_functions.examples(X, Z, f, {2 * p: of[2, p] for p in (1, 5)}, 1.1 * f)
    assert png(fig)
    for ax, pieces in zip(fig.axes, (2, 10), strict=True):
        assert len(ax.patches) == pieces
        for i, patch in enumerate(ax.patches):
            assert to_hex(patch.get_facecolor()) == CLIENTS[i % 2].lower()
            assert patch.get_x() == pytest.approx(-1 + 2 * i / pieces, abs=0.02)
        assert "federated 0 %, centralised 10 %" in ax.get_title()
    assert to_hex(labelled(fig.axes[0])["centralised"].get_color()) == COLORS["centralised"].lower()
