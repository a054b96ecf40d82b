"""Pictures of the picture that nobody owns: its pixels, what clients draw, and how right they are."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ....notebook.style import CLIENTS, COLORS, MARKERS, OTHERS, growth, panels
from ..figures import TRUTH
from .picture import Picture
from .study import Results

BLACK, WHITE, UNKNOWN = "#101010", "#ffffff", "#999999"
WRONG = {"white, should be black": OTHERS[0], "black, should be white": OTHERS[1]}
DRAWN = ListedColormap([BLACK, WHITE, *WRONG.values(), UNKNOWN])
"""Codes of pixels: right black, right white; wrongly white; wrongly black; not known."""

# pictures


def codes(white: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """0 and 1 for right black and white, 2 wrongly white, 3 wrongly black; bool arrays of one shape."""
    return np.where(white & ~truth, 2, np.where(~white & truth, 3, white.astype(int)))


def show(ax, pixels: np.ndarray, shape: tuple[int, int], title: str = "") -> None:
    """Codes of pixels [n] as a picture."""
    ax.imshow(pixels.reshape(shape), cmap=DRAWN, vmin=0, vmax=4)
    ax.set(xticks=[], yticks=[], title=title)


def excerpt(shard: np.ndarray, picture: Picture) -> np.ndarray:
    """Codes [n] of what a client knows who owns these pixels [n_k]."""
    pixels = np.full(picture.white.size, 4)
    pixels[shard] = picture.white.ravel()[shard]
    return pixels


def panel(picture: Picture, width: float) -> tuple[float, float]:
    """Size of a panel, in inches, for a picture of this shape below a title."""
    return width, min(width * picture.shape[0] / picture.shape[1], width) + 0.35


def grid(shown: Mapping[str, np.ndarray], picture: Picture, colours: Mapping[str, str], columns: int = 2) -> Figure:
    """Pictures, title -> codes [n], and what colours in them mean."""
    rows = -(-len(shown) // columns)
    width, height = panel(picture, 7.6 / columns)
    fig, axes = panels(rows, columns, size=(width, height + 0.15 / rows))
    for ax, (title, pixels) in zip(axes.flat, shown.items(), strict=False):
        show(ax, pixels, picture.shape, title)
    for ax in axes.flat[len(shown) :]:
        ax.remove()
    handles = [Patch(fc=color, ec="0.5", label=label) for label, color in colours.items()]
    fig.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return fig


def drawings(shown: Mapping[str, np.ndarray], picture: Picture) -> Figure:
    """Drawn pictures, title -> white, bool [n], with their wrong pixels in colour and the overlap of each letter."""
    titles = {
        title: f"{title}, overlap {in_words(picture.overlaps(white), picture.names)}" for title, white in shown.items()
    }
    truth = picture.white.ravel()
    named = {titles[title]: codes(np.asarray(white), truth) for title, white in shown.items()}
    return grid(named, picture, {"white, right": WHITE, "black, right": BLACK} | WRONG)


def in_words(overlaps: Sequence[float], names: Sequence[str]) -> str:
    """Overlap of each letter as text."""
    return ", ".join(f"{name} {value:.2f}" for name, value in zip(names, overlaps, strict=True))


def first(results: Results) -> list[int]:
    """The first client, 0, 1, ..., of each group: 1, 11, 21 of 30."""
    return [results.alone.sizes["client"] * i // 3 for i in range(3)]


def letters(results: Results) -> Figure:
    """Figs. 16 to 19: what a client of each group draws alone, and what the federation draws, of the first seed."""
    shown = {f"client {k + 1} alone": results.last("isolated").isel(seed=0, client=k).values for k in first(results)}
    return drawings(shown | {"federated": results.last().isel(seed=0).values}, results.picture)


def rounds(results: Results) -> Figure:
    """What the federation draws after some of the rounds, of the first seed."""
    every = results.together.sel(kind="federated").isel(seed=0)
    V = every.sizes["round"]
    some = sorted({0, 1, 2, V // 5, V // 2, V - 1} & {*range(V)})
    return drawings({f"round {every['round'].values[v]}": every.isel(round=v).values for v in some}, results.picture)


def authors(results: Results, picture: Picture) -> Figure:
    """Fig. 19 at the authors' size: what two federations draw, of the first seed; picture: of that size."""
    shown = {steps: every.isel(seed=0).values for steps, every in results.authors.items()}
    return drawings(shown, picture)


def thirds(picture: Picture) -> Figure:
    """Figs. 12 to 15: the whole picture and, below, its thirds."""
    fig = Figure(tuple(growth() * np.array((6.5, 2 * panel(picture, 4.5)[1]))), layout="constrained")
    axes = fig.subplot_mosaic([["all"] * 3, [0, 1, 2]], height_ratios=[1.3, 1])
    pixels, rows = picture.white.ravel().astype(int), picture.shape[0]
    show(axes["all"], pixels, picture.shape, rf"the picture, $\Xi$ = {picture.xi} white pixels (Fig. 12)")
    for i, (name, third) in enumerate(zip(picture.names, picture.thirds, strict=True)):
        show(axes[i], pixels[third], (rows, len(third) // rows), f"sub-image {i + 1}: {name} (Fig. {13 + i})")
    return fig


def owners(picture: Picture, shards: Mapping[str, np.ndarray]) -> Figure:
    """The picture and the pixels that some clients own: title -> their numbers [n_k]."""
    shown = {rf"the picture, $\Xi$ = {picture.xi} white pixels": picture.white.ravel().astype(int)}
    shown |= {f"{title}: {len(shard)} pixels": excerpt(shard, picture) for title, shard in shards.items()}
    return grid(shown, picture, {"white": WHITE, "black": BLACK, "not known": UNKNOWN})


# looks of what ``pictures.curves`` draws

DRAWINGS = {
    "federated": {"color": COLORS["federated"], "marker": "o"},
    "in one place": {"color": COLORS["centralised"], "marker": "s"},
    "large, our steps": {"color": OTHERS[2], "marker": "^", "ls": "--"},
    "large, their steps": {"color": OTHERS[0], "marker": "D", "lw": 2.5},
    "truth": TRUTH,
}


def letter(name: str) -> dict:
    """Of an overlap: that of the clients who know the letter; of "each letter" dots alone."""
    if name == "each letter":
        return {"color": OTHERS[4], "marker": "o", "ls": ""}
    k = ("F", "S", "U", "left", "middle", "right").index(name) % 3
    return {"color": CLIENTS[k], "marker": MARKERS[k]}
