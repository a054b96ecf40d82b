"""A picture that keeps layout and ticks is the picture that is drawn from scratch."""

from io import BytesIO

import numpy as np
import pytest
from matplotlib.colors import LogNorm
from matplotlib.legend import Legend
from PIL import Image

from fedlib.live import redraw
from fedlib.live.redraw import painter
from fedlib.notebook.style import panels


def curves(a, top=2.0, label="x"):
    fig, ((left, right),) = panels(1, 2)
    t = np.linspace(0, 1, 50)
    left.plot(t, a * t, label=f"a = {a:.1f}")
    left.fill_between(t, 0, a * t, alpha=0.2)
    left.set(xlabel=label, ylabel="y", ylim=(0, top), title=f"slope {a:.2f}")
    left.legend(loc="upper left")
    shown = right.imshow(a * np.outer(t, t), norm=LogNorm(1e-3, top))
    fig.colorbar(shown, ax=right)
    fig.suptitle(f"a = {a:.2f}")
    return fig


def pixels(png):
    return np.asarray(Image.open(BytesIO(png)), float)


@pytest.mark.parametrize("second", [{"a": 0.5}, {"a": 1.5, "top": 1.9}, {"a": 1.5, "label": "z"}])
def test_the_second_picture_is_the_one_drawn_from_scratch_and_so_is_the_first_again(second):
    paint = painter()
    first = paint(curves(1.0))
    assert pixels(first).shape[1] == 1200, "as wide as the page"
    np.testing.assert_array_equal(pixels(paint(curves(**second))), pixels(painter()(curves(**second))))
    assert paint(curves(1.0)) == first


def test_names_of_ticks_may_change():
    def named(name):
        fig, ((ax,),) = panels()
        ax.set_xticks([0, 1], ["first", name])
        return fig

    paint = painter()
    assert paint(named("a")) != paint(named("b"))


def test_an_axis_is_drawn_once_while_its_limits_stay(monkeypatch):
    paint, drawn, ink = painter(), [], redraw.ink
    monkeypatch.setattr(redraw, "ink", lambda canvas, axis: drawn.append(axis.axis_name) or ink(canvas, axis))
    paint(curves(1.0))
    assert drawn == ["x", "y", "x", "y"]
    paint(curves(0.5))
    assert len(drawn) == 4
    paint(curves(0.5, top=5.0))
    assert drawn[4:] == ["y"]


@pytest.mark.parametrize("second", [{"color": "C1"}, {"ls": ":"}, {"mfc": "white"}, {"label": "other"}, {"lw": 5}])
def test_a_legend_is_drawn_once_while_its_entries_stay(monkeypatch, second):
    def outside(y=0.5, label="one", **line):
        fig, ((ax,),) = panels()
        ax.plot([0, 1], [0, y], label=label, **{"marker": "o"} | line)
        ax.set_ylim(0, 1)
        fig.legend(loc="outside upper left")
        return fig

    paint, drawn, ink = painter(), [], redraw.ink
    monkeypatch.setattr(redraw, "ink", lambda canvas, artist: drawn.append(type(artist)) or ink(canvas, artist))
    paint(outside())
    np.testing.assert_array_equal(pixels(paint(outside(0.7))), pixels(painter()(outside(0.7))))
    assert drawn.count(Legend) == 2  # of the fresh one, too
    np.testing.assert_array_equal(pixels(paint(outside(**second))), pixels(painter()(outside(**second))))
    assert drawn.count(Legend) == 4
