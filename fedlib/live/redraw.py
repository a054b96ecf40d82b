"""Pictures for sliders: only what a move can change is drawn anew."""

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from io import BytesIO

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from PIL import Image

from ..notebook.pages import WIDTH

DENSITY = 1.5  # pixels of the picture for one of the page; still ones have 2, at the price of twice the bytes


def painter() -> Callable[[Figure], bytes]:
    """A function Figure -> PNG bytes, for pictures that resemble each other as those behind a slider do.

    Most of a picture's time goes into its layout and into small writing. Both are kept: the layout of the first figure
    with as many axes, each axis (ticks and labels) while its limits, scale and label stay as they are, and each legend
    of the figure, which stands outside the axes, while its entries do. The rest is drawn on top: lines, areas, images,
    texts, titles. So a drawing function stays a pure function, and is the faster the less its limits depend on its
    arguments.
    """
    layouts: dict[tuple[int, int], tuple] = {}
    papers: dict[tuple, np.ndarray] = {}
    drawn: dict[tuple[int, str], tuple] = {}  # number and name of an axis or legend -> (state, place, pixels)

    def paint(fig: Figure) -> bytes:
        fig.set_dpi(DENSITY * WIDTH / fig.get_figwidth())
        canvas = FigureCanvasAgg(fig)
        pixels = np.asarray(canvas.get_renderer().buffer_rgba())
        arrangement = len(fig.axes), len(fig.texts)
        if arrangement not in layouts:
            canvas.draw()
            layouts[arrangement] = layout_of(fig)
        fig.set_layout_engine("none")
        apply_layout(fig, *layouts[arrangement])
        changing, size = movable(fig), tuple(fig.bbox.size)
        kept = axes_of(fig) | {(i, "legend"): legend for i, legend in enumerate(fig.legends)}
        key = size, *map(paper, fig.axes)
        if key not in papers:
            papers.clear()  # the last one is enough: they take megabytes
            with hidden([*changing, *kept.values()]):
                canvas.draw()
            papers[key] = pixels.copy()
        for name, artist in kept.items():
            state = size, entries(artist) if isinstance(artist, Legend) else frame(artist)
            if name not in drawn or drawn[name][0] != state:
                drawn[name] = state, *ink(canvas, artist)
        pixels[:] = papers[key]
        for name in kept:
            _, place, dark = drawn[name]
            np.minimum(pixels[place], dark, out=pixels[place])
        for artist in changing:
            artist.draw(canvas.get_renderer())
        return encode(canvas)

    return paint


def encode(canvas: FigureCanvasAgg) -> bytes:
    """PNG, hardly compressed: a slider waits for the computer, not for the bytes."""
    out = BytesIO()
    Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB").save(out, "png", compress_level=1)
    return out.getvalue()


def movable(fig: Figure) -> list[Artist]:
    """Everything but colour bars, the figure's legends, and the ticks, labels and paper of axes, in the order in which
    it is drawn."""
    artists = [(1, 0, text) for text in fig.texts]
    for ax in fig.axes:
        if not hasattr(ax, "_colorbar"):
            artists += [(0, a.get_zorder(), a) for a in ax.get_children() if a not in (ax.xaxis, ax.yaxis, ax.patch)]
            if not ax.axison:  # then spines are not drawn either
                artists = [f for f in artists if f[2] not in ax.spines.values()]
    return [artist for *_, artist in sorted(artists, key=lambda f: f[:2]) if artist.get_visible()]


def axes_of(fig: Figure) -> dict[tuple[int, str], Axis]:
    """The x and y axis of all axes but colour bars, as far as they are drawn."""
    shown = [
        (i, ax) for i, ax in enumerate(fig.axes) if ax.axison and ax.get_visible() and not hasattr(ax, "_colorbar")
    ]
    return {(i, axis.axis_name): axis for i, ax in shown for axis in (ax.xaxis, ax.yaxis) if axis.get_visible()}


def ink(canvas: FigureCanvasAgg, artist: Artist) -> tuple[tuple[slice, slice], np.ndarray]:
    """(place, pixels): an axis or a legend alone on white paper, and where it is. Overwrites the canvas."""
    pixels = np.asarray(canvas.buffer_rgba())
    pixels[:] = 255
    artist.draw(canvas.get_renderer())
    dark = pixels.view(np.uint32)[..., 0] != 2**32 - 1
    rows, columns = np.flatnonzero(dark.any(1)), np.flatnonzero(dark.any(0))
    place = tuple(slice(line[0], line[-1] + 1) if len(line) else slice(0) for line in (rows, columns))
    return place, pixels[place].copy()


@contextmanager
def hidden(artists: Sequence[Artist]):
    """Draw without them."""
    for artist in artists:
        artist.set_visible(False)
    yield
    for artist in artists:
        artist.set_visible(True)


def paper(ax: Axes) -> tuple:
    """What is under the axis and the artists of an axes; a colour bar is all of it."""
    bar = (frame(ax.xaxis), frame(ax.yaxis)) if hasattr(ax, "_colorbar") else ()
    return ax.axison, ax.get_visible(), ax.get_facecolor(), bar


def frame(axis: Axis) -> tuple:
    """What the ticks and labels of an axis depend on."""
    ticks, names = axis.get_major_locator(), axis.get_major_formatter()
    parts = [*axis.get_view_interval(), axis.get_scale(), axis.get_label_text(), type(ticks), type(names)]
    parts += [tuple(getattr(ticks, "locs", ())), tuple(getattr(names, "seq", ()))]
    parts += [str(getattr(getattr(names, "func", None), "args", ""))]  # the names that set_xticks was given
    return tuple(parts)


LOOKS = (
    "color", "facecolor", "edgecolor", "alpha", "linestyle", "linewidth", "hatch", "sizes", "marker", "markersize",
    "markerfacecolor", "markeredgecolor",
)  # fmt: skip
"""Of lines, areas and points; a getter for each."""


def entries(legend: Legend) -> tuple:
    """What a legend depends on: its words, and how what stands before each of them looks."""
    words = [text.get_text() for text in (legend.get_title(), *legend.get_texts())]
    looks = [
        [type(handle), *(getattr(handle, f"get_{name}")() for name in LOOKS if hasattr(handle, f"get_{name}"))]
        for handle in legend.legend_handles
    ]
    return legend._ncols, *words, str(looks)


def layout_of(fig: Figure) -> tuple:
    """Places of the axes, of their titles and of the figure's texts."""
    axes = [(ax.get_position(original=True), ax.get_box_aspect(), ax.get_anchor(), ax.title) for ax in fig.axes]
    return [(*place, title.get_position()) for *place, title in axes], [text.get_position() for text in fig.texts]


def apply_layout(fig: Figure, axes: Sequence[tuple], texts: Sequence[tuple]) -> None:
    for ax, (place, box_aspect, anchor, title) in zip(fig.axes, axes, strict=True):
        ax.set_position(place, which="original")
        ax.set_box_aspect(box_aspect)
        ax.set_anchor(anchor)
        ax.title.set_position(title)
        ax._autotitlepos = False  # or matplotlib measures all ticks anew to place the title
        ax.apply_aspect()
    for text, place in zip(fig.texts, texts, strict=True):
        text.set_position(place)
