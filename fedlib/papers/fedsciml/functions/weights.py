"""How far the federated weights are from the centralised ones: Theorem 3.1 measured, and Fig. 3 with real weights."""

from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np
import torch
import xarray
from torch import nn

from ....federated.batches import Local
from ....federated.experiment import Experiment, data_of, federation, train_arguments
from ....federated.optimizers import sgd
from ....federated.rounds import play
from ....federated.train import train
from ....federated.watching import watched
from ....models.networks import mlp
from ....numerics.heterogeneity import divergence_bound
from ....numerics.tabulated import tabulated


def theorem(
    make: Callable[..., Experiment], n: int, levels: Sequence[int], steps: Sequence[int], rounds: Sequence[int],
    lr: float = 0.01,
) -> xarray.Dataset:  # fmt: skip
    """Theorem 3.1: full-batch gradient descent of a small network in float64; every (E, l) is a training of its own.

    make: n points -> a function on the line.

    Returns:
        distance |theta_fed - theta_central| [E, rounds, level]; bound 2 eta M E l [E, rounds], M the largest norm of a
        gradient on the way.
    """
    table = tabulated(lambda E, rounds: apart(make(n=n), levels, E, rounds, lr), E=steps, rounds=rounds)
    return table.assign_coords(level=list(levels))


def apart(line: Experiment, levels: Sequence[int], E: int, rounds: int, lr: float) -> dict:
    """Distances after l rounds of E steps, a level each, and the bound."""
    norms: list[float] = []
    looking = watched(sgd(), lambda theta, gradient: norms.append(float(gradient.norm(dim=1).max())))
    line = line._replace(net=mlp((1, 20, 20, 1), nn.Tanh), local=Local(E), lr=lr, optimizer=looking)
    federations = {level: federation(line, data_of(line, level).owners) for level in levels}
    data = data_of(line, levels[0])
    federations["centralised"] = federation(line, data.owners, "centralised")
    history = train(
        **train_arguments(line), pool=data.pool, federations=federations, parts=["level"], rounds=rounds,
        init=line.init, dtype=torch.float64,
    )  # fmt: skip
    central = history.model("centralised")
    distances = [float((history.model(level) - central).norm()) for level in levels]
    return {"distance": ("level", distances), "bound": divergence_bound(lr, max(norms), E, rounds)}


def spread_rounds(rounds: int, n: int = 60) -> list[int]:
    """The first two of so many rounds, the last, and about n between them in equal steps of their logarithm."""
    return sorted({1, min(2, rounds), *np.geomspace(1, rounds, n).round().astype(int).tolist()})


def walks(
    make: Callable[..., Experiment], n: int, width: int, levels: Sequence[int], rounds: int, E: int, lr: float,
    seed: int = 0,
) -> xarray.Dataset:  # fmt: skip
    """Fig. 3 with real weights: distance |theta_fed - theta_central| [level, round], of ``spread_rounds``."""
    line = make(n=n, width=width)._replace(local=Local(E), lr=lr)
    data = {level: data_of(line, level) for level in levels}
    federations = {level: federation(line, data[level].owners, seed=seed) for level in levels}
    federations["centralised"] = federation(line, data[levels[0]].owners, "centralised", seed)
    args, distances, keep = train_arguments(line), [], spread_rounds(rounds)
    played = play(
        args.pop("net"), args.pop("loss"), data[levels[0]].pool, federations, init=line.init, dtype=torch.float32,
        rounds=rounds, backend="eager", **args,
    )  # fmt: skip
    for r, done in enumerate(islice(played, rounds), 1):  # two clients of each level, which agree; then the one of all
        if r in keep:
            distances.append((done.after[:-1:2] - done.after[-1]).norm(dim=1).numpy())
    coords = {"level": list(levels), "round": keep}
    return xarray.Dataset({"distance": (("level", "round"), np.stack(distances, 1))}, coords)
