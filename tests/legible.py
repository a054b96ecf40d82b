"""What every figure of every notebook has to be; nbval's kernels look at each that they draw."""

import re
from collections.abc import Iterable, Iterator

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from fedlib.notebook.run import Run
from fedlib.notebook.style import CLIENTS, COLORS, OTHERS

LETTERS = 10  # px of the smallest ones on a page of 1280
INK = "#000000", "#FFFFFF"  # what words are in, and those within a mark


def watch() -> None:
    """From now on a kernel looks at each figure of the paper's settings, and what moves, before it is saved."""
    save, store, seen = Run._save, Run.explorer, {}

    def looked_at(run: Run, fig: Figure, name: str, alt: str) -> bytes:
        if not run.changed:
            check(fig, name)
            check_roles(labelled(fig), name, seen)
        return save(run, fig, name, alt)

    def moves(run: Run, piece) -> None:
        models = [model for model in piece.data.get("models", []) if "color" in model]
        check_roles([(model["name"], model["color"], "") for model in models], "explorer", seen)
        store(run, piece)

    Run._save, Run.explorer = looked_at, moves


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


ROLES = {
    "paper": "^printed",
    "truth": r"\b(truth|true)\b|\bexact$",
    "isolated": r"\balone\b",
    "centralised": "centralised|one place|all (observations|measurements)",
    "federated": "federated|of the federation|FedAvg|^server|^shared|networks, averaged|Algorithm 2|Adam, .*fall",
    "sums": r"\bsums\b(?! as they are)|one message|own parameters at home",
}
"""Role -> what a label says that names it; the first one counts. Notebook 15 compares with sums as they are."""


def role_of(label: str) -> str | None:
    return next((role for role, pattern in ROLES.items() if re.search(pattern, label)), None)


def check_roles(things: Iterable[tuple[str, str, str]], name: str, seen: dict[str, str]) -> None:
    """AssertionError: a label names a client or a role and has another colour; it has a role's colour, and neither it
    nor the title and the name of y beside it say so; what has no role had another colour before.

    things: of a figure, see ``labelled``. seen: label -> colour, of the notebook's earlier figures.
    """
    for label, color, about in things:
        client, role, said = re.match(r"client ([1-5])\b", label), role_of(label), role_of(about)
        if client:
            assert color == CLIENTS[int(client[1]) - 1], f"{name}: {label!r} is {color}, not that client's"
        elif role:
            assert color == COLORS[role], f"{name}: {label!r} is {color}, not {role}"
        elif color in COLORS.values():
            assert said and color == COLORS[said], f"{name}: {label!r} is {color}, a role's, and does not say so"
        elif color in OTHERS:
            before = seen.setdefault(label.split(":")[0], color)
            assert color == before, f"{name}: {label!r} is {color}, and was {before}"


def labelled(fig: Figure) -> Iterator[tuple[str, str, str]]:
    """(label, colour, words beside it) of what a line or a legend labels, and of coloured words."""
    about = {ax: f"{ax.get_title()}, {ax.get_ylabel()}" for ax in fig.axes}
    named = [(about[ax], *ax.get_legend_handles_labels()) for ax in fig.axes]
    legends = [(", ".join(about.values()), legend) for legend in fig.legends]
    legends += [(about[ax], ax.get_legend()) for ax in fig.axes if ax.get_legend()]
    named += [(words, legend.legend_handles, [t.get_text() for t in legend.texts]) for words, legend in legends]
    for words, handles, labels in named:
        yield from ((label, color_of(handle), words) for handle, label in zip(handles, labels, strict=True))
    for ax in fig.axes:
        coloured = (text for text in ax.texts if text.get_text() and color_of(text) not in INK)
        yield from ((text.get_text(), color_of(text), about[ax]) for text in coloured)


def color_of(artist: Artist | tuple) -> str:
    """As ``COLORS`` has it, without its alpha; of bars that of the first one."""
    artist = artist[0] if isinstance(artist, tuple) else artist
    if isinstance(artist, Line2D | Text):
        return to_hex(artist.get_color()).upper()
    return to_hex(np.atleast_2d(artist.get_facecolor())[0]).upper()
