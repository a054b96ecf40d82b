"""A federation: who owns which points, and how they communicate. A whole figure is a mapping key -> Federation."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from .mixing import fedavg, isolated
from .server import Server
from .shards import Shards, points_of, sizes_of


@dataclass(frozen=True)
class Federation:
    """K clients that talk to each other: who owns which points, and how they communicate.

    Args:
        shards: K index arrays into the pool of points; see ``shards.Shards`` for very many clients.
        mixing: rule (p [K], active [K]) -> A [K, K], see ``mixing``; a rule with a third argument gets the round.
        server: what the server does with the mixed models, see ``server``; None keeps them as they are.
        fraction: share alpha of the clients in a round, or an interval it is drawn from anew each round.
        lr: local learning rate. decay: in round r = 0, 1, ... it is lr decay^r, or lr decay(r) for a function.
        weights: "size" for p_k = n_k / n, "equal" for 1 / K.
        common_init: all clients start from the same parameters.
        seed: of initial parameters, mini-batches and participation.
        name: for messages and figures.
    """

    shards: Sequence[np.ndarray]
    mixing: Callable[..., np.ndarray] = fedavg
    server: Server | None = None
    fraction: float | tuple[float, float] = 1.0
    lr: float = 1e-3
    decay: float | Callable[[int], float] = 1.0
    weights: str = "size"
    common_init: bool = True
    seed: int = 0
    name: str = "federation"

    @cached_property
    def sizes(self) -> np.ndarray:
        """Points of each client, n_k [K]."""
        return sizes_of(self.shards)

    @cached_property
    def p(self) -> np.ndarray:
        """Aggregation weights [K], sum 1."""
        n = self.sizes.astype(float) if self.weights == "size" else np.ones(len(self.shards))
        return n / n.sum()

    def rate(self, r: int) -> float:
        """Learning rate of round r; ValueError where a decay function gives none."""
        factor = self.decay(r) if callable(self.decay) else self.decay**r
        if not 0 <= factor < float("inf"):
            raise ValueError(f"{self.name}: decay({r}) = {factor}; expected a factor >= 0 of the learning rate")
        return self.lr * factor


def centralised(shards: Sequence[np.ndarray], **settings) -> Federation:
    """One model that sees the union of all shards: a point that several clients share counts once."""
    return Federation([np.unique(points_of(shards))], mixing=isolated, **settings)


def slices_of(federations: Iterable[Federation]) -> list[slice]:
    """Where the clients of each federation stand in the list of all clients."""
    ends = np.cumsum([0] + [len(fed.shards) for fed in federations]).tolist()
    return [slice(a, b) for a, b in pairwise(ends)]


def join(pools: Mapping[Hashable, Mapping[str, Tensor]]) -> tuple[dict[str, Tensor], Callable]:
    """Pools of several data sets (a seed each, say) as one, for ``train`` takes one.

    Returns:
        pool, at: ``at(key, shards)`` are the shards of the data set ``key`` as indices into the joint pool.
    """
    offsets, n = {}, 0
    for key, pool in pools.items():
        offsets[key], n = n, n + len(next(iter(pool.values())))
    names = next(iter(pools.values()))
    joint = {name: torch.cat([pool[name] for pool in pools.values()]) for name in names}

    def at(key, shards):
        if isinstance(shards, Shards):
            return Shards(offsets[key] + shards.order, shards.offsets)
        return [offsets[key] + np.asarray(shard) for shard in shards]

    return joint, at
