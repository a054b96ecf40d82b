"""Experiment 3: clients whose data differ. A level: how many sorted shards each owns, or how far two fields differ."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
import xarray
from torch import Tensor

from ....federated.experiment import Data, Experiment
from ....federated.partitions import pick_sources, sorted_shards
from ....numerics.heterogeneity import debiased_w1, mean_pairwise_w1
from ....numerics.spaces import grf_basis
from ....streams import stream
from ..experiment import first_alone, learning
from ..physics import both_tests, pendulum_triplets, random_tests, unseen_tests

DELTAS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
"""Differences of the paper's length scales (s)."""


def label_sorted(
    triplets: int = 10_000, clients: int = 20, tests: int = 100, sensors: int = 100, length_scale: float = 0.2,
    uneven: bool = False,
) -> Experiment:  # fmt: skip
    """Triplets sorted by target and cut into equal blocks, so many for each client; uneven: of sizes 1 : 2 : ..."""

    @cache
    def drawn(seed: int):
        pool = pendulum_triplets(triplets, sensors, length_scale, stream(seed, "train", 0))
        return pool, *both_cases(tests, sensors, length_scale, seed)

    def data(shards: int, seed: int) -> Data:
        pool, test, validation = drawn(seed)
        blocks = shards * clients
        sizes = np.arange(1, blocks + 1) if uneven else None
        owners = sorted_shards(pool["s"].numpy(), blocks, clients, stream(seed, "shards", shards), sizes)
        return Data(pool, owners, test, validation)

    return learning("pendulum", data, sensors=sensors, level="shards", distance=targets_apart)


def one_alone(
    triplets: int = 10_000, clients: int = 20, tests: int = 100, sensors: int = 100, length_scale: float = 0.2
) -> Experiment:
    """Client 1 of each federation of ``label_sorted``, and nobody else."""
    return first_alone(label_sorted(triplets, clients, tests, sensors, length_scale))


def two_fields(
    triplets: int = 10_000, clients: int = 20, tests: int = 100, sensors: int = 100, length_scale: float = 0.2,
    deltas: Sequence[float] = DELTAS,
) -> Experiment:  # fmt: skip
    """Each client has torques of one field, whose length scale is the first or, at random, delta longer; tested on the
    first one, on the "second" one and on the unseen torques. deltas: all that there are; the j-th has draws j."""
    longer = sorted({*deltas} - {0.0})

    @cache
    def drawn(delta: float, seed: int) -> dict[str, Tensor]:
        j = 1 + longer.index(delta) if delta else 0
        return pendulum_triplets(triplets, sensors, length_scale + delta, stream(seed, "train", j))

    def data(delta: float, seed: int) -> Data:
        owners, _ = sources(triplets, clients, seed)
        pool, second = drawn(0.0, seed), random_tests(tests, sensors, length_scale + delta, seed)
        if delta:
            pool = {name: torch.cat([one, drawn(delta, seed)[name]]) for name, one in pool.items()}
        owners = [shard % len(pool["s"]) for shard in owners]
        cases = both_cases(tests, sensors, length_scale, seed, second=second)
        return Data(pool, owners, *cases, partition=False)

    return learning("pendulum", data, sensors=sensors, level="Delta")


def both_cases(tests: int, sensors: int, length_scale: float, seed: int, **more) -> tuple[dict, dict]:
    """What a seed's models are tested on, and by what rates are chosen; more: further sets of both."""
    sets = (random_tests(tests, sensors, length_scale, seed, use=use) for use in ("test", "validation"))
    test, validation = (both_tests(cases, unseen_tests(sensors), **more) for cases in sets)
    return test, validation


def sources(triplets: int, clients: int, seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Who draws from which field, the same at every difference: indices of both fields' triplets, and 0 or 1 [C]."""
    return pick_sources(triplets, clients, stream(seed, "sources"))


# how far apart clients are


def targets(data: Data) -> list[np.ndarray]:
    """The targets s (rad) that each client owns."""
    return [data.pool["s"][shard].numpy() for shard in data.owners]


def targets_apart(data: Data) -> float:
    """Mean W1 between two clients' targets (rad)."""
    return mean_pairwise_w1(targets(data))


def samples_apart(data: Data, seed: int, points: int) -> float:
    """Mean W1 between two clients' samples (u / sqrt(m), y, s) of some points each, so that u counts as a function in
    L2(0, 1); without what finite samples add."""
    clouds = []
    for shard in data.owners:
        some = stream(seed, "w1 subset").permutation(shard)[:points]
        u, y, s = (data.pool[name][some] for name in ("u", "y", "s"))
        clouds.append(torch.cat([u / u.shape[1] ** 0.5, y, s[:, None]], 1).numpy())
    return debiased_w1(clouds)


def torque_distance(l1: float, l2: float, m: int) -> float:
    """Exact W2 between the torques of GRF(l1) and GRF(l2) in L2(0, 1), rad/s^2; at least W1. m: sensors.

    Both are Gaussian: W2^2 = tr A + tr B - 2 |a^T b|_* with covariances A = a a^T, B = b b^T and the nuclear norm.
    (POT takes the root of A, which is singular for a smooth field, and gives nan.)
    """
    a, b = (grf_basis(np.linspace(0, 1, m), l) / m**0.5 for l in (l1, l2))
    squared = (a**2).sum() + (b**2).sum() - 2 * np.linalg.norm(a.T @ b, "nuc")
    return float(max(squared, 0.0) ** 0.5)


def distances(
    shards: Sequence[int], deltas: Sequence[float], seeds: Sequence[int], points: int, triplets: int = 10_000,
    clients: int = 20, sensors: int = 100, length_scale: float = 0.2,
) -> xarray.Dataset:  # fmt: skip
    """Mean distance of two clients: W1 of targets and of samples of some points, "by_shards" [what, seed, shards]
    and "by_delta" [what, seed, Delta]; and exactly that of the torques, "torques" [seed, Delta]."""
    sizes = triplets, clients, 2, sensors, length_scale
    kinds = {"by_shards": (label_sorted(*sizes), shards), "by_delta": (two_fields(*sizes, deltas), deltas)}
    arrays = {}
    for kind, (experiment, levels) in kinds.items():
        data = [[experiment.data(level, seed) for level in levels] for seed in seeds]
        of_targets = [[targets_apart(one) for one in row] for row in data]
        of_samples = [[samples_apart(one, seed, points) for one in row] for seed, row in zip(seeds, data, strict=True)]
        arrays[kind] = ("what", "seed", experiment.level), [of_targets, of_samples]
    second = np.array([sources(triplets, clients, seed)[1].sum() for seed in seeds])
    pairs = second * (clients - second) / (clients * (clients - 1) / 2)  # those of one field are not apart
    apart = [torque_distance(length_scale, length_scale + delta, sensors) for delta in deltas]
    arrays["torques"] = ("seed", "Delta"), np.outer(pairs, apart)
    coords = {"what": ["s", "(u, y, s)"], "seed": list(seeds), "shards": list(shards), "Delta": list(deltas)}
    return xarray.Dataset(arrays, coords)
