"""A federation: who owns which points, and how they communicate. A whole figure is a mapping key -> Federation."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from .mixing import fedavg, isolated
from .optimizers import Server


@dataclass(frozen=True, eq=False)
class Shards(Sequence):
    """K index arrays as one: client k owns order[offsets[k] : offsets[k + 1]], a view.

    order: indices into the pool, client after client. offsets [K + 1]: rising. A slice of clients is ``Shards`` again.
    """

    order: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, k):
        if isinstance(k, slice):
            if k.step not in (None, 1):
                raise ValueError(f"shards[{k.start}:{k.stop}:{k.step}]: expected neighbouring clients, a step of 1")
            start, stop, _ = k.indices(len(self))
            return Shards(self.order, self.offsets[start : max(start, stop) + 1])
        k = range(len(self))[k]
        return self.order[self.offsets[k] : self.offsets[k + 1]]

    @classmethod
    def of_sizes(cls, order: np.ndarray, sizes: np.ndarray) -> "Shards":
        """``order`` cut into shards of these sizes [K]."""
        return cls(order, np.concatenate([[0], np.cumsum(sizes)]))


def sizes_of(shards: Sequence[np.ndarray]) -> np.ndarray:
    """Points of each client [K]."""
    return np.diff(shards.offsets) if isinstance(shards, Shards) else np.array([len(shard) for shard in shards])


def points_of(shards: Sequence[np.ndarray]) -> np.ndarray:
    """The points of all clients, one client after the other."""
    return shards.order[slice(*shards.offsets[[0, -1]])] if isinstance(shards, Shards) else np.concatenate(shards)


@dataclass(frozen=True)
class Federation:
    """K clients that talk to each other: who owns which points, and how they communicate.

    Args:
        shards: K index arrays into the pool of points; see ``Shards`` for very many clients.
        mixing: rule (p [K], active [K]) -> A [K, K], see ``mixing``.
        server: what the server does with the mixed models, see ``optimizers.Server``; None keeps them as they are.
        fraction: share alpha of the clients in a round, or an interval it is drawn from anew each round.
        lr: local learning rate. decay: in round r = 0, 1, ... it is lr decay^r, or lr decay(r) for a function.
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
    common_init: bool = True
    seed: int = 0
    name: str = "federation"

    @cached_property
    def sizes(self) -> np.ndarray:
        """Points of each client, n_k [K]."""
        return sizes_of(self.shards)

    @cached_property
    def p(self) -> np.ndarray:
        """Aggregation weights p_k = n_k / n [K], sum 1."""
        return self.sizes / self.sizes.sum()

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
