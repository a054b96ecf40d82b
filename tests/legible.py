"""What every figure of every notebook has to be; nbval's kernels look at each that they draw."""

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from fedlib.notebook.run import Run

LETTERS = 10  # px of the smallest ones on a page of 1280


def watch() -> None:
    """From now on a kernel looks at each figure of the paper's settings before it is saved."""
    save = Run._save

    def looked_at(run: Run, fig: Figure, name: str, alt: str) -> bytes:
        if not run.changed:
            check(fig, name)
        return save(run, fig, name, alt)

    Run._save = looked_at


def check(fig: Figure, name: str) -> None:
    """AssertionError: nothing is drawn, a line has no point within its axes, words are small or lie upon words."""
    FigureCanvasAgg(fig).draw()
    assert any(len(ax.get_children()) > 10 for ax in fig.axes), f"{name}: nothing is drawn"
    for ax in fig.axes:
        low, high = sorted(ax.get_ylim())
        for line in ax.get_lines():
            y = np.asarray(line.get_ydata(), float)
            inside, drawn = (low <= y) & (y <= high), np.isfinite(y).any() and line.get_transform() == ax.transData
            assert inside.any() or not drawn, f"{name}: {line.get_label()} cannot be seen"
    seen = [text for text in words(fig) if text.get_visible() and text.get_text().strip()]
    smallest, width = min([text.get_fontsize() for text in seen], default=LETTERS), fig.get_size_inches()[0]
    assert smallest * 1280 / (72 * width) > LETTERS, f"{name}: letters of {smallest} pt at a width of {width} inches"
    boxes = [(text.get_text(), text.get_window_extent()) for text in seen]
    boxes = [(text, box.padded(-1)) for text, box in boxes if box.width > 2 and fig.bbox.overlaps(box)]
    upon = [
        (one, other)
        for i, (one, a) in enumerate(boxes)
        for other, b in boxes[:i]
        if a.overlaps(b) and one.startswith("\n") == other.startswith("\n")  # a tick on a second line
    ]
    assert not upon, f"{name}: words lie upon words: {upon[:3]}"


def words(fig: Figure) -> Iterator[Text]:
    """Titles, labels, ticks and legends."""
    for legend in [*fig.legends, *(ax.get_legend() for ax in fig.axes)]:
        yield from legend.get_texts() if legend else ()
    for ax in fig.axes:
        yield ax.title
        if ax.axison:
            yield from (ax.xaxis.label, ax.yaxis.label, *ticks(ax))


def ticks(ax: Axes) -> Iterator[Text]:
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        yield from (tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high)
