"""What else could make FedDRO's gain: simpler things to train on, each with what its clients must send."""

import contextlib
import io
import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import ot

from ..numerics.transport import Message, federated_barycenter, uniform
from ..streams import stream
from .barycenters import Start, World, class_barycenters, converging, gathered, moments_start
from .digits import Clients

BYTES = 4  # of a number that is sent


class Moments(NamedTuple):
    """Of one client: n samples in all, mean [C, d] of every class (NaN without samples), and one covariance [d, d].

    The covariance is that within the classes, the same for all of them.
    """

    n: int
    mean: np.ndarray
    C: np.ndarray


def moments(seen: Clients, classes: int = 10) -> list[Moments]:
    """What every client sends to be averaged or mapped by its moments."""
    found = []
    for own in seen.shards:
        x, y = seen.x[own], seen.y[own]
        mean = np.array([x[y == v].mean(0) if v in y else np.full(x.shape[1], np.nan) for v in range(classes)])
        rest = x - mean[y]
        found.append(Moments(len(own), mean, rest.T @ rest / len(own)))
    return found


def mean_of_classes(known: Sequence[Moments]) -> np.ndarray:
    """The clients' class means, averaged with their shares of all samples, over those who have the class [C, d]."""
    shares = np.array([[[m.n]] for m in known]) * ~np.isnan([m.mean for m in known])
    return np.nansum([m.mean * w for m, w in zip(known, shares, strict=True)], 0) / shares.sum(0)


def class_means(seen: Clients, atoms: int) -> Clients:
    """The Euclidean mean of every class over all clients, as often as there are atoms: the same steps as for Q."""
    mean = mean_of_classes(moments(seen))
    return gathered([np.repeat(mean, atoms, 0)] * len(seen.shards), [np.repeat(range(10), atoms)] * len(seen.shards))


def affine(seen: Clients, steps: int, shrink: float = 0.1) -> Clients:
    """x -> m_v + A_i (x - m_iv): POT's optimal map between Gaussians, onto their Bures-Wasserstein barycenter.

    The means are those of the classes, the covariance is one per client, within the classes. Fewer samples than pixels
    leave it singular: it is shrunk towards the mean variance by ``shrink``. steps: of POT's fixed point, in float32.
    """
    known = moments(seen)
    mean, shares = mean_of_classes(known), np.array([m.n for m in known]) / sum(m.n for m in known)
    eye = np.eye(seen.x.shape[1])
    C = np.stack([(1 - shrink) * m.C + shrink * np.trace(m.C) / len(m.C) * eye for m in known]).astype(np.float32)
    nothing = np.zeros((len(C), len(eye)), np.float32)
    with contextlib.redirect_stdout(io.StringIO()):  # POT prints that so few steps do not converge
        _, middle = ot.gaussian.bures_wasserstein_barycenter(nothing, C, shares.astype(np.float32), num_iter=steps)
    x = np.empty_like(seen.x)
    for own, m, covariance in zip(seen.shards, known, C, strict=True):
        A, _ = ot.gaussian.bures_wasserstein_mapping(nothing[0], nothing[0], covariance, middle)
        labels = seen.y[own]
        x[own] = mean[labels] + (seen.x[own] - m.mean[labels]) @ A
    return seen._replace(x=x)


def data_wise(seen: Clients, atoms: int, rounds: int, start: Start) -> Clients:
    """The paper's second application: ONE barycenter of clouds (x, label), 10 times ``atoms`` large.

    Labels are one-hot, scaled by the clients' mean spread within a class, so that the cost of another label is that of
    two digits of a class. The maps move labels, too: the largest coordinate is the new one.
    """
    spread = np.mean([np.trace(m.C) for m in moments(seen)]) ** 0.5
    z = np.concatenate([seen.x, spread * np.eye(10)[seen.y]], 1)
    clouds, first = [uniform(z[own]) for own in seen.shards], []
    for v in range(10):
        own = [uniform(z[points]) for shard in seen.shards if len(points := shard[seen.y[shard] == v])]
        first.append(start(own, np.full(len(own), 1 / len(own)), atoms, None))
    weights = np.array([len(own) for own in seen.shards]) / len(np.concatenate(seen.shards))
    found = federated_barycenter(clouds, np.concatenate(first), rounds, weights, **converging(rounds))
    moved = z.copy()
    for own, image in zip(seen.shards, found.mapped, strict=True):
        moved[own] = image
    return Clients(moved[:, :-10], moved[:, -10:].argmax(1), seen.shards)


CONTROLS = ("FedAvg", "class means", "barycenter Q", "atoms of γ", "mapped", "affine maps", "data-wise")


def controls(
    worlds: Mapping[float, World], atoms: int, rounds: int, steps: int, start: Start
) -> dict[tuple[str, float], Clients]:
    """(way, |Lambda|) -> what the clients train on, for the ways of CONTROLS that are no field of a World."""
    found = {}
    for level, world in worlds.items():
        found["class means", level] = class_means(world.seen, atoms)
        found["atoms of γ", level] = world.gammas
        found["affine maps", level] = affine(world.seen, steps)
        found["data-wise", level] = data_wise(world.seen, atoms, rounds, start)
    return found


class Traffic(NamedTuple):
    """Bytes between one client and the server: once, and in every round of a barycenter."""

    once: int
    each: int


def traffic(wire: Sequence[Message], rounds: int, client: str = "client 1") -> Traffic:
    """What crossed between a client and the server in class-wise barycenters; gamma and eta_Q cross in every round."""
    sizes = {True: 0, False: 0}
    for message in wire:
        if client in (message.sender, message.receiver):
            sizes[message.what in ("gamma", "eta_Q")] += BYTES * message.value.size
    return Traffic(sizes[False], sizes[True] // rounds)


def bill(world: World, rounds: int, parameters: int) -> list[list[str]]:
    """Rows: a method, kB that client 1 sends and receives once, and per barycenter round, and what that reveals.

    All but FedAvg on raw data add this to the model, which goes both ways in every communication round.
    """
    d, wire, atoms = world.seen.x.shape[1], [], len(world.Q.x) // 10
    with warnings.catch_warnings(action="ignore"):
        class_barycenters(*world.seen, atoms, 1, moments_start(stream(0, "bill")), wire)
    once, each = traffic(wire, 1)
    maps = BYTES * sum(m.value.size for m in wire if m.what == "T(gamma)" and m.receiver == "client 1")
    labelled = each * (d + 10) // d
    means, covariance = 2 * BYTES * 10 * d, 2 * BYTES * d * (d + 1) // 2
    clouds = "clouds near the samples; some can be computed from them (section 3)"
    costs = {
        "model, per communication round": (0, 2 * BYTES * parameters, "what a model tells about its training data"),
        "class means": (means, 0, "a mean picture of every class, with the client's translation"),
        "affine maps": (means + covariance, 0, "class means and one covariance: with few samples, their span"),
        "atoms of γ": (once - maps, each, clouds),
        "barycenter Q": (once, each, clouds),
        "mapped": (once, each, clouds),
        "data-wise": (once * (d + 10) // d, labelled, clouds + ", and their labels"),
    }
    return [[way, f"{a / 1000:.0f}", f"{b / 1000:.0f}", words] for way, (a, b, words) in costs.items()]
