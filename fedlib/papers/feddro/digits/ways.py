"""What the clients train on: what they see, or what averages, maps and barycenters make of it."""

import contextlib
import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import ot

from .barycenters import mended
from .handwriting import Clients, known_to_all

FEDAVG, MEANS, AFFINE, MAPPED, ATOMS = "FedAvg", "class means", "affine maps", "mapped", "barycenter Q"
WAYS = (FEDAVG, MEANS, AFFINE, MAPPED, ATOMS)


def material(way: str, seen: Clients, atoms: int, rounds: int, steps: int, seed: int) -> Clients:
    """What the clients train on, by a way of WAYS, made of what they see.

    FedAvg: just that. class means: the ten Euclidean means over all clients. affine maps: onto the barycenter of
    Gaussians, from moments only. mapped: T_i(x), as in Eq. 5; barycenter Q: its atoms.

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
    transported = mended(seen, atoms, rounds, seed)
    return transported.mapped if way == MAPPED else transported.Q


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
    return known_to_all(np.repeat(mean, atoms, 0), np.repeat(range(10), atoms), len(seen.shards))


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
