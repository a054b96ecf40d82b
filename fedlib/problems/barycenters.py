"""Class-wise federated barycenters, and the maps that carry the clients' samples to them (FedDRO, Algorithm 1, 1-7)."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ..numerics.transport import Measure, Message, federated_barycenter, objective, ot, send, uniform, wasserstein
from ..streams import stream
from .digits import Clients
from .shifts import shifted

Start = Callable[[Sequence[Measure], np.ndarray, int, list | None], np.ndarray]
"""(a class's clouds at the clients, their weights, S, wire) -> atoms [S, d] to start from."""


class Transported(NamedTuple):
    """What the classes' barycenters make of the clients' data.

    mapped [N, d]: T_i(x) of every point. Q [n, d], labels [n]: all atoms. gammas: each client's own atoms [n_i, d], and
    gamma_labels. skipped: (class, client) without samples.
    """

    mapped: np.ndarray
    Q: np.ndarray
    labels: np.ndarray
    gammas: list[np.ndarray]
    gamma_labels: list[np.ndarray]
    skipped: list[tuple[int, int]]


def class_barycenters(
    x: np.ndarray,
    y: np.ndarray,
    shards: Sequence[np.ndarray],
    atoms: int,
    rounds: int,
    start: Start,
    wire: list[Message] | None = None,
    restarts: int = 0,
    stride: float = 1.0,
) -> Transported:
    """One federated barycenter per class; client i weighs its share n_i / n of ALL samples in every class.

    Shares of each class would be wrong: the clients' translations are larger than the classes are apart, so every
    class would sit at a mixture of translations of its own, and a network could read the mixture, not the digit.

    Args:
        x [N, d], y [N]: all clients' (shifted) samples. shards: who owns which.
        start: see ``moments_start``. restarts, stride: see ``federated_barycenter``.

    A class that a client lacks is skipped there, with a warning (its mixture then is another one); a class that
    nobody has is an error.
    """
    mapped, Q, labels, skipped = np.array(x, float), [], [], []
    gammas: list[list] = [[] for _ in shards]
    n = np.array([len(shard) for shard in shards])
    n_classes = int(y.max()) + 1
    for v in range(n_classes):
        own = [np.asarray(shard)[y[shard] == v] for shard in shards]
        if not sum(map(len, own)):
            raise ValueError(f"class {v} of {n_classes} has no sample at any client; relabel 0..{n_classes - 2}")
        there = [i for i, points in enumerate(own) if len(points)]
        skipped += [(v, i) for i, points in enumerate(own) if not len(points)]
        weights, clouds = n[there] / n[there].sum(), [uniform(x[own[i]]) for i in there]
        first = start(clouds, weights, atoms, wire)
        result = federated_barycenter(clouds, first, rounds, weights, wire, restarts, stride)
        for i, image, gamma in zip(there, result.mapped, result.gammas, strict=True):
            mapped[own[i]] = image
            gammas[i].append((v, gamma))
        Q.append(result.Q)
        labels += [v] * atoms
    if skipped:
        warnings.warn(f"skipped (class, client) without samples: {skipped}", stacklevel=2)
    kept = [np.concatenate([gamma for _, gamma in own]) for own in gammas]
    kept_labels = [np.repeat([v for v, _ in own], atoms) for own in gammas]
    return Transported(mapped, np.concatenate(Q), np.array(labels), kept, kept_labels, skipped)


def moments_start(rng: np.random.Generator) -> Start:
    """A Gaussian with the clients' pooled moments: every client sends its mean and S draws with its covariance.

    Its mean is that of the barycenter; its covariance is the weighted mean of the clients' own, which leaves the
    translations between clients out. The draws stand for the covariance, which has d^2 numbers; they are no samples,
    but lie in the span of the centred ones, as a covariance would say, too.
    """

    def start(clouds, weights, S, wire=None):
        atoms = np.zeros((S, clouds[0].x.shape[1]))
        for i, (cloud, weight) in enumerate(zip(clouds, weights, strict=True)):
            mean, n = cloud.x.mean(0), len(cloud.x)
            draws = rng.standard_normal((S, n)) @ (cloud.x - mean) / n**0.5
            send(wire, f"client {i + 1}", "server", "moments", np.vstack([mean, draws]))
            atoms += weight * mean + weight**0.5 * draws
        return atoms

    return start


def noise_start(rng: np.random.Generator, spread: float = 0.01) -> Start:
    """Tight noise around 0, so that the start says nothing about anybody's data."""
    return lambda clouds, weights, S, wire=None: spread * rng.standard_normal((S, clouds[0].x.shape[1]))


def sample_start(clouds, weights, S, wire=None) -> np.ndarray:
    """S samples of the first client that has the class, in turn. Sends raw samples to everybody."""
    return clouds[0].x[np.resize(np.arange(len(clouds[0].x)), S)]


class World(NamedTuple):
    """A federation under one size of the shift: what the clients see, where T_i carries it, and the atoms.

    Every client has all atoms of Q; gammas: those of its own gamma_i. skipped: (class, client) without samples.
    """

    seen: Clients
    mapped: Clients
    Q: Clients
    gammas: Clients
    skipped: list[tuple[int, int]]


def world(seen: Clients, atoms: int, rounds: int, start: Start, **converging) -> World:
    """See ``class_barycenters``; a class that a client lacks is listed, without a warning."""
    with warnings.catch_warnings(action="ignore"):
        found = class_barycenters(*seen, atoms, rounds, start, **converging)
    everywhere = Clients(found.Q, found.labels, [np.arange(len(found.Q))] * len(seen.shards))
    own = gathered(found.gammas, found.gamma_labels)
    return World(seen, seen._replace(x=found.mapped), everywhere, own, found.skipped)


def gathered(clouds: Sequence[np.ndarray], labels: Sequence[np.ndarray]) -> Clients:
    """Clients of which each owns a cloud [n_i, d] with labels [n_i] of its own."""
    ends = np.cumsum([len(cloud) for cloud in clouds])
    return Clients(np.concatenate(clouds), np.concatenate(labels), np.split(np.arange(ends[-1]), ends[:-1]))


def worlds(
    clients: Clients, levels: Sequence[float], seed: int, reading: str, atoms: int, rounds: int, from_samples=False
) -> dict[float, World]:
    """|Lambda| -> World. Q starts from pooled moments, or from client 1's samples, which everybody then sees.

    See ``converging``.
    """
    found = {}
    for level in levels:
        start = sample_start if from_samples else moments_start(stream(seed, "start"))
        seen = shifted(clients, level, seed, reading)
        found[level] = world(seen, atoms, rounds, start, **converging(rounds))
    return found


def converging(rounds: int) -> dict:
    """What makes Q converge: in the first two thirds of the rounds gamma_i starts anew at Q, and Q goes all the way."""
    return {"restarts": 2 * rounds // 3, "stride": 4.0}


def owned(ways: Mapping[str, str], worlds: Mapping[float, World]) -> dict[tuple[str, float], Clients]:
    """(way to train, |Lambda|) -> what the clients own then; ways: name -> a field of World such as "seen"."""
    return {(way, v): getattr(world, field) for v, world in worlds.items() for way, field in ways.items()}


def clients_apart(clients: Clients) -> float:
    """W_2 between two clients' clouds of a class, mean over pairs and the classes that both have; NaN without any."""
    x, y, shards = clients
    distances = [
        wasserstein(uniform(x[a][y[a] == v]), uniform(x[b][y[b] == v]))
        for a, b in combinations(shards, 2)
        for v in np.intersect1d(y[a], y[b])
    ]
    return float(np.mean(distances)) if distances else np.nan


def of_class(clients: Clients, v: int) -> list[Measure]:
    """The clouds of a class at all clients who have it."""
    x, y, shards = clients
    return [uniform(x[points]) for own in shards if len(points := own[y[own] == v])]


def convergence(world: World, v: int, seed: int, rounds: int) -> dict[str, float]:
    """How good a class's barycenter is: sum_i W_2^2(Q, P_i) / K, beside those of POT, which sees all samples.

    POT starts from the same Gaussian, or from the first client's samples. "as printed": gamma_i never starts anew.
    """
    clouds, atoms = of_class(world.seen, v), world.Q.x[world.Q.y == v]
    weights = np.full(len(clouds), 1 / len(clouds))
    gaussian = moments_start(stream(seed, "convergence", v))(clouds, weights, len(atoms))

    def central(start):
        found = ot.lp.free_support_barycenter([c.x for c in clouds], [c.w for c in clouds], start, numItermax=100)
        return objective(found, clouds)

    ours, printed = (federated_barycenter(clouds, gaussian, rounds, **how).Q for how in (converging(rounds), {}))
    value, same, samples = (
        objective(ours, clouds),
        central(gaussian),
        central(sample_start(clouds, weights, len(atoms))),
    )
    return {
        "objective of the threes": value,
        "as printed / POT, same start": objective(printed, clouds) / same,
        "ours / POT, same start": value / same,
        "ours / POT, from samples": value / samples,
    }
