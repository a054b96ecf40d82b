"""A federation: who owns which points, and how they communicate. A whole figure is a mapping key -> Federation."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from .mixing import fedavg, isolated
from .optimizers import Server


def check_shards(shards: Sequence[np.ndarray], N: int, name: str) -> None:
    """ValueError that names the first client whose points are no indices into a pool of N points, each once."""
    if isinstance(shards, Mapping):
        raise ValueError(f"{name}: owners is a dictionary; expected a list of index arrays, [*owners.values()]")
    if not isinstance(shards, (Sequence, np.ndarray, Tensor)) or not len(shards):
        raise ValueError(f"{name}: owners = {shards!r}; expected a list with an index array for each client")
    if len(shards) > N:
        raise ValueError(f"{name}: {len(shards)} clients for {N} points; every client needs at least one point")
    shards = [*map(np.asarray, shards)]
    for k, shard in enumerate(shards):
        if shard.ndim == 1 and shard.size == 0:
            raise ValueError(f"{name}: client {k} is empty; use fewer clients or another partition")
        if shard.ndim != 1 or not np.issubdtype(shard.dtype, np.integer):
            fix = "; np.flatnonzero(mask) makes them of a mask" if shard.dtype == bool else ""
            if shard.ndim == 0:
                fix = "; partitions.owned(owner, K) makes them of the owner of each point"
            raise ValueError(
                f"{name}: client {k}'s shard has shape {shard.shape} and dtype {shard.dtype}; expected "
                f"one-dimensional whole numbers, the indices of its points in the pool{fix}"
            )
        if shard.min() < 0 or shard.max() >= N:
            outside = shard[(shard < 0) | (shard >= N)][0]
            raise ValueError(f"{name}: client {k} owns point {outside}, outside 0..{N - 1}: its pool has {N} points")
    sizes = [len(shard) for shard in shards]
    listed = np.sort(np.repeat(np.arange(len(shards)), sizes) * N + np.concatenate(shards).astype(int))
    twice = listed[1:][listed[1:] == listed[:-1]]
    if len(twice):
        k, point = divmod(int(twice[0]), N)
        raise ValueError(
            f"{name}: point {point} is listed {(listed == twice[0]).sum()} times by client {k}, and would weigh as "
            "often; expected each once: np.unique(...)"
        )


@dataclass(frozen=True)
class Federation:
    """K clients that talk to each other: who owns which points, and how they communicate.

    Args:
        shards: K index arrays into the pool of points; of very many clients with n each an array [K, n].
        mixing: rule (p [K], active [K]) -> A [K, K], see ``mixing``.
        server: what the server does with the mixed models, see ``optimizers.Server``; None keeps them as they are.
        fraction: share alpha of the clients in a round, or an interval it is drawn from anew each round.
        lr: local learning rate. decay: in round r = 0, 1, ... it is lr decay^r, or lr decay(r) for a function, such as
            those of ``schedules``.
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
        return np.array([len(shard) for shard in self.shards])

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
    return Federation([np.unique(np.concatenate(shards))], mixing=isolated, **settings)


def slices_of(federations: Iterable[Federation]) -> list[slice]:
    """Where the clients of each federation stand in the list of all clients."""
    ends = np.cumsum([0] + [len(fed.shards) for fed in federations]).tolist()
    return [slice(a, b) for a, b in pairwise(ends)]


def join(pools: Mapping[Hashable, Mapping[str, Tensor]]) -> tuple[dict[str, Tensor], Callable]:
    """Pools of several data sets (a seed each, say) as one, for ``train`` takes one.

    Returns:
        pool, joined: ``joined(key, shards)`` are the shards of the data set ``key`` as indices into the joint pool.
    """
    offsets, n = {}, 0
    for key, pool in pools.items():
        offsets[key], n = n, n + len(next(iter(pool.values())))
    names = next(iter(pools.values()))
    joint = {name: torch.cat([pool[name] for pool in pools.values()]) for name in names}

    def joined(key, shards):
        return [offsets[key] + np.asarray(shard, int) for shard in shards]

    return joint, joined


def same_tensors(sets: Collection[Mapping[str, Tensor]]) -> list[Hashable]:
    """A label for each of these sets of tensors: the same where they hold the same numbers under the same names.

    A tensor that several sets have, or that has a shape of its own, is not looked at; others are by a digest of their
    bytes, 0.07 s per 100 MB.
    """
    alike = defaultdict(dict)  # name, shape and dtype -> the different tensors that have them
    for tensors in sets:
        for name, value in tensors.items():
            alike[name, value.shape, value.dtype][id(value)] = value
    digests = {
        (kind, i): digest(value) if len(values) > 1 else b""
        for kind, values in alike.items()
        for i, value in values.items()
    }
    kinds = [[((name, value.shape, value.dtype), id(value)) for name, value in sorted(s.items())] for s in sets]
    return [tuple((kind, digests[kind, i]) for kind, i in one) for one in kinds]


def digest(tensor: Tensor) -> bytes:
    """SHA-256 of a tensor's bytes."""
    return sha256(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()).digest()
