"""Notebook 06 live: the two unknown coefficients, as they are stored, and while they train."""

from functools import cache
from typing import NamedTuple

import numpy as np
import torch
import xarray
from torch import Tensor

from .... import live
from ....federated.batches import Local
from ....federated.federation import Federation, join
from ....federated.stack import as_dict
from ....federated.sweep import errors
from ....live.levels import explore
from ....live.modules import Piece
from ....live.views import LINES, rounds_axis
from ....live.watched import Moment, Watched
from ....live.widgets import choice, slider
from ....models.networks import glorot_uniform
from ....notebook.style import CLIENTS as CLIENT_COLORS
from ....notebook.style import COLORS
from ....numerics.metrics import relative_l2
from ....streams import stream
from ....trainings.store import stored
from . import problem, study
from .problem import CLIENTS, TRUTH

# as stored

DRAWN = 250  # of the rounds: what a screen shows


def explorer() -> Piece:
    """Both coefficients of the federation against rounds, at every number of pieces."""
    history = stored(study, "flow")
    whole = [n for n in history.labels("level") if ("federated", n, history.labels("seed")[0]) in history.rows]
    C = xarray.concat([errors(history, name) for name in TRUTH], xarray.Variable("model", ["C₁", "C₂"]))
    C = C.sel(kind="federated", level=whole).reset_coords(drop=True).rename(level="pieces")
    percents = 100 * C / xarray.DataArray([*TRUTH.values()], dims="model")
    some = np.unique(np.linspace(0, C.sizes["round"] - 1, DRAWN).astype(int))
    curves = percents.isel(round=some, seed=0, drop=True).rename(round="x").transpose("pieces", "model", "x")
    colors = [COLORS["federated"], COLORS["other"]]
    curves = curves.assign_coords(truth=("x", np.full(len(some), 100.0)), color=("model", colors))
    curves.attrs = {"xlabel": "round", "ylabel": "% of the true value", "limits": (-50.0, 200.0)}
    return explore(curves, abs(percents.isel(round=-1, drop=True) - 100).transpose("pieces", "model", "seed"))


# while they train

OBSERVATIONS, RESIDUAL, WIDTHS = 300, (50, 10, 5), (3, 20, 20, 20, 3)
"""So few that a local step takes milliseconds; C comes near the truth, not to it."""

ALT = (
    "left the way of the coefficients C1 and C2 in their plane towards the true point, of clients and of the server, "
    "below C1 over the rounds; right the clients' steps in the plane of weights, and the velocity's errors"
)


class Coefficients(NamedTuple):
    """gains [M, 1]: C = gain c of all clients, see ``with_gain``. past: name -> round -> C, what pictures remember."""

    gains: Tensor
    past: dict[str, dict[int, np.ndarray]]


@cache
def measured() -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Observations of the wake, and the flow at the middle time, in float32."""
    wake = problem.cylinder_wake()
    sets = problem.observed(wake, OBSERVATIONS, stream(0, "live")), problem.middle(wake, 4)
    return tuple({name: value.float() for name, value in tensors.items()} for tensors in sets)


def velocity_error(predict) -> Tensor:
    """Relative L2 error (%) of u and v at the middle time."""
    _, test = measured()
    return 100 * relative_l2(problem.velocity_and_pressure(predict, test)[:, :2].flatten(), test["u"][:, :2].flatten())


def gained_loss(predict, batch) -> Tensor:
    """The loss of ONE client whose points all carry the gain of its C, batch["gain"] [n]."""
    return problem.navier_stokes_loss(problem.with_gain(predict, batch["w"] @ batch["gain"]), batch)


def coefficients(watched: Watched, models: Tensor) -> Tensor:
    """C [M, ..., 2] of models [M, ..., P], a row for each client of all."""
    c = as_dict(watched.net, models)["c"]
    return watched.more.gains.reshape(-1, *[1] * (c.ndim - 1)) * c


def training(pieces: int = 2, E: int = 5, lr: float = 0.01, aliased: bool = False) -> Watched:
    """Slabs that two clients own in turn, E local Adam steps; aliased: C moves by the sum of the clients' steps."""
    sample, gains = measured()[0], {"federated": float(CLIENTS) if aliased else 1.0, "centralised": 1.0}
    pool, joined = join({kind: sample | {"gain": torch.full((OBSERVATIONS,), g)} for kind, g in gains.items()})
    shards = {"federated": problem.slabs(sample["x"], pieces), "centralised": [np.arange(OBSERVATIONS)]}
    federations = {kind: Federation(joined(kind, owners), lr=lr, name=kind) for kind, owners in shards.items()}
    args = dict(local=Local(E), init=glorot_uniform, dtype=torch.float32)
    args["constants"] = {"points": problem.residual_points(*RESIDUAL)}
    of_clients = torch.tensor([[gains[kind]] for kind, owners in shards.items() for _ in owners])
    more = Coefficients(of_clients, {})
    return Watched(problem.navier_stokes_net(WIDTHS), gained_loss, pool, federations, args, velocity_error, more)


def remember(watched: Watched, moment: Moment) -> dict[str, dict[int, np.ndarray]]:
    """Append C of this moment to the training's past: of averages, of the centralised model, of clients apart [K, 2].

    A moment that is drawn twice is there once.
    """
    past, r = watched.more.past, moment.done.number + 1
    C = coefficients(watched, moment.models).numpy()
    for name, rows in watched.where().items():
        if moment.averaged:
            past.setdefault(name, {0: np.zeros(2)})[r] = C[rows][0]
        elif name == "federated":
            past.setdefault("clients", {})[r] = C[rows]
    return past


def scene(axes, watched: Watched, moment: Moment) -> None:
    """Above the plane of C1 and C2, below C1 over the rounds."""
    past, now = remember(watched, moment), moment.done.number + 1
    plane, over = axes
    for name, values in past.items():
        rounds, C = np.array([*values]), np.stack([*values.values()], -2)  # [R], [..., R, 2]
        if name == "clients":
            for k, ends in enumerate(C):
                plane.plot(*ends.T, ".", ms=3, alpha=0.4, color=CLIENT_COLORS[k])
                over.plot(rounds, ends[:, 0], ".", ms=3, alpha=0.4, color=CLIENT_COLORS[k])
            continue
        color, ls = LINES.get(name, (COLORS["federated"], "-"))
        plane.plot(*C.T, ls=ls, color=color, label=f"{name}: {C[-1, 0]:.2f}, {C[-1, 1]:.3f}")
        over.plot(rounds[1:], C[1:, 0], ls=ls, marker=".", ms=3, color=color)
    steps = coefficients(watched, moment.walk[:, : moment.step + 1]).numpy()
    for k, way in enumerate(steps[watched.where()["federated"]]):
        faint = dict(alpha=0.35 if moment.averaged else 1)
        plane.plot(*way.T, "-", lw=1.5, marker=".", ms=4, color=CLIENT_COLORS[k])
        plane.plot(*way[-1], "o", ms=7, color=CLIENT_COLORS[k], label=f"client {k + 1}", **faint)
        over.plot(now, way[-1, 0], "o", ms=7, color=CLIENT_COLORS[k], **faint)
    if moment.averaged:
        C = past["federated"][now]
        plane.plot(*C, "o", ms=7, color=COLORS["federated"])
        over.plot(now, C[0], "o", ms=7, color=COLORS["federated"])
    true = [*TRUTH.values()]
    plane.plot(*true, "*", ms=12, color=COLORS["truth"], label=f"truth: {true[0]:.2f}, {true[1]:.3f}")
    plane.set(xlim=(-0.2, 1.3), ylim=(-0.12, 0.1), xlabel="$C_1$", ylabel="$C_2$")
    plane.legend(loc="lower right", ncols=2)
    over.axhline(true[0], color=COLORS["truth"], lw=0.8)
    rounds_axis(over, now)
    over.set(ylim=(-0.2, 1.3), ylabel="$C_1$")


def show() -> None:
    """The live training of notebook 06."""
    live.show(
        "06", training, scene, ALT, panels=2,
        pieces=slider([2, 4, 6, 10, 20], 2, "pieces", "Slabs of the flow, which the clients own in turn."),
        E=slider([1, 2, 5, 10], 5, "local steps E"),
        lr=slider([0.003, 0.01, 0.03], 0.01, "rate"),
        aliased=choice([("no", False), ("yes", True)], False, "aliased C", "Whether C moves by the sum of all steps."),
    )  # fmt: skip
