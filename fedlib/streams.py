"""Randomness: one seed, and a keyed stream for every use.

Nothing in fedlib touches a global random state. A stream is found by what it is for, so that adding a
client, a round or a use changes nobody else's numbers.
"""

import zlib

import numpy as np
import torch


def _sequence(seed: int, use: str, keys: tuple[int, ...]) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=(zlib.crc32(use.encode()), *keys))


def stream(seed: int, use: str, *keys: int) -> np.random.Generator:
    """NumPy generator for one use, e.g. ``stream(seed, "batches", client, round)``.

    Args:
        seed: the experiment's seed, >= 0.
        use: what the numbers are for; two uses never share a stream.
        keys: further non-negative indices (client, round, ...).
    """
    return np.random.default_rng(_sequence(seed, use, keys))


def torch_stream(seed: int, use: str, *keys: int) -> torch.Generator:
    """The same as a CPU ``torch.Generator``, for torch's own initialisers."""
    state = _sequence(seed, use, keys).generate_state(1, np.uint64)[0]
    return torch.Generator().manual_seed(int(state >> np.uint64(1)))
