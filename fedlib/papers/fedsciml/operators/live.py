"""Notebook 07 live: bars of ten terms that one drags, and what trained networks make of them; a training to watch."""

from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .... import live
from ....federated.experiment import Experiment
from ....live.modules import Piece, array
from ....live.views import draw_models
from ....live.watched import Moment, Watched, watched_experiment
from ....live.widgets import slider
from ....notebook.style import CLIENTS, COLORS
from ....numerics.spaces import TERMS, chebyshev_draws
from ....streams import stream
from ....trainings.store import stored
from . import study
from .problem import draws, federated_operator, learn_antiderivative

OPERATOR = learn_antiderivative()

# stored models

SHOWN = (2, 5, 6, 10)
"""Levels n whose networks the piece has."""


def explorer(start: int = 6) -> Piece:
    """Bars to drag, the function that they make, and what each client alone, both in one place and the federation make
    of it."""
    return Piece("terms", packed(stored_models(), start))


def stored_models() -> dict[int, dict[str, Tensor]]:
    """Level n of SHOWN -> label -> parameters [P], of the first seed."""
    names = [(study.LINE, part, study.PAPER["steps"][study.LINE]) for part in ("levels", "central")]
    history = study.joined({name: stored(study, name) for name in names}, *names[0][::2], "levels", "central")
    return {n: study.models(history, n, study.PAPER["seeds"][0]) for n in SHOWN}


def packed(models: dict[int, dict[str, Tensor]], start: int) -> dict:
    """What terms.js takes: widths; each model with its level, label and parameters, see ``in_steps``; a level."""
    rows = [
        {"level": n, "label": label} | in_steps(row.numpy())
        for n, named in models.items()
        for label, row in named.items()
    ]
    return {"branch": OPERATOR.branch, "trunk": OPERATOR.trunk, "models": rows, "start": start}


def in_steps(theta: np.ndarray) -> dict:
    """Parameters as whole numbers of a step, int16: half as long, and outputs differ by some 1e-5."""
    step = float(np.abs(theta).max()) / 32767
    return {"step": step, "theta": array(np.rint(theta / step), "<i2")}


# a training to watch

COUNT = 100  # functions of a client
ALT = (
    "left the antiderivative of a function that client 1 might own, below of one of client 2's, true and as all "
    "networks predict it; right the clients' steps in the plane of weights, and the errors over the rounds"
)


class Pairs(NamedTuple):
    """Inputs v [2, m] and antiderivatives s [2, P], one of each client's own kind; points y [P, 1]."""

    v: Tensor
    s: Tensor
    y: Tensor


@cache
def integration() -> Experiment:
    """Tested on functions with all terms."""
    experiment = federated_operator("antiderivative", COUNT, 1)
    tests = OPERATOR.pairs(chebyshev_draws("forward", TERMS, 100, stream(0, "live tests")))
    return experiment._replace(data=lambda n, seed: experiment.data(n, seed)._replace(test=tests))


def training(level: int = 3, E: int = 20, lr: float = 0.003) -> Watched:
    """Client 1 knows the first n terms, client 2 the last n; n = 10 is everything."""
    c = np.concatenate([draws(kind, level, 1, 0, "test") for kind in ("forward", "inverse")])
    pairs, y = OPERATOR.pairs(c), torch.as_tensor(OPERATOR.points).float()
    return watched_experiment(integration(), level, E, lr=lr)._replace(more=Pairs(pairs["u"], pairs["s"], y))


def scene(axes, watched: Watched, moment: Moment) -> None:
    """Above a function of the kind that client 1 knows, below one of client 2's: thin the input, thick the output."""
    shown = watched.more
    y = shown.y[:, 0].numpy()
    clients, began = (watched.values(rows, lambda predict: predict(shown.v, shown.y)) for rows in watched.now(moment))
    for k, ax in enumerate(axes):
        scale = shown.s[k].abs().max().item()
        ax.plot(y, 0.5 * shown.v[k] / shown.v[k].abs().max(), lw=0.8, color="0.4", label="input v (scaled)")
        ax.plot(y, shown.s[k] / scale, color=COLORS["truth"], lw=2.5, alpha=0.5, label="truth (scaled)")
        draw_models(ax, y, (clients[:, k] / scale).numpy(), (began[:, k] / scale).numpy(), moment)
        ax.set(xlim=(0, 1), ylim=(-2.4, 2.4))
        ax.set_ylabel(f"of client {k + 1}'s kind", color=CLIENTS[k])
    axes[1].set_xlabel("x")
    axes[0].legend(loc="upper left", ncols=3)


def show() -> None:
    """The live training of notebook 07."""
    live.show(
        "07", training, scene, ALT, panels=2,
        level=slider(range(1, 11), 3, "terms n", "Client 1 knows the first n terms, client 2 the last n."),
        E=slider([1, 5, 20, 100], 20, "local steps E"),
        lr=slider([0.001, 0.003, 0.01], 0.003, "rate"),
    )  # fmt: skip
