"""Notebook 01 live: clients with a random share of the triplets each, and what is stored of many more."""

import ipywidgets
import numpy as np
import xarray
from matplotlib.figure import Figure

from ....federated.history import History
from ....federated.partitions import deal
from ....live import levels
from ....live.modules import Piece
from ....live.stage import MIXING
from ....live.watched import Watched
from ....live.widgets import choice, slider
from ....streams import stream
from ....trainings.store import stored
from .. import live
from ..experiment import says
from ..figures import ALONE, angle_figure, ask, pendulum_input
from ..live import Angles, N
from ..physics import OUT_OF_DISTRIBUTION, pendulum_trajectories
from ..trainings import joined, last, measured
from . import problem, study


def dealt(
    clients: int = 5, fraction: float = 1.0, K: int = 20, lr: float = 0.003, optimizer: str = "Adam",
    mixing: str = "FedAvg",
) -> Watched:  # fmt: skip
    """C clients with a random share each, a share alpha of them in a round, K local steps."""
    (pool, _), (u, x1, _) = live.triplets(), live.tests()
    shards = deal(N, clients, stream(0, "deal"))
    targets = [pool["s"][shard].numpy() for shard in shards]
    shown = Angles(*live.widest(u, x1), "targets s that a client owns (rad)", targets)
    return live.learning(pool, shards, u, x1, shown, K, lr, optimizer, mixing, fraction)


def show() -> None:
    """Their networks go apart in the local steps, and the average snaps them together."""
    live.show(
        "01", dealt, clients=live.clients(), fraction=slider([0.2, 0.4, 0.6, 0.8, 1.0], 1.0, "share alpha"),
        **live.steps_and_rate(), optimizer=live.optimizer(), mixing=choice(list(MIXING)[:2], "FedAvg", "mixing"),
    )  # fmt: skip


# stored models

HARD = "t sin(2 pi t)"
"""The hardest of the paper's torques: nobody was trained with anything like it."""


def guesses(together: History, alone: History, clients: int, sensors: int = 100, **torque) -> tuple:
    """(t, u, truth, label -> angle), each [m], of a torque as ``pendulum_input`` takes it: what client 1 says who has
    learnt alone, and the federation, with the first seed's models."""
    exact = pendulum_trajectories(pendulum_input(sensors, **torque))
    seed = together.labels("seed")[0]
    models = {ALONE: alone.model("isolated", clients, seed), "federated": together.model("federated", clients, seed)}
    u, truth = exact["u"][0], exact["x1"][0]
    angles = says(problem.dealt(sensors=sensors), models, u)
    return np.linspace(0, 1, sensors), u.numpy(), truth.numpy(), angles


def answer(together: History, alone: History, clients: int = study.TWENTY, **torque) -> Figure:
    """A torque, HARD if none is given, the angle, and what both say."""
    return angle_figure(*guesses(together, alone, clients, **torque or {"kind": HARD}))


def explored(
    together: History, alone: History, centralised: History, sensors: int = 100
) -> tuple[xarray.DataArray, xarray.DataArray]:  # fmt: skip
    """(curves, errors) as ``levels.explore`` takes them: the angle that HARD causes, as the first seed's models say
    it at each number of clients, and its error (%) for all seeds; centralised has everybody's triplets and work."""
    clients, i = together.labels("level"), [*OUT_OF_DISTRIBUTION].index(HARD)
    angles = [guesses(together, alone, C, sensors, kind=HARD) for C in clients]
    t, _, truth, labels = angles[0]
    coords = {"clients": clients, "model": [*labels], "x": t, "truth": ("x", truth)}
    words = {"xlabel": "t (s)", "ylabel": "angle (rad)"}
    curves = xarray.DataArray([[*each.values()] for *_, each in angles], coords, ("clients", "model", "x"), attrs=words)
    rows = {ALONE: alone, "federated": together, "centralised": centralised}
    ends = {label: last(measured(history), "unseen").isel(i=i, drop=True) for label, history in rows.items()}
    ends["centralised"] = ends["centralised"].sel(work="same passes", drop=True).squeeze("level", drop=True)
    errors = joined(ends, "model").rename(level="clients").transpose("clients", "model", "seed")
    return curves, errors.reset_coords(drop=True)


def explorer() -> Piece:
    """What client 1 has learnt alone, and all together, at every number of clients, as it is stored."""
    histories = (stored(study, name) for name in ("clients", "alone", "centralised"))
    return levels.explore(*explored(*histories), {"clients": study.TWENTY})


def asked() -> ipywidgets.GridBox:
    """A torque of one's own, the true angle, and what the federation of twenty and one of its clients say."""
    together, alone = (stored(study, name) for name in ("clients", "alone"))
    alt = "left a torque over time, right the angle that it causes, and what a client alone and the federation say"
    return ask(lambda **torque: answer(together, alone, **torque), alt)
