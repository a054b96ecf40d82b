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
    """Fig. 3: where server, clients and centralised model are, seen in planes of two principal components.

    Returns, for some rounds:
        distance |theta_fed - theta_central| [level, round]; server, central [level, moment, axis] from the common start
        on, all in one plane. Each round in a plane of its own, with the model that it began with in the origin: steps
        [level, round, client, step, axis], mean [level, round, axis]. The first two rounds in one plane: first_steps
        [level, two, client, step, axis], first_server [level, three, axis], first_central [level, along, axis]. Shares
        of the variance in each plane: share, first_share [level, axis], near_share [level, round, axis].
    """
    line = make(n=n, width=width)._replace(local=Local(E), lr=lr)
    data = {level: data_of(line, level) for level in levels}
    federations = {level: federation(line, data[level].owners, seed=seed) for level in levels}
    federations["centralised"] = federation(line, data[levels[0]].owners, "centralised", seed)
    args, kept, keep = train_arguments(line), [], spread_rounds(rounds)
    net, loss = args.pop("net"), args.pop("loss")
    played = watched_rounds(
        net, loss, data[levels[0]].pool, federations, init=line.init, dtype=torch.float32, rounds=rounds, **args
    )
    for r, (done, walk) in enumerate(played, 1):
        if r in keep:
            kept.append((walk.numpy().copy(), done.after.numpy().copy()))
        if r == rounds:
            break
    walk, after = map(np.stack, zip(*kept, strict=True))  # [R, M, E + 1, P], [R, M, P]
    each = [projected(walk[:, 2 * i : 2 * i + 2], after[:, 2 * i], walk[:, -1], keep) for i in range(len(levels))]
    return xarray.concat(each, xarray.DataArray(list(levels), dims="level", name="level"))


def projected(clients: np.ndarray, server: np.ndarray, central: np.ndarray, rounds: Sequence[int]) -> xarray.Dataset:
    """What ``walks`` returns of one level; clients [R, K, E + 1, P], server after the rounds [R, P], central
    [R, E + 1, P]."""
    start = clients[0, 0, 0]
    ends = np.concatenate([server, central[:, -1], start[None]])
    middle, axes, share = plane(ends)
    paths = [(np.concatenate([start[None], path]) - middle) @ axes.T for path in (server, central[:, -1])]
    each = [near(clients[r : r + 1], np.stack([clients[r, 0, 0], server[r]])) for r in range(len(rounds))]
    ahead = np.concatenate([central[0], central[min(1, len(central) - 1), 1:]])
    two = np.stack([clients[0, 0, 0], server[0], server[min(1, len(server) - 1)]])
    first = near(clients[[0, min(1, len(clients) - 1)]], two, ahead)
    distance = np.linalg.norm(server - central[:, -1], axis=-1)
    return xarray.Dataset(
        {
            "distance": ("round", distance),
            "server": (("moment", "axis"), paths[0]),
            "central": (("moment", "axis"), paths[1]),
            "share": ("axis", share),
            "steps": (("round", "client", "step", "axis"), np.stack([steps[0] for steps, *_ in each])),
            "mean": (("round", "axis"), np.stack([path[1] for _, path, *_ in each])),
            "near_share": (("round", "axis"), np.stack([share for *_, share in each])),
            "first_steps": (("two", "client", "step", "axis"), first[0]),
            "first_server": (("three", "axis"), first[1]),
            "first_central": (("along", "axis"), first[2]),
            "first_share": ("axis", first[3]),
        },
        {"round": list(rounds)},
    )


def near(clients: np.ndarray, server: np.ndarray, central: np.ndarray | None = None) -> tuple:
    """Local steps [n, K, E + 1, P] of rounds that follow each other, the server's models [n + 1, P] and the centralised
    ones, in their own plane, from server[0] on; and the plane's shares of the variance."""
    shown = [clients.reshape(-1, clients.shape[-1]), server, *([] if central is None else [central])]
    _, axes, share = plane(np.concatenate(shown) - server[0])
    turned = axes * np.where((server[-1] - server[0]) @ axes.T < 0, -1, 1)[:, None]  # ahead is to the right, and up
    parts = (None if part is None else (part - server[0]) @ turned.T for part in (clients, server, central))
    return *parts, share


def plane(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first two principal components of points [n, P]: (middle [P], axes [2, P], their shares of the variance)."""
    middle = points.mean(0)
    _, s, axes = np.linalg.svd(points - middle, full_matrices=False)
    return middle, axes[:2], s[:2] ** 2 / max((s**2).sum(), 1e-300)
