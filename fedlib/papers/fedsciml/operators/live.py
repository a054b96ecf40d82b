"""Notebook 07 live: bars of ten terms that one drags, and what trained networks make of them; a training to watch."""

from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import NamedTuple

import anywidget
import numpy as np
import torch
import traitlets
from torch import Tensor

from .... import live
from ....federated.batches import Local
from ....federated.federation import Federation, centralised
from ....federated.rounds import on
from ....live.modules import module
from ....live.views import draw_models
from ....live.watched import Moment, Watched
from ....live.widgets import slider
from ....models.networks import glorot_normal
from ....notebook.style import CLIENTS, COLORS
from ....numerics.spaces import TERMS, chebyshev_draws
from ....streams import stream
from ....trainings.store import stored
from . import study
from .problem import draws, learn_antiderivative, operator_error, operator_loss

OPERATOR = learn_antiderivative()

# stored models

SHOWN = (2, 5, 6, 10)
"""Levels n whose networks the piece has."""


class Terms(anywidget.AnyWidget):
    """Bars to drag, the function that they make, and its antiderivative; ``explorer`` makes it.

    data: "branch", "trunk", widths; "models", each with its level, label and parameters, see ``in_steps``; "start", a
    level. anchor: the name before the state in the page's address; "": a notebook.
    """

    _esm = module(Path(__file__).parent / "operator.js")
    data = traitlets.Dict().tag(sync=True)
    anchor = traitlets.Unicode().tag(sync=True)


def explorer(start: int = 6) -> Terms:
    """What each client alone, both in one place and the federation make of a function of one's own."""
    return Terms(data=packed(stored_models(), start))


def stored_models() -> dict[int, dict[str, Tensor]]:
    """Level n of SHOWN -> label -> parameters [P], of the first seed."""
    names = [(study.LINE, part, study.PAPER["steps"][study.LINE]) for part in ("levels", "central")]
    history = study.joined({name: stored(study, name) for name in names}, *names[0][::2], "levels", "central")
    return {n: study.models(history, n, study.PAPER["seeds"][0]) for n in SHOWN}


def packed(models: dict[int, dict[str, Tensor]], start: int) -> dict:
    """What operator.js takes."""
    rows = [
        {"level": n, "label": label} | in_steps(row.numpy())
        for n, named in models.items()
        for label, row in named.items()
    ]
    return {"branch": OPERATOR.branch, "trunk": OPERATOR.trunk, "models": rows, "start": start}


def in_steps(theta: np.ndarray) -> dict:
    """Parameters as whole numbers of a step, int16 in base64: half as long, and outputs differ by some 1e-5."""
    step = float(np.abs(theta).max()) / 32767
    return {"step": step, "theta": b64encode(np.rint(theta / step).astype("<i2").tobytes()).decode()}


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
def tests(count: int = 100) -> dict[str, Tensor]:
    """Functions with all terms, and the points, in float32."""
    c = chebyshev_draws("forward", TERMS, count, stream(0, "live tests"))
    return OPERATOR.pairs(c) | on(OPERATOR.constants())


def training(level: int = 3, E: int = 20, lr: float = 0.003) -> Watched:
    """Client 1 knows the first n terms, client 2 the last n; n = 10 is everything."""
    kinds = "forward", "inverse"
    shards = [COUNT * k + np.arange(COUNT) for k in range(2)]
    pool = OPERATOR.pairs(np.concatenate([draws(kind, level, COUNT, 0) for kind in kinds]))
    pairs = OPERATOR.pairs(np.concatenate([draws(kind, level, 1, 0, "test") for kind in kinds]))
    feds = {"federated": Federation(shards, lr=lr), "centralised": centralised(shards, lr=lr)}
    args = dict(local=Local(E), init=glorot_normal, constants=OPERATOR.constants(), dtype=torch.float32)
    shown = Pairs(pairs["u"], pairs["s"], tests()["y"])
    error = lambda predict: operator_error(predict, tests())["e"]  # noqa: E731
    return Watched(OPERATOR.net(), operator_loss, pool, feds, args, error, shown)


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
