"""Notebook 02 live: clients whose data differ, and what is stored of twenty of them."""

import numpy as np
import torch
import xarray

from ....federated.history import History
from ....federated.partitions import pick_sources, sorted_shards
from ....live import levels
from ....live.modules import Piece
from ....live.watched import Watched
from ....live.widgets import choice, slider
from ....streams import stream
from ....trainings.store import stored
from .. import live
from ..experiment import says
from ..figures import ALONE
from ..live import SCALE, Angles, N
from ..physics import random_tests
from ..trainings import joined, last, measured
from . import study
from .problem import label_sorted


def skewed(data: str = "sorted shards", shards_each: int = 1, delta: float = 0.0, clients: int = 5, K: int = 20,
           optimizer: str = "Adam", lr: float = 0.003) -> Watched:  # fmt: skip
    """ "sorted shards", so many for each client; or "two fields", length scales l_1 and l_1 + delta."""
    (pool, _), (u, x1, _) = live.triplets(), live.tests()
    if data == "two fields":
        both = pool, live.triplets(SCALE + delta)[0]
        pool = {name: torch.cat([one[name] for one in both]) for name in pool}
        shards, _ = pick_sources(N, clients, stream(0, "sources"))
    else:
        shards = sorted_shards(pool["s"].numpy(), shards_each * clients, clients, stream(0, "shards"))
    targets = [pool["s"][shard].numpy() for shard in shards]
    shown = Angles(*live.widest(u, x1), "targets s that a client owns (rad)", targets)
    return live.learning(pool, shards, u, x1, shown, K, lr, optimizer)


def idle(data: str = "", **values) -> list[str]:
    """Shards have no second field, and fields no shards."""
    return {"sorted shards": ["delta"], "two fields": ["shards_each"]}.get(data, [])


def show() -> None:
    """Sorted shards pull the clients' networks apart, two fields hardly."""
    live.show(
        "02", skewed, idle,
        data=choice(["sorted shards", "two fields"], "sorted shards", "data", "In what the clients' data differ."),
        shards_each=slider([1, 2, 5, 20], 1, "shards each", "How many shards each client is dealt; more, more alike."),
        delta=slider([0.0, 1.0, 4.0], 4.0, "Delta", "By how much the length scales of the two fields differ."),
        **live.steps_and_rate(), optimizer=live.optimizer(),
    )  # fmt: skip


# stored models


def reached(together: History, alone: History) -> xarray.DataArray:
    """Errors (%) [shards, rate, model, seed] over the test trajectories, of client 1 alone and of the federation."""
    every = joined({ALONE: last(measured(alone)), "federated": last(measured(together))}, "model")
    return every.rename(level="shards").transpose("shards", "rate", "model", "seed").reset_coords(drop=True)


def explored(
    together: History, alone: History, tests: int = 100, sensors: int = 100, length_scale: float = 0.2
) -> tuple[xarray.DataArray, xarray.DataArray]:
    """(curves, errors) as ``levels.explore`` takes them: the angle of that torque of the first seed's test which swings
    furthest, as its models say it, and ``reached``."""
    reached_errors, seed = reached(together, alone), together.labels("seed")[0]
    experiment = label_sorted(sensors=sensors)
    cases = random_tests(tests, sensors, length_scale, seed)
    (u,), (truth,) = live.widest(cases["u"], cases["x1"])

    def predicted(shards: int, rate: str) -> list[np.ndarray]:
        models = {ALONE: alone.model("isolated", shards, seed, rate)}
        models |= {"federated": together.model("federated", shards, seed, rate)}
        return [*says(experiment, models, u).values()]

    names = ("shards", "rate", "model")
    coords = {name: reached_errors[name].values for name in names}
    coords |= {"x": np.linspace(0, 1, sensors), "truth": ("x", truth.numpy())}
    values = [[predicted(n, rate) for rate in coords["rate"].tolist()] for n in coords["shards"].tolist()]
    words = {"xlabel": "t (s)", "ylabel": "angle (rad)"}
    return xarray.DataArray(values, coords, (*names, "x"), attrs=words), reached_errors


def explorer() -> Piece:
    """What client 1 has learnt alone, and all together, at every number of shards and with both rates, as stored."""
    return levels.explore(*explored(stored(study, "shards"), stored(study, "alone")))
