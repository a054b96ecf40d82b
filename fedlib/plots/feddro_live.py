"""Notebook 10 live: what clients see and where it is carried, and which clean digits the two federations read."""

import numpy as np
import torch

from .. import live
from ..live.watched import Moment, Watched
from ..live.widgets import slider
from ..notebook.style import COLORS, set_ticks
from ..problems import feddro_live as problem
from ..problems.feddro import answers

ALT = (
    "left above a digit as five clients see it, and carried to the barycenter; below the share of clean digits that "
    "both federations read, digit by digit; right the clients' steps in the plane of weights, and the errors"
)
DIGIT, SIDE, GAP = 3, 28, 2


def tiles(of, digit: int = DIGIT) -> np.ndarray:
    """Two rows of pictures, a column for each client: its first such digit as seen, and mapped; 0 black, 1 white."""
    page = np.ones((2 * SIDE + GAP, len(of.seen.shards) * (SIDE + GAP) - GAP))
    for k, own in enumerate(of.seen.shards):
        first = next(i for i in own if of.seen.y[i] == digit)
        for row, part in enumerate((of.seen, of.mapped)):
            x = part.x[first].reshape(SIDE, SIDE)
            top, left = row * (SIDE + GAP), k * (SIDE + GAP)
            page[top : top + SIDE, left : left + SIDE] = (x - x.min()) / np.ptp(x)
    return page


def read(watched: Watched, moment: Moment) -> dict[str, np.ndarray]:
    """Federation -> share (%) of the clean test digits 0 to 9 that its model reads, of the last average or start."""
    x, y = (v[: problem.TESTED] for v in problem.digits()["test"])
    rows = moment.done.after if moment.averaged else moment.walk[:, 0]
    models = torch.stack([rows[own][0] for own in watched.where().values()])
    distinct, which = models.unique(dim=0, return_inverse=True)  # both start from the same one
    right = (watched.values(distinct, lambda predict: answers(predict, x)) == y)[which].double()
    shares = torch.stack([100 * right[:, y == digit].mean(1) for digit in range(10)], 1).numpy()
    return dict(zip(watched.where(), shares, strict=True))


def scene(axes, watched: Watched, moment: Moment) -> None:
    """Above what is seen and what it becomes, below what the models read."""
    above, below = axes
    above.imshow(tiles(watched.more), cmap="gray", vmin=0, vmax=1)
    set_ticks(above.yaxis, [SIDE / 2, 1.5 * SIDE + GAP], ["seen", "carried"])
    clients = range(problem.K)
    set_ticks(above.xaxis, [SIDE / 2 + k * (SIDE + GAP) for k in clients], [f"{k + 1}" for k in clients])
    above.set_xlabel(f'a "{DIGIT}" of each client')
    above.tick_params(length=0)
    for spine in above.spines.values():
        spine.set_visible(False)
    colors = COLORS["federated"], COLORS["other"]
    for i, (color, values) in enumerate(zip(colors, read(watched, moment).values(), strict=True)):
        below.bar(np.arange(10) + 0.4 * i - 0.2, values, 0.4, color=color)
    set_ticks(below.xaxis, range(10))
    below.set(xlabel="clean digit", ylabel="read (%)", ylim=(0, 100))


def show() -> None:
    """The live training of notebook 10."""
    live.show(
        "10", problem.training, scene, ALT, panels=2,
        level=slider([0.2, 0.5, 2.0, 5.0], 2.0, "shift |Λ|", "How far each client's map moves its digits."),
        atoms=slider([1, 2, 5, 10], 5, "atoms", "Points of the barycenter for each digit."),
        rounds=slider([0, 1, 2, 3, 6], 3, "rounds for Q", "Rounds in which the barycenter Q is looked for."),
        E=slider([1, 2, 5, 10], 2, "local steps"),
        lr=slider([0.01, 0.05, 0.1], 0.05, "rate"),
    )  # fmt: skip
