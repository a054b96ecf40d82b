"""How far the federated weights are from the centralised ones: Theorem 3.1 measured, and Fig. 3 with real weights."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
import xarray
from torch import nn

from ....federated.batches import Local
from ....federated.experiment import Experiment, data_of, federation, train_arguments
from ....federated.optimizers import sgd
from ....federated.train import train
from ....federated.watching import watched, watched_rounds
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
    """Fig. 3: where two clients, their server and the centralised model are.

    Returns:
        distance |theta_fed - theta_central| [level, round], of ``spread_rounds``. The first two rounds, as ``seen``:
        steps [level, two, client, step, axis], server [level, three, axis], central [level, along, axis], share.
    """
    line = make(n=n, width=width)._replace(local=Local(E), lr=lr)
    data = {level: data_of(line, level) for level in levels}
    federations = {level: federation(line, data[level].owners, seed=seed) for level in levels}
    federations["centralised"] = federation(line, data[levels[0]].owners, "centralised", seed)
    args, first, distances, keep = train_arguments(line), [], [], spread_rounds(rounds)
    net, loss = args.pop("net"), args.pop("loss")
    played = watched_rounds(
        net, loss, data[levels[0]].pool, federations, init=line.init, dtype=torch.float32, rounds=rounds, **args
    )
    for r, (done, walk) in zip(range(1, rounds + 1), played, strict=False):  # the centralised model is the last
        if r <= 2:
            first.append((walk.numpy().copy(), done.after.numpy().copy()))
        if r in keep:
            distances.append(np.linalg.norm(done.after[:-1:2].numpy() - walk[-1, -1].numpy(), axis=-1))
    (walk, after), (walk_2, after_2) = first[0], first[-1]
    central = np.concatenate([walk[-1], walk_2[-1, 1:]])
    planes = [
        seen(np.stack([walk[i : i + 2], walk_2[i : i + 2]]), np.stack([walk[i, 0], after[i], after_2[i]]), central)
        for i in range(0, 2 * len(levels), 2)
    ]
    whole = xarray.concat(planes, xarray.DataArray(list(levels), dims="level", name="level"))
    return whole.assign(distance=(("level", "round"), np.stack(distances, 1))).assign_coords(round=keep)


def seen(steps: np.ndarray, server: np.ndarray, central: np.ndarray) -> xarray.Dataset:
    """Local steps [2, K, E + 1, P] of two rounds, the server's models [3, P] and the centralised ones, in the plane of
    their first two principal components, server[0] in its origin; and its share of the variance [axis]."""
    points = np.concatenate([steps.reshape(-1, steps.shape[-1]), server, central]) - server[0]
    _, s, axes = np.linalg.svd(points - points.mean(0), full_matrices=False)
    ahead = np.where((server[-1] - server[0]) @ axes[:2].T < 0, -1, 1)  # is to the right, and up
    to_plane = (axes[:2] * ahead[:, None]).T
    return xarray.Dataset({
        "steps": (("two", "client", "step", "axis"), (steps - server[0]) @ to_plane),
        "server": (("three", "axis"), (server - server[0]) @ to_plane),
        "central": (("along", "axis"), (central - server[0]) @ to_plane),
        "share": ("axis", s[:2] ** 2 / max((s**2).sum(), 1e-300)),
    })  # fmt: skip
