"""FedDRO: affine distribution shifts, class-wise transport to the barycenter, and adversarial local training.

The engine trains: ``FedDRO``'s local problem is a loss for one client, a network with a personal displacement theta_i
and an optimiser that descends on w and ascends on theta_i. Source: FedDRO, Algorithm 1 and Section 4.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, max_pool2d, relu

from ..federated.optimizers import Optimizer
from ..numerics.transport import Message, federated_barycenter, uniform


class Shift(NamedTuple):
    """x' = x + (gain x) + delta: gain [d, d] or a number, delta [d] or a number."""

    gain: np.ndarray | float
    delta: np.ndarray | float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """x [n, d] -> x' [n, d]."""
        x = np.asarray(x, float)
        return x + (x @ self.gain.T if np.ndim(self.gain) else self.gain * x) + self.delta


LEVELS = (0.05, 0.15, 0.25, 0.35, 0.45)  # of delta, for five clients (Section 4)


READINGS = ("flra", "vec", "gain")


def affine_shift(level: float, d: int, rng: np.random.Generator, reading: str = "flra", client: int = 0) -> Shift:
    """One client's x' = Lambda x + delta, which the paper does not define (|Lambda| = ``level``).

    "flra": (I + level / sqrt(d) G) x + level z with G, z standard normal (Reisizadeh et al. 2020, which it cites);
    "vec": the same Lambda, delta = LEVELS[client] z; "gain": Lambda = level for every pixel, delta = LEVELS[client].
    """
    if reading not in READINGS:
        raise ValueError(f"reading = {reading!r}: expected one of {READINGS}")
    delta = LEVELS[client % len(LEVELS)]
    if reading == "gain":
        return Shift(level - 1, delta)
    G, z = rng.standard_normal((d, d)), rng.standard_normal(d)
    return Shift(level / d**0.5 * G, (level if reading == "flra" else delta) * z)


class Transported(NamedTuple):
    """What the classes' barycenters make of the clients' data.

    mapped [N, d]: T_i(x) of every point. Q [n, d], labels [n]: all atoms. skipped: (class, client) without samples.
    """

    mapped: np.ndarray
    Q: np.ndarray
    labels: np.ndarray
    skipped: list[tuple[int, int]]


def class_barycenters(
    x: np.ndarray,
    y: np.ndarray,
    shards: Sequence[np.ndarray],
    atoms: int,
    rounds: int,
    start: Callable[[int, int], np.ndarray],
    wire: list[Message] | None = None,
) -> Transported:
    """One federated barycenter per class; client i weighs its share n_i / n of ALL samples in every class.

    Shares of each class would be wrong: the clients' translations are larger than the classes are apart, so every
    class would sit at a mixture of translations of its own, and a network would read the mixture, not the digit.

    Args:
        x [N, d], y [N]: all clients' (shifted) samples. shards: who owns which.
        start: (class, S) -> atoms [S, d] to start from, made without the clients' data; see ``noise_start``.

    A class that a client lacks is skipped there, with a warning (its mixture then is another one); a class that
    nobody has is an error.
    """
    mapped, Q, labels, skipped = np.array(x, float), [], [], []
    n = np.array([len(shard) for shard in shards])
    n_classes = int(y.max()) + 1
    for v in range(n_classes):
        own = [np.asarray(shard)[y[shard] == v] for shard in shards]
        if not sum(map(len, own)):
            raise ValueError(f"class {v} of {n_classes} has no sample at any client; relabel 0..{n_classes - 2}")
        skipped += [(v, i) for i, points in enumerate(own) if not len(points)]
        there = np.array([len(points) > 0 for points in own])
        own = [points for points in own if len(points)]
        weights = n[there] / n[there].sum()
        result = federated_barycenter([uniform(x[points]) for points in own], start(v, atoms), rounds, weights, wire)
        for points, image in zip(own, result.mapped, strict=True):
            mapped[points] = image
        Q.append(result.Q)
        labels += [v] * atoms
    if skipped:
        warnings.warn(f"skipped (class, client) without samples: {skipped}", stacklevel=2)
    return Transported(mapped, np.concatenate(Q), np.array(labels), skipped)


def noise_start(d: int, rng: np.random.Generator, spread: float = 0.01) -> Callable[[int, int], np.ndarray]:
    """start(class, S): tight noise around 0, so that the start says nothing about anybody's data."""
    return lambda v, S: spread * rng.standard_normal((S, d))


def sample_start(x: np.ndarray, y: np.ndarray, shards: Sequence[np.ndarray]) -> Callable[[int, int], np.ndarray]:
    """start(class, S): S samples of the first client that has the class, in turn. Sends raw samples to everybody."""

    def start(v: int, S: int) -> np.ndarray:
        own = next(points for shard in shards if len(points := shard[y[shard] == v]))
        return x[np.resize(own, S)]

    return start


class CNN(nn.Module):
    """Two 5 x 5 convolutions (10, 20 channels) with max pooling, 50 hidden units, 10 classes; dropout 1/2.

    displaced: with a parameter theta [784], the client's adversarial displacement.
    """

    NOISE = (70,)  # per image: 20 channels and 50 units to drop

    def __init__(self, displaced: bool = False):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 10, 5), nn.Conv2d(10, 20, 5)
        self.hidden, self.out = nn.Linear(320, 50), nn.Linear(50, 10)
        self.theta = nn.Parameter(torch.zeros(784)) if displaced else None

    def forward(self, x: Tensor, noise: Tensor | None = None, attack: bool = False) -> Tensor:
        """x [n, 784] -> logits [n, 10]. noise [n, 70]: standard normal, drops a unit where it is negative."""
        if attack and self.theta is not None:
            x = x + self.theta
        a = relu(max_pool2d(self.conv1(x.unflatten(-1, (1, 28, 28))), 2))
        a = self.conv2(a)
        if noise is not None:
            a = a * keep(noise[:, :20, None, None])
        a = relu(self.hidden(relu(max_pool2d(a, 2)).flatten(1)))
        if noise is not None:
            a = a * keep(noise[:, 20:])
        return self.out(a)


def keep(noise: Tensor) -> Tensor:
    """Dropout 1/2: 2 or 0, each half of the time."""
    return 2.0 * (noise > 0)


def classification(predict: Callable, batch: Mapping[str, Tensor]) -> Tensor:
    """Mean cross entropy of h_w(x + theta); the local objective is this minus lambda |theta|^p."""
    logits = predict(batch["x"], batch.get("noise"), True)
    return (batch["w"] * cross_entropy(logits, batch["y"], reduction="none")).sum()


def ascend(theta: Tensor, g: Tensor, eta: float, lam: float, p: float) -> Tensor:
    """One ascent step on loss - lambda |theta|^p, row by row; theta, g [..., d].

    p = 2 and p = 1 are proximal: they shrink theta + eta g by the exact solution of the penalty's step, which is
    stable for every eta and lambda. Other p: a plain gradient step.
    """
    if p == 2:
        return (theta + eta * g) / (1 + 2 * eta * lam)
    if p == 1:
        z = theta + eta * g
        return z * (1 - eta * lam / z.norm(dim=-1, keepdim=True).clamp_min(1e-30)).clamp_min(0)
    size = theta.norm(dim=-1, keepdim=True).clamp_min(1e-12)
    return theta + eta * (g - lam * p * size ** (p - 2) * theta)


def descent_ascent(n_theta: int, eta_1: float, lam: float, p: float = 2, momentum: float = 0.5) -> Optimizer:
    """FedDRO's local step: SGD with momentum on w, one ascent step on theta_i (lines 8-15).

    theta_i are the first n_theta columns of a row [P], as in ``CNN``. Both steps use the gradient at the old
    (w, theta).
    """

    def apply(rows, g, state, lr):
        theta, w = rows[:, :n_theta], rows[:, n_theta:]
        w.sub_(lr * state["v"].mul_(momentum).add_(g[:, n_theta:]))
        theta.copy_(ascend(theta, g[:, :n_theta], eta_1, lam, p))

    return Optimizer(lambda rows: {"v": torch.zeros_like(rows[:, n_theta:])}, apply)
