"""Class-wise federated barycenters, and the maps that carry the clients' samples to them (FedDRO, Algorithm 1, 1-7)."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ..numerics.transport import Message, federated_barycenter, uniform
from ..streams import stream
from .digits import Clients
from .shifts import shifted


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


class World(NamedTuple):
    """A federation under one size of the shift: what the clients see, where T_i carries it, and the atoms of Q.

    Every client has all atoms. skipped: (class, client) without samples.
    """

    seen: Clients
    mapped: Clients
    Q: Clients
    skipped: list[tuple[int, int]]


def world(seen: Clients, atoms: int, rounds: int, start: Callable[[int, int], np.ndarray]) -> World:
    """See ``class_barycenters``; a class that a client lacks is listed, without a warning."""
    with warnings.catch_warnings(action="ignore"):
        found = class_barycenters(*seen, atoms, rounds, start)
    everywhere = [np.arange(len(found.Q))] * len(seen.shards)
    return World(seen, seen._replace(x=found.mapped), Clients(found.Q, found.labels, everywhere), found.skipped)


def worlds(
    clients: Clients, levels: Sequence[float], seed: int, reading: str, atoms: int, rounds: int, from_samples=False
) -> dict[float, World]:
    """|Lambda| -> World. Q starts from tight noise around 0, or from client 1's samples, which everybody then sees."""
    found = {}
    for level in levels:
        seen = shifted(clients, level, seed, reading)
        start = sample_start(*seen) if from_samples else noise_start(seen.x.shape[1], stream(seed, "start"))
        found[level] = world(seen, atoms, rounds, start)
    return found


def owned(ways: Mapping[str, str], worlds: Mapping[float, World]) -> dict[tuple[str, float], Clients]:
    """(way to train, |Lambda|) -> what the clients own then; ways: name -> "seen", "mapped" or "Q"."""
    return {(way, v): getattr(world, field) for v, world in worlds.items() for way, field in ways.items()}


def class_means_apart(clients: Clients) -> float:
    """Mean distance of two clients' class means, RMS over pixels and the classes that both have; NaN without any."""
    x, y, shards = clients
    distances = []
    for a, b in combinations(shards, 2):
        common = np.intersect1d(y[a], y[b])
        differences = [x[a][y[a] == v].mean(0) - x[b][y[b] == v].mean(0) for v in common]
        distances += [np.square(differences).mean() ** 0.5] if len(common) else []
    return float(np.mean(distances)) if distances else np.nan
