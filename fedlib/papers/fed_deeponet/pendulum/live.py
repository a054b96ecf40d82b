"""Notebook 01 live: clients with a random share of the triplets each, and what is stored of many more."""

import ipywidgets
import numpy as np
import xarray
from matplotlib.figure import Figure

from ....federated.history import History
from ....federated.partitions import deal
from ....federated.sweep import errors
from ....live import levels
from ....live.stage import MIXING
from ....live.watched import Watched
from ....live.widgets import choice, explore, slider
from ....streams import stream
from ....trainings.store import stored
from .. import live
from ..figures import INPUT_CONTROLS, idle_inputs, pendulum_input
from ..live import Angles, N
from ..physics import OUT_OF_DISTRIBUTION, pendulum_trajectories
from . import study
from .figures import angle_figure
from .problem import angles


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

ALONE = "client 1 alone"


def guesses(together: History, alone: History, clients: int, sensors: int = 100, **torque) -> tuple:
    """(t, u, truth, label -> angle), each [m], of a torque as ``pendulum_input`` takes it: what client 1 says who has
    learnt alone, and the federation, with the first seed's models."""
    exact = pendulum_trajectories(pendulum_input(sensors, **torque))
    seed = together.labels("seed")[0]
    models = {ALONE: alone.model("isolated", clients, seed), "federated": together.model("federated", clients, seed)}
    u, truth = exact["u"][0], exact["x1"][0]
    return np.linspace(0, 1, len(u)), u.numpy(), truth.numpy(), angles(models, u)


def answer(together: History, alone: History, clients: int = study.TWENTY, **torque) -> Figure:
    """A torque, HARD if none is given, the angle, and what both say."""
    return angle_figure(*guesses(together, alone, clients, **torque or {"kind": HARD}))


def explored(
    together: History, alone: History, centralised: History, sensors: int = 100
) -> tuple[xarray.DataArray, xarray.DataArray]:  # fmt: skip
    """(curves, errors) as ``levels.explore`` takes them: the angle that HARD causes, as the first seed's models say
    it at each number of clients, and its error (%) for all seeds; centralised has everybody's triplets and work."""
    clients, i = together.labels("level"), [*OUT_OF_DISTRIBUTION].index(HARD)
    angle_rows = [guesses(together, alone, C, sensors, kind=HARD) for C in clients]
    t, _, truth, labels = angle_rows[0]
    coords = {"clients": clients, "model": [*labels], "x": t, "truth": ("x", truth)}
    values = [[*each.values()] for *_, each in angle_rows]
    words = {"xlabel": "t (s)", "ylabel": "angle (rad)"}
    curves = xarray.DataArray(values, coords, ("clients", "model", "x"), attrs=words)

    def last(history: History) -> xarray.DataArray:
        return errors(history, "unseen").isel(round=-1, kind=0, i=i, drop=True).reset_coords(drop=True)

    central = last(centralised).sel(work="same passes", drop=True).isel(level=0, drop=True)
    rows = {ALONE: last(alone), "federated": last(together), "centralised": central}
    models = xarray.DataArray([*rows], dims="model", name="model")
    every = xarray.concat(xarray.broadcast(*rows.values()), models).rename(level="clients")
    return curves, every.transpose("clients", "model", "seed")


def explorer() -> levels.Explorer:
    """What client 1 has learnt alone, and all together, at every number of clients, as it is stored."""
    histories = (stored(study, name) for name in ("clients", "alone", "centralised"))
    return levels.explore(*explored(*histories), {"clients": study.TWENTY})


def asked() -> ipywidgets.GridBox:
    """A torque of one's own, the true angle, and what the federation of twenty and one of its clients say."""
    together, alone = (stored(study, name) for name in ("clients", "alone"))
    alt = "left a torque over time, right the angle that it causes, and what a client alone and the federation say"
    controls = {name: make() for name, make in INPUT_CONTROLS.items()}
    return explore(lambda **torque: answer(together, alone, **torque), alt, idle_inputs, **controls)
