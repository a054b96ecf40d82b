"""Notebook 10b live: what is stored of four ways to train, and three clients' shifted digits to watch a training on."""

from functools import cache
from typing import NamedTuple

import numpy as np
import torch
import xarray
from torch import Tensor

from .... import live
from ....federated.batches import Local
from ....federated.federation import Federation, join
from ....federated.optimizers import sgd
from ....live.levels import explore
from ....live.modules import Piece
from ....live.watched import Moment, Watched
from ....live.widgets import slider
from ....notebook.style import COLORS, set_ticks
from ....trainings.store import stored
from . import study
from .barycenters import mended
from .figures import STEP, STYLES, tiles
from .handwriting import SIDE, Clients, deal_digits, handwriting
from .problem import CNN, MOMENTUM, answers, classification
from .shifts import shifted

# what is stored


def explorer() -> Piece:
    """Digits that are not read, over the rounds and against the size of the shift."""
    histories = {("rounds", way): stored(study, ("rounds", way), earlier=True) for way in study.FOUR}
    return explore(*misread(study.joined({way: study.measured(h) for (_, way), h in histories.items()})))


def misread(accuracy: xarray.DataArray) -> tuple[xarray.DataArray, xarray.DataArray]:
    """(curves, errors) as ``explore`` takes them, of accuracies (%) [way, round, level, seed]: clean digits that are
    not read; truth: none."""
    wrong = (100 - accuracy).rename(way="model", level="shift |Λ|").sortby("shift |Λ|")
    x = wrong["round"].values.astype(float)
    colors = [STYLES[way]["color"] for way in wrong.model.values.tolist()]
    curves = wrong.isel(seed=0, drop=True).rename(round="x").transpose("shift |Λ|", "model", "x")
    curves = curves.assign_coords(x=x, truth=("x", np.zeros(len(x))), color=("model", colors))
    labels = {"xlabel": "round", "ylabel": "clean digits that are not read (%)", "limits": (0.0, 92.0)}
    errors = wrong.isel(round=-1, drop=True).transpose("shift |Λ|", "model", "seed")
    return curves.assign_attrs(labels), errors


# a training to watch

K, EACH, KINDS, TESTED = 3, 25, 5, 50  # three of the five clients, and digits 0 to 4: so few that a slider answers soon
ON_Q, RAW = "on the barycenter", "FedAvg on what they see"
DIGIT = 3
ALT = (
    "left above a digit as three clients see it, and carried to the barycenter; below the share of clean digits that "
    "both federations read, digit by digit; right the clients' steps in the plane of weights, and the errors"
)


class Shown(NamedTuple):
    """What the clients see, and where their maps carry it."""

    seen: Clients
    mapped: Clients


def small(part: str) -> tuple[Tensor, Tensor]:
    """(x [n, 784], y [n]) of the digits below KINDS, of "train" or "test"."""
    x, y = handwriting()[part]
    return x[y < KINDS], y[y < KINDS]


@cache
def carried(level: float, atoms: int, rounds: int) -> Shown:
    """Clients with a shift of size |Lambda|, and where a barycenter of so many atoms and rounds carries them."""
    seen = shifted(deal_digits(small("train"), K, EACH), level, 0, "shared")
    return Shown(seen, mended(seen, atoms, rounds, seed=0).mapped)


def training(level: float = 0.5, atoms: int = 5, rounds: int = 3, E: int = 2, lr: float = 0.05) -> Watched:
    """FedAvg on the mapped digits, beside FedAvg on what the clients see; E steps of SGD with batches of 5.

    Without the ascent on theta_i. error: share (%) of clean test digits that a model reads wrongly.
    """
    shown = carried(level, atoms, rounds)
    parts = {RAW: shown.seen, ON_Q: shown.mapped}
    pool, joined = join(
        {
            name: {"x": torch.as_tensor(part.x, dtype=torch.float32), "y": torch.as_tensor(part.y)}
            for name, part in parts.items()
        }
    )
    federations = {name: Federation(joined(name, part.shards), lr=lr) for name, part in parts.items()}
    x, y = (v[:TESTED] for v in small("test"))
    args = dict(local=Local(E, batch_size=5), noise=CNN.NOISE, optimizer=sgd(MOMENTUM), reset_moments=True)

    def wrong(predict):
        return 100 * (answers(predict, x) != y).float().mean()

    return Watched(CNN(), classification, pool, federations, args | {"dtype": torch.float32}, wrong, shown)


def page(shown: Shown, digit: int = DIGIT) -> np.ndarray:
    """Two rows of pictures, a column for each client: its first such digit as seen, and mapped; 0 black, 1 white."""
    first = [next(i for i in shard if shown.seen.y[i] == digit) for shard in shown.seen.shards]
    return tiles(np.array([[(x - x.min()) / np.ptp(x) for x in part.x[first]] for part in shown]))


def read(watched: Watched, moment: Moment) -> dict[str, np.ndarray]:
    """Federation -> share (%) of each clean test digit that its model reads, of the last average or start."""
    x, y = (v[:TESTED] for v in small("test"))
    rows = moment.done.after if moment.averaged else moment.walk[:, 0]
    models = torch.stack([rows[where][0] for where in watched.where().values()])
    distinct, which = models.unique(dim=0, return_inverse=True)  # both start from the same one
    right = (watched.values(distinct, lambda predict: answers(predict, x)) == y)[which].double()
    shares = torch.stack([100 * right[:, y == digit].mean(1) for digit in range(KINDS)], 1).numpy()
    return dict(zip(watched.where(), shares, strict=True))


def scene(axes, watched: Watched, moment: Moment) -> None:
    """Above what is seen and what it becomes, below what the models read."""
    above, below = axes
    above.imshow(page(watched.more), cmap="gray", vmin=0, vmax=1)
    set_ticks(above.yaxis, [SIDE / 2, SIDE / 2 + STEP], ["seen", "carried"])
    set_ticks(above.xaxis, [SIDE / 2 + k * STEP for k in range(K)], [f"{k + 1}" for k in range(K)])
    above.set_xlabel(f'a "{DIGIT}" of each client')
    above.tick_params(length=0)
    for spine in above.spines.values():
        spine.set_visible(False)
    colors = COLORS["federated"], COLORS["other"]
    for i, (color, values) in enumerate(zip(colors, read(watched, moment).values(), strict=True)):
        below.bar(np.arange(KINDS) + 0.4 * i - 0.2, values, 0.4, color=color)
    set_ticks(below.xaxis, range(KINDS))
    below.set(xlabel="clean digit", ylabel="read (%)", ylim=(0, 100))


def show() -> None:
    """The live training of notebook 10b."""
    live.show(
        "10b", training, scene, ALT, panels=2,
        level=slider([0.2, 0.5, 1.0, 2.0, 5.0], 0.5, "shift |Λ|", "How far each client's map moves its digits."),
        atoms=slider([1, 2, 5, 10], 5, "atoms", "Points of the barycenter for each digit."),
        rounds=slider([0, 1, 2, 3, 6], 3, "rounds for Q", "Rounds in which the barycenter Q is looked for."),
        E=slider([1, 2, 5, 10], 2, "local steps"),
        lr=slider([0.01, 0.05, 0.1], 0.05, "rate"),
    )  # fmt: skip
