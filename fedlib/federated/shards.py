"""Who owns which points, for very many clients: one array of indices and where it is cut."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


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
