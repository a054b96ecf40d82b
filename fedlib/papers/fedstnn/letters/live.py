"""Notebook 09 live: drawings as they are stored, by round and client; and a drawing that forms while clients train."""

from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.colors import ListedColormap

from .... import live
from ....federated.batches import Local
from ....federated.federation import Federation, centralised
from ....live.modules import Piece, array
from ....live.watched import Moment, Watched
from ....live.widgets import choice, slider
from ....notebook.run import Run
from ....notebook.style import set_ticks
from ....streams import torch_stream
from ..network import SNN, init_snn
from ..scores import local_loss, squared_error
from . import figures, study
from .figures import DRAWN, codes, excerpt
from .picture import Picture, letters, pixels, psi
from .problem import owners

# as stored


def explorer(round: int = 12, client: int = 1) -> Piece:
    """What the federation draws after each round that was looked at, beside what a client knows and draws alone."""
    run = Run(study)
    results = run.results([(study.NAME, name) for name in ("together", "alone")])
    seed = results.alone.seed.values[0].item()
    return Piece("drawings", packed(results, study.owned(run.parameters, seed), round, client))


def packed(results: study.Results, shards: list[np.ndarray], round: int, client: int) -> dict:
    """What drawings.js takes, of the first seed: pictures as bits, overlaps of each letter as float32.

    shards: pixels of each client. round, client: where the sliders begin.
    """
    picture = results.picture
    federated, alone = results.together.sel(kind="federated").isel(seed=0), results.alone.isel(seed=0)
    seen = np.stack([np.isin(np.arange(picture.white.size), shard) for shard in shards])
    pictures = {"truth": picture.white.ravel(), "seen": seen, "alone": alone.values, "federated": federated.values}
    overlaps = {"alone": picture.overlaps(alone.values), "federated": picture.overlaps(federated.values)}
    rounds, clients = federated["round"].values.tolist(), [*range(1, len(shards) + 1)]
    starts = {"round": (rounds, round), "client": (clients, client)}
    return {
        "controls": [{"name": n, "options": every, "start": every.index(one)} for n, (every, one) in starts.items()],
        "shape": [*picture.shape],
        "names": [*picture.names],
        "pictures": {name: array(np.packbits(white, -1), "u1") for name, white in pictures.items()},
        "overlaps": {name: array(values, "<f4") for name, values in overlaps.items()},
    }


# while it trains

SHAPE, WIDTH = (20, 60), 24
GAP = 3  # pixels between two pictures


class Scene(NamedTuple):
    """The picture; the pixels [n_k] of each client; coordinates [n, 2] and one path's noise [n, N, 1, L] of all."""

    picture: Picture
    shards: list[np.ndarray]
    x: torch.Tensor
    w: torch.Tensor


@cache
def picture() -> Picture:
    return Picture(letters(SHAPE))


def drawn(predict, shown: Scene) -> torch.Tensor:
    """The picture that ONE model draws with one path for every pixel, bool [n]: its Xi highest scores are white."""
    return psi(predict(shown.x, shown.w)[:, 0], shown.picture.xi)


def training(L: int = 200, F: int = 6, clients: int = 6, active: float = 1.0, E: int = 10, lr: float = 0.03) -> Watched:
    """K clients, a third of them for each letter, who own L pixels of its third and F of the rest; E Adam steps.

    active: share of the clients in a round.
    """
    goal = picture()
    shards = owners(goal, clients, L, F, seed=0)
    net = SNN(2, WIDTH, WIDTH, N=2, std=0.1)
    x = pixels(SHAPE).float()
    shown = Scene(goal, shards, x, torch.randn(len(x), *net.noise(1), generator=torch_stream(0, "live")))
    feds = {"federated": Federation(shards, lr=lr, fraction=active), "centralised": centralised(shards, lr=lr)}
    train_args = dict(local=Local(E, batch_size=48), init=init_snn, noise=net.noise(1), reset_moments=True)

    def wrong(predict):
        return 100 * (drawn(predict, shown) ^ goal.truth).float().mean()

    pool = {"x": x, "y": goal.truth.float()}
    return Watched(net, local_loss(squared_error), pool, feds, train_args | {"dtype": torch.float32}, wrong, shown)


ALT = (
    "left the picture that the server's model draws, below for a client of each letter the pixels that it owns and "
    "the picture that its own model draws, wrong pixels in colour; right the clients' steps in the plane of weights, "
    "and the errors over the rounds"
)

SHEET = ListedColormap([*DRAWN.colors, "#ffffff"])
"""Code 5: the paper between two pictures."""
PAPER = 5


def sheet(shown: Scene, clients: list[int], drawn: np.ndarray) -> np.ndarray:
    """A row for each of the clients: left what it owns, right what it draws (bool [K, n]), as codes of colours."""
    white, (rows, columns) = shown.picture.white.ravel(), shown.picture.shape
    page = np.full((len(clients) * (rows + GAP) - GAP, 2 * columns + GAP), PAPER)
    for i, k in enumerate(clients):
        top = i * (rows + GAP)
        page[top : top + rows, :columns] = excerpt(shown.shards[k], shown.picture).reshape(rows, columns)
        page[top : top + rows, columns + GAP :] = codes(drawn[k], white).reshape(rows, columns)
    return page


def scene(axes, watched: Watched, moment: Moment) -> None:
    """Above what the model draws that a round began with or ended with; below a client of each letter, as it is now."""
    above, below = axes
    shown = watched.more
    clients, server = (
        watched.values(rows, lambda predict: drawn(predict, shown)).numpy() for rows in watched.now(moment)
    )
    figures.show(above, codes(server[0], shown.picture.white.ravel()), shown.picture.shape)
    wrong = 100 * (server[0] != shown.picture.white.ravel()).mean()
    when = "after the average" if moment.averaged else "where the round began"
    above.set_xlabel(f"the federation {when}: {wrong:.0f} % of the pixels wrong")
    firsts = [len(clients) * i // 3 for i in range(3)]  # of each letter
    page, rows = sheet(shown, firsts, clients), shown.picture.shape[0]
    below.imshow(page, cmap=SHEET, vmin=0, vmax=PAPER)
    names = zip(firsts, shown.picture.names, strict=True)
    set_ticks(below.yaxis, [rows / 2 + i * (rows + GAP) for i in range(3)], [f"client {k + 1} ({n})" for k, n in names])
    columns = [shown.picture.shape[1] * 0.5, shown.picture.shape[1] * 1.5 + GAP]
    set_ticks(below.xaxis, columns, ["knows (else grey)", "draws by itself"])
    below.tick_params(length=0)
    for spine in below.spines.values():
        spine.set_visible(False)


def show() -> None:
    """The live training of notebook 09."""
    live.show(
        "09", training, scene, ALT, panels=2,
        L=slider([20, 50, 100, 200, 400], 200, "own pixels L", "Pixels that a client has of its own letter."),
        F=slider([0, 6, 12, 50, 200], 6, "other pixels F", "Pixels that a client has of the other letters."),
        clients=slider([3, 6, 9], 6, "clients K"),
        active=choice(
            [("a third", 1 / 3), ("two thirds", 2 / 3), ("all", 1.0)], 1.0, "active share",
            "Share of the clients that take part in a round.",
        ),
        E=slider([1, 5, 10, 20, 50], 10, "local steps"),
        lr=slider([0.003, 0.01, 0.03], 0.03, "rate"),
    )  # fmt: skip
