"""What a server reads off one update of a client that learns the pendulum: torque, time and angle of its points.

The first layer of the branch sees W u + b. So a point's gradients are dL/dW_i = g_i u and dL/db_i = g_i with the same
g_i: their ratio is the torque itself (Phong et al., IEEE TIFS 13, 2018). With several points or steps it is a mixture.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ..federated.batches import Local
from ..federated.federation import Federation
from ..federated.optimizers import adam, sgd
from ..federated.rounds import play
from ..federated.stack import as_dict, predict
from ..models.networks import fan_in_uniform
from ..papers.fed_deeponet.physics import loss

OPTIMIZERS = {"SGD": (sgd, 1e-2), "Adam": (adam, 1e-3)}
"""name -> optimiser and its rate; the server knows both, for it sent the experiment."""


class Seen(NamedTuple):
    """What a server has of one client after a round: the model [P] that it sent, the one that came back, the rate."""

    sent: Tensor
    came: Tensor
    lr: float


class Read(NamedTuple):
    """What it reads off it: torque u [m], time y (s), angle s (rad)."""

    u: np.ndarray
    y: float
    s: float


def one_round(
    net: nn.Module, points: Mapping[str, Tensor], E: int, optimizer: str = "SGD", dtype=torch.float32
) -> Seen:
    """E steps of one client with all its points, from a start that the server drew."""
    make, lr = OPTIMIZERS[optimizer]
    n = len(points["s"])
    done = next(
        play(
            net, loss, points, [Federation([np.arange(n)], lr=lr)], local=Local(E), optimizer=make(),
            init=fan_in_uniform, backend="eager", dtype=dtype, rounds=1,
        )
    )  # fmt: skip
    return Seen(done.began.models()[0], done.after[0], lr)


def mixture(change: Mapping[str, Tensor], part: str) -> Tensor:
    """The input that the first layer of "branch" or "trunk" has seen: sum_i db_i dW_i / sum_i db_i^2."""
    W, b = change[f"{part}.0.weight"], change[f"{part}.0.bias"]
    return b @ W / (b @ b)


def read(net: nn.Module, seen: Seen) -> Read:
    """Torque, time and angle, exact for one point and one step of gradient descent.

    The angle: the output's bias moved by -2 lr (G(u)(y) - s).
    """
    change = as_dict(net, seen.came - seen.sent)
    u, z = mixture(change, "branch"), mixture(change, "trunk")
    low, high = net.domain  # the trunk sees times mapped to [-1, 1]
    y = (z * (high - low) + low + high) / 2
    s = predict(net, seen.sent, u, y) + change["bias"][0] / (2 * seen.lr)
    return Read(u.numpy(), y.item(), s.item())


def likeness(u: np.ndarray, torques: np.ndarray) -> float:
    """Cosine of the angle between what was read [m] and the torque [n, m] that is nearest to it; 1: the same curve."""
    along = torques @ u / np.linalg.norm(torques, axis=1) / np.linalg.norm(u)
    return float(along.max())


def outside(net: nn.Module, seen: Seen, torques: np.ndarray) -> np.ndarray:
    """Which part [n] of each torque [n, m] lies outside of what the update of the branch's first layer spans.

    Every row of the gradient dL/dW is a mixture of the client's torques, and there are as many mixtures as units: with
    fewer points than units they span the torques themselves. The server knows n, for it weights by it.
    """
    W = as_dict(net, seen.came - seen.sent)["branch.0.weight"].double().numpy()
    V = np.linalg.svd(W, full_matrices=False)[2][: len(torques)]
    return np.linalg.norm(torques - torques @ V.T @ V, axis=1) / np.linalg.norm(torques, axis=1)


class Learnt(NamedTuple):
    """What updates tell, for each client [K].

    own: likeness of what was read to its own torques. other: to its neighbour's; the same eye finds so much in torques
    that it never had. recognised: in which share of all pairs, an own torque and one of its neighbour's, the own one is
    ``outside`` by less; who guesses is right in one half.
    """

    own: np.ndarray
    other: np.ndarray
    recognised: np.ndarray


def learnt(net: nn.Module, updates: Sequence[Seen], torques: Sequence[np.ndarray]) -> Learnt:
    """What the server learns from a round's updates of all clients; torques: of each client [n, m]."""
    found = []
    for seen, own, other in zip(updates, torques, [*torques[1:], *torques[:1]], strict=True):
        u = read(net, seen).u
        ours, theirs = outside(net, seen, own)[:, None], outside(net, seen, other)
        found.append((likeness(u, own), likeness(u, other), np.mean((ours < theirs) + (ours == theirs) / 2)))
    return Learnt(*np.transpose(found))


def on_average(net: nn.Module, each: Sequence[Mapping[str, Tensor]], n: int, E: int, optimizer: str = "SGD") -> Learnt:
    """The same where every client has only its first n points, and does one round of E steps from a common start."""
    some = [{name: value[:n] for name, value in own.items()} for own in each]
    return learnt(net, [one_round(net, own, E, optimizer) for own in some], [own["u"].numpy() for own in some])


def scaled(u: np.ndarray) -> np.ndarray:
    """Curves [..., m] with root mean square 1."""
    return u / np.sqrt(np.mean(u**2, -1, keepdims=True))
