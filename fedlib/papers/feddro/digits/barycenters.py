"""Barycenters of the classes, and the maps that carry the clients' digits to them (Algorithm 1, lines 1 to 7)."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import ot

from ....streams import stream
from ..algorithms import Message, federated_barycenter, send
from ..measures import Measure, objective, uniform, wasserstein
from .handwriting import Clients, known_to_all

Start = Callable[[Sequence[Measure], np.ndarray, int, list | None], np.ndarray]
"""(a class's clouds at the clients, their weights, S, wire) -> atoms [S, d] to start from."""


class Transported(NamedTuple):
    """mapped: the clients' digits at T_i(x). Q: its atoms, which everybody has."""

    mapped: Clients
    Q: Clients


def class_barycenters(
    seen: Clients, atoms: int, rounds: int, start: Start, wire: list[Message] | None = None, restarts: int = 0,
    stride: float = 1.0,
) -> Transported:  # fmt: skip
    """One federated barycenter per class; client i weighs its share n_i / n of ALL samples in every class.

    Shares of each class would be wrong: the clients' translations are larger than the classes are apart, so every
    class would sit at a mixture of translations of its own, and a network could read the mixture, not the digit. A
    class that a client lacks is skipped there. ValueError: nobody has it.

    start: see ``moments_start``. restarts, stride: see ``federated_barycenter``.
    """
    x, y, shards = seen
    mapped, Q = np.array(x, float), []
    n = np.array([len(shard) for shard in shards])
    classes = int(y.max()) + 1
    for v in range(classes):
        points = [np.asarray(shard)[y[shard] == v] for shard in shards]
        if not sum(map(len, points)):
            raise ValueError(f"class {v} of {classes} has no sample at any client; relabel 0..{classes - 2}")
        owners = [i for i, some in enumerate(points) if len(some)]
        weights, clouds = n[owners] / n[owners].sum(), [uniform(x[points[i]]) for i in owners]
        first = start(clouds, weights, atoms, wire)
        result = federated_barycenter(clouds, first, rounds, weights, wire, restarts, stride)
        for i, image in zip(owners, result.mapped, strict=True):
            mapped[points[i]] = image
        Q.append(result.Q)
    everywhere = known_to_all(np.concatenate(Q), np.repeat(range(classes), atoms), len(shards))
    return Transported(seen._replace(x=mapped), everywhere)


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


def sample_start(clouds, weights, S, wire=None) -> np.ndarray:
    """S samples of the first client that has the class, in turn. Sends raw samples to everybody."""
    return clouds[0].x[np.resize(np.arange(len(clouds[0].x)), S)]


def converging(rounds: int) -> dict:
    """What makes Q converge: in the first two thirds of the rounds gamma_i starts anew at Q, and Q goes all the way."""
    return {"restarts": 2 * rounds // 3, "stride": 4.0}


def mended(seen: Clients, atoms: int, rounds: int, seed: int) -> Transported:
    """``class_barycenters`` as the notebook has them, which converge; Algorithm 1 as printed has no ``converging``."""
    return class_barycenters(seen, atoms, rounds, moments_start(stream(seed, "start")), **converging(rounds))


# how good they are


def of_class(clients: Clients, v: int) -> list[Measure]:
    """The clouds of a class at all clients who have it."""
    x, y, shards = clients
    return [uniform(x[points]) for shard in shards if len(points := shard[y[shard] == v])]


def clients_apart(clients: Clients) -> float:
    """W_2 between two clients' clouds of a class, mean over pairs and the classes that both have; NaN without any."""
    x, y, shards = clients
    distances = [
        wasserstein(uniform(x[a][y[a] == v]), uniform(x[b][y[b] == v]))
        for a, b in combinations(shards, 2)
        for v in np.intersect1d(y[a], y[b])
    ]
    return float(np.mean(distances)) if distances else np.nan


def convergence(seen: Clients, Q: Clients, v: int, seed: int, rounds: int) -> dict[str, float]:
    """How good a class's barycenter is: sum_i W_2^2(Q, P_i) / K, beside those of POT, which sees all samples.

    POT starts from the same Gaussian, or from the first client's samples. "as printed": gamma_i never starts anew.
    """
    clouds, atoms = of_class(seen, v), Q.x[Q.y == v]
    weights = np.full(len(clouds), 1 / len(clouds))
    gaussian = moments_start(stream(seed, "convergence", v))(clouds, weights, len(atoms))

    def central(start):
        atoms = ot.lp.free_support_barycenter([c.x for c in clouds], [c.w for c in clouds], start, numItermax=100)
        return objective(atoms, clouds)

    mended, printed = (federated_barycenter(clouds, gaussian, rounds, **way).Q for way in (converging(rounds), {}))
    value, same = objective(mended, clouds), central(gaussian)
    return {
        "as printed / POT, same start": objective(printed, clouds) / same,
        "ours / POT, same start": value / same,
        "ours / POT, from samples": value / central(sample_start(clouds, weights, len(atoms))),
    }
