"""Notebook 09 live: the federated picture forming, and what a client of each letter owns and draws."""

import numpy as np
from matplotlib.colors import ListedColormap

from .. import live
from ..live.watched import Moment, Watched
from ..live.widgets import choice, slider
from ..notebook.style import set_ticks
from ..problems import letters_live as problem
from .letters import WRONG, show_drawn

ALT = (
    "left the picture that the server's model draws, below for a client of each letter the pixels that it owns and "
    "the picture that its own model draws, wrong pixels in colour; right the clients' steps in the plane of weights, "
    "and the errors over the rounds"
)
COLOURS = ListedColormap([*WRONG.colors, "#999999", "#ffffff"])
"""Codes 4 and 5: a pixel that nobody has shown, and the paper between two pictures."""
UNKNOWN, PAPER = 4, 5
GAP = 3  # pixels between two pictures


def codes(drawn: np.ndarray, white: np.ndarray) -> np.ndarray:
    """0 and 1 for right black and white, 2 wrongly white, 3 wrongly black; of pictures bool [n]."""
    return np.where(drawn & ~white, 2, np.where(~drawn & white, 3, white.astype(int)))


def sheet(shown: problem.Drawing, clients: list[int], drawn: np.ndarray) -> np.ndarray:
    """A row for each of the clients: left what it owns, right what it draws (bool [K, n]), as codes of colours."""
    white, (rows, columns) = shown.picture.white.ravel(), shown.picture.shape
    page = np.full((len(clients) * (rows + GAP) - GAP, 2 * columns + GAP), PAPER)
    for i, k in enumerate(clients):
        known, top = np.full(white.size, UNKNOWN), i * (rows + GAP)
        known[shown.owned[k]] = white[shown.owned[k]]
        page[top : top + rows, :columns] = known.reshape(rows, columns)
        page[top : top + rows, columns + GAP :] = codes(drawn[k], white).reshape(rows, columns)
    return page


def scene(axes, watched: Watched, moment: Moment) -> None:
    """Above what the model draws that a round began with or ended with; below a client of each letter, as it is now."""
    above, below = axes
    shown = watched.more
    own, given = (
        watched.values(rows, lambda predict: problem.drawn(predict, shown)).numpy() for rows in watched.now(moment)
    )
    show_drawn(above, given[0], shown.picture)
    wrong = 100 * (given[0] != shown.picture.white.ravel()).mean()
    said = "after the average" if moment.averaged else "where the round began"
    above.set_xlabel(f"the federation {said}: {wrong:.0f} % of the pixels wrong")
    clients = [len(own) * i // 3 for i in range(3)]  # the first of each letter
    page, rows = sheet(shown, clients, own), shown.picture.shape[0]
    below.imshow(page, cmap=COLOURS, vmin=0, vmax=PAPER)
    names = zip(clients, shown.picture.names, strict=True)
    set_ticks(below.yaxis, [rows / 2 + i * (rows + GAP) for i in range(3)], [f"client {k + 1} ({n})" for k, n in names])
    columns = [shown.picture.shape[1] * 0.5, shown.picture.shape[1] * 1.5 + GAP]
    set_ticks(below.xaxis, columns, ["owns (else grey)", "draws by itself"])
    below.tick_params(length=0)
    for spine in below.spines.values():
        spine.set_visible(False)


def show() -> None:
    """The live training of notebook 09."""
    live.show(
        "09", problem.training, scene, ALT, panels=2,
        own=slider([20, 50, 100, 200, 400], 200, "own pixels L", "Pixels that a client has of its own letter."),
        others=slider([0, 6, 12, 50, 200], 6, "other pixels F", "Pixels that a client has of the other letters."),
        clients=slider([3, 6, 9], 6, "clients K"),
        active=choice(
            [("a third", 1 / 3), ("two thirds", 2 / 3), ("all", 1.0)], 1.0, "active share",
            "Share of the clients that take part in a round.",
        ),
        E=slider([1, 5, 10, 20, 50], 10, "local steps"),
        lr=slider([0.003, 0.01, 0.03], 0.03, "rate"),
    )  # fmt: skip
