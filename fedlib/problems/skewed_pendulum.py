"""Clients of the pendulum whose data differ: label-sorted shards, two random fields (Fed-DeepONet, Experiment 3)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import xarray
from torch import Tensor

from ..federated.federation import Federation, join
from ..federated.partitions import pick_sources, sorted_shards
from ..numerics.heterogeneity import debiased_w1, mean_pairwise_w1
from ..numerics.spaces import grf_basis
from ..papers.fed_deeponet.physics import pendulum_triplets
from ..streams import stream


@dataclass(frozen=True)
class Skewed:
    """For each seed N triplets of every length scale as one pool, and C clients as index sets into it.

    A kind of heterogeneity and its level say who owns what: "shards", sorted shards per client; "uneven", the same in
    blocks of sizes 1 : 2 : ...; "fields", the difference of the second field's length scale.
    """

    pool: Mapping[str, Tensor]
    at: Callable
    n: int
    clients: int
    length_scale: float

    def everything(self, seed: int, scale: float) -> np.ndarray:
        """Where a seed's triplets of a length scale stand in the pool."""
        return self.at((seed, scale), [np.arange(self.n)])[0]

    def owned(self, kind: str, level: float, seed: int) -> list[np.ndarray]:
        """One index array per client."""
        if kind == "fields":
            return self.two_fields(seed, level)
        return self.shards(seed, level, np.arange(1, level * self.clients + 1) if kind == "uneven" else None)

    def shards(self, seed: int, per_client: int, sizes: np.ndarray | None = None) -> list[np.ndarray]:
        """Label-sorted shards of the triplets with the first length scale."""
        targets, rng = self.pool["s"][self.everything(seed, self.length_scale)], stream(seed, "shards", per_client)
        own = sorted_shards(targets.numpy(), per_client * self.clients, self.clients, rng, sizes)
        return self.at((seed, self.length_scale), own)

    def sources(self, seed: int) -> tuple[list[np.ndarray], np.ndarray]:
        """Who draws from which field; the same at every difference."""
        return pick_sources(self.n, self.clients, stream(seed, "sources"))

    def two_fields(self, seed: int, delta: float) -> list[np.ndarray]:
        """Clients with GRF(l) or GRF(l + delta)."""
        own, second = self.sources(seed)
        scales = [self.length_scale + delta if s and delta else self.length_scale for s in second]
        return [self.everything(seed, l)[shard % self.n] for shard, l in zip(own, scales, strict=True)]

    def targets(self, kind: str, level: float, seed: int) -> list[np.ndarray]:
        """The targets s (rad) that each client owns."""
        return [self.pool["s"][shard].numpy() for shard in self.owned(kind, level, seed)]

    def samples(self, kind: str, level: float, seed: int, points: int) -> list[np.ndarray]:
        """(u / sqrt(m), y, s) of some points of each client: distance in u is then L2 distance of functions."""
        found = []
        for shard in self.owned(kind, level, seed):
            some = stream(seed, "w1 subset").permutation(shard)[:points]
            u, y, s = (self.pool[name][some] for name in ("u", "y", "s"))
            found.append(torch.cat([u / u.shape[1] ** 0.5, y, s[:, None]], 1).numpy())
        return found

    def federations(self, cases: Mapping[str, tuple], seeds: Sequence[int], make=Federation) -> dict[tuple, Federation]:
        """(case, seed) -> Federation; cases: name -> (kind, level, settings), e.g. ("shards", 2, {"lr": 0.001}).

        make: what makes one of shards and settings, ``centralised`` for one model that owns all points of the clients.
        """
        return {
            (case, seed): make(self.owned(kind, level, seed), seed=seed, name=case, **settings)
            for seed in seeds
            for case, (kind, level, settings) in cases.items()
        }


def skewed(n: int, m: int, length_scale: float, deltas: Sequence[float], clients: int, seeds: Sequence[int]) -> Skewed:
    """n triplets with m sensors for each seed, with the length scale and with each that is a delta > 0 longer."""
    scales = [length_scale, *(length_scale + d for d in deltas if d > 0)]
    pool, at = join(
        {(s, l): pendulum_triplets(n, m, l, stream(s, "train", j)) for s in seeds for j, l in enumerate(scales)}
    )
    return Skewed(pool, at, n, clients, length_scale)


def distances(data: Skewed, kind: str, levels: Sequence[float], seeds: Sequence[int], points: int) -> xarray.DataArray:
    """Mean pairwise W1 of the clients' targets "s" and, de-biased, of their samples "(u, y, s)" [what, seed, level]."""
    found = [
        [[mean_pairwise_w1(data.targets(kind, level, seed)) for level in levels] for seed in seeds],
        [[debiased_w1(data.samples(kind, level, seed, points)) for level in levels] for seed in seeds],
    ]
    coords = {"what": ["s", "(u, y, s)"], "seed": list(seeds), "level": list(levels)}
    return xarray.DataArray(found, coords, list(coords))


def torque_distance(l1: float, l2: float, m: int) -> float:
    """Exact W2 between the torques of GRF(l1) and GRF(l2) in L2(0, 1), rad/s^2; at least W1. m: sensors.

    Both are Gaussian: W2^2 = tr A + tr B - 2 |a^T b|_* with covariances A = a a^T, B = b b^T and the nuclear norm.
    (POT takes the root of A, which is singular for a smooth field, and gives nan.)
    """
    a, b = (grf_basis(np.linspace(0, 1, m), l) / m**0.5 for l in (l1, l2))
    squared = (a**2).sum() + (b**2).sum() - 2 * np.linalg.norm(a.T @ b, "nuc")
    return float(max(squared, 0.0) ** 0.5)


def torque_distances(data: Skewed, deltas: Sequence[float], seeds: Sequence[int]) -> np.ndarray:
    """Mean ``torque_distance`` over the pairs of clients [seed, level]: pairs of one field have none."""
    m, l = data.pool["u"].shape[1], data.length_scale
    apart = [torque_distance(l, l + delta, m) for delta in deltas]
    second = np.array([data.sources(seed)[1].sum() for seed in seeds])
    pairs = second * (data.clients - second) / (data.clients * (data.clients - 1) / 2)
    return np.outer(pairs, apart)


def levels_of(errors: Mapping[str, Mapping[str, np.ndarray]], kind: str) -> dict[str, dict[float, np.ndarray]]:
    """algorithm -> "shards 2" -> values as algorithm -> 2 -> values, of one kind, by rising level."""
    found = {}
    for algorithm, cases in errors.items():
        levels = {float(case.split()[1]): values for case, values in cases.items() if case.split()[0] == kind}
        if levels:
            found[algorithm] = dict(sorted(levels.items()))
    return found
