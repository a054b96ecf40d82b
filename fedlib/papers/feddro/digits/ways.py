"""What the clients train on: what they see, or what averages, maps and barycenters make of it; and what each costs."""

import contextlib
import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import ot

from ....streams import stream
from ..algorithms import Message, federated_barycenter
from ..measures import uniform
from .barycenters import (
    Start,
    class_barycenters,
    converging,
    gathered,
    moments_start,
    of_class,
    sample_start,
)
from .handwriting import Clients

BYTES = 4  # of a number that is sent

FEDAVG, MEANS, AFFINE, MAPPED = "FedAvg", "class means", "affine maps", "mapped"
PRINTED, SAMPLES = "mapped, Q as printed", "mapped, Q from client 1's samples"
WAYS = (FEDAVG, MEANS, "data-wise", "atoms of γ", "barycenter Q", AFFINE, MAPPED, PRINTED, SAMPLES)


def material(way: str, seen: Clients, atoms: int, rounds: int, steps: int, seed: int) -> Clients:
    """What the clients train on, by a way of WAYS, made of what they see.

    FedAvg: just that. class means: the ten Euclidean means over all clients. affine maps: onto the barycenter of
    Gaussians, from moments only. barycenter Q: its atoms; atoms of γ: each client's own; mapped: T_i(x), as in Eq. 5.
    data-wise: the paper's second application. PRINTED: Algorithm 1 without ``converging``.

    atoms: of a class. rounds: of the barycenter. steps: of ``affine``.
    """
    if way not in WAYS:
        raise ValueError(f"way = {way!r}: expected one of {', '.join(WAYS)}")
    if way == FEDAVG:
        return seen
    if way == MEANS:
        return class_means(seen, atoms)
    if way == AFFINE:
        return affine(seen, steps)
    if way == "data-wise":
        return data_wise(seen, atoms, rounds, moments_start(stream(seed, way)))
    start = sample_start if way == SAMPLES else moments_start(stream(seed, "start"))
    transported = class_barycenters(seen, atoms, rounds, start, **{} if way == PRINTED else converging(rounds))
    return {"barycenter Q": transported.Q, "atoms of γ": transported.gammas}.get(way, transported.mapped)


class Moments(NamedTuple):
    """Of one client: n samples in all, mean [C, d] of every class (NaN without samples), and one covariance [d, d].

    The covariance is that within the classes, the same for all of them.
    """

    n: int
    mean: np.ndarray
    C: np.ndarray


def moments(seen: Clients, classes: int = 10) -> list[Moments]:
    """What every client sends to be averaged or mapped by its moments."""
    sent = []
    for shard in seen.shards:
        x, y = seen.x[shard], seen.y[shard]
        mean = np.array([x[y == v].mean(0) if v in y else np.full(x.shape[1], np.nan) for v in range(classes)])
        rest = x - mean[y]
        sent.append(Moments(len(shard), mean, rest.T @ rest / len(shard)))
    return sent


def mean_of_classes(sent: Sequence[Moments]) -> np.ndarray:
    """The clients' class means, averaged with their shares of all samples, over those who have the class [C, d]."""
    shares = np.array([[[m.n]] for m in sent]) * ~np.isnan([m.mean for m in sent])
    return np.nansum([m.mean * w for m, w in zip(sent, shares, strict=True)], 0) / shares.sum(0)


def most_alike(means: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The class [n] whose mean picture each of x [n, d] is most like, without any network: the largest scalar product
    with m_v / |m_v|; means [C, d], and m_v those less the mean of all, so that no translation counts."""
    m = means - means.mean(0)
    return (x @ (m / np.linalg.norm(m, axis=1, keepdims=True)).T).argmax(1)


def class_means(seen: Clients, atoms: int) -> Clients:
    """The Euclidean mean of every class over all clients, as often as there are atoms: the same steps as for Q."""
    mean = mean_of_classes(moments(seen))
    return gathered([np.repeat(mean, atoms, 0)] * len(seen.shards), [np.repeat(range(10), atoms)] * len(seen.shards))


def affine(seen: Clients, steps: int, shrink: float = 0.1) -> Clients:
    """x -> m_v + A_i (x - m_iv): POT's optimal map between Gaussians, onto their Bures-Wasserstein barycenter.

    The means are those of the classes, the covariance is one per client, within the classes. Fewer samples than pixels
    leave it singular: it is shrunk towards the mean variance by ``shrink``. steps: of POT's fixed point, in float32.
    """
    sent = moments(seen)
    mean, shares = mean_of_classes(sent), np.array([m.n for m in sent]) / sum(m.n for m in sent)
    eye = np.eye(seen.x.shape[1])
    C = np.stack([(1 - shrink) * m.C + shrink * np.trace(m.C) / len(m.C) * eye for m in sent]).astype(np.float32)
    nothing = np.zeros((len(C), len(eye)), np.float32)
    with contextlib.redirect_stdout(io.StringIO()):  # POT prints that so few steps do not converge
        _, middle = ot.gaussian.bures_wasserstein_barycenter(nothing, C, shares.astype(np.float32), num_iter=steps)
    x = np.empty_like(seen.x)
    for shard, m, covariance in zip(seen.shards, sent, C, strict=True):
        A, _ = ot.gaussian.bures_wasserstein_mapping(nothing[0], nothing[0], covariance, middle)
        labels = seen.y[shard]
        x[shard] = mean[labels] + (seen.x[shard] - m.mean[labels]) @ A
    return seen._replace(x=x)


def data_wise(seen: Clients, atoms: int, rounds: int, start: Start) -> Clients:
    """The paper's second application: ONE barycenter of clouds (x, label), 10 times ``atoms`` large.

    Labels are one-hot, scaled by the clients' mean spread within a class, so that the cost of another label is that of
    two digits of a class. The maps move labels, too: the largest coordinate is the new one.
    """
    spread = np.mean([np.trace(m.C) for m in moments(seen)]) ** 0.5
    z = np.concatenate([seen.x, spread * np.eye(10)[seen.y]], 1)
    clouds, first = [uniform(z[shard]) for shard in seen.shards], []
    for v in range(10):
        digits = of_class(seen._replace(x=z), v)
        first.append(start(digits, np.full(len(digits), 1 / len(digits)), atoms, None))
    weights = np.array([len(shard) for shard in seen.shards]) / len(np.concatenate(seen.shards))
    barycenter = federated_barycenter(clouds, np.concatenate(first), rounds, weights, **converging(rounds))
    moved = z.copy()
    for shard, image in zip(seen.shards, barycenter.mapped, strict=True):
        moved[shard] = image
    return Clients(moved[:, :-10], moved[:, -10:].argmax(1), seen.shards)


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


def bill(seen: Clients, atoms: int, parameters: int) -> list[list[str]]:
    """Rows: a method, kB that client 1 sends and receives once, and per barycenter round, and what that reveals.

    All but FedAvg on raw data add this to the model, which goes both ways in every communication round.
    """
    d, wire = seen.x.shape[1], []
    class_barycenters(seen, atoms, 1, moments_start(stream(0, "bill")), wire)
    once, each = traffic(wire, 1)
    maps = BYTES * sum(m.value.size for m in wire if m.what == "T(gamma)" and m.receiver == "client 1")
    labelled = each * (d + 10) // d
    means, covariance = 2 * BYTES * 10 * d, 2 * BYTES * d * (d + 1) // 2
    clouds = "clouds near the samples; some can be computed from them (notebook 10)"
    costs = {
        "model, per communication round": (0, 2 * BYTES * parameters, "what a model tells about its training data"),
        MEANS: (means, 0, "a mean picture of every class, with the client's translation"),
        AFFINE: (means + covariance, 0, "class means and one covariance: with few samples, their span"),
        "atoms of γ": (once - maps, each, clouds),
        "barycenter Q": (once, each, clouds),
        MAPPED: (once, each, clouds),
        "data-wise": (once * (d + 10) // d, labelled, clouds + ", and their labels"),
    }
    return [[way, f"{a / 1000:.0f}", f"{b / 1000:.0f}", words] for way, (a, b, words) in costs.items()]
