"""Who takes part in a round, and which points a client looks at in each local step.

The plain loops and the engine both read these two functions, so they see the same draws.
"""

from typing import NamedTuple

import numpy as np

from .streams import stream

UNITS = ("steps", "epochs")


class Local(NamedTuple):
    """Local work of a round: K ``updates``, counted in optimiser "steps" or in "epochs" (passes over the data).

    batch_size None is full batch: a pass is then one step.
    """

    updates: int
    unit: str = "steps"
    batch_size: int | None = None


def participants(seed: int, round: int, K: int, fraction: float | tuple[float, float]) -> np.ndarray:
    """Available set A_k of a round as bool [K]: max(1, round(alpha K)) clients, uniformly without replacement.

    fraction: alpha in (0, 1], or an interval (low, high] from which alpha is drawn anew each round.
    """
    if fraction == 1:
        return np.ones(K, bool)
    rng = stream(seed, "participants", round)
    alpha = rng.uniform(*fraction) if isinstance(fraction, tuple) else fraction
    active = np.zeros(K, bool)
    active[rng.choice(K, max(1, round_half_up(alpha * K)), replace=False)] = True
    return active


def round_half_up(x: float) -> int:
    """0.5 rounds up (Python's round(2.5) is 2, which would surprise at alpha = 0.25, K = 10)."""
    return int(np.floor(x + 0.5))


def n_steps(n: int, local: Local) -> int:
    """Optimiser steps in a round: ``updates`` itself, or times the ceil(n / batch_size) batches of a pass."""
    one_each = local.unit == "steps" or local.batch_size is None
    return local.updates * (1 if one_each else -(-n // local.batch_size))


def batches(seed: int, client: int, round: int, n: int, local: Local) -> np.ndarray:
    """Positions 0..n-1 that the client's local steps of this round use.

    Passes over freshly shuffled data, cut into mini-batches, the last batch of a pass as it comes out; the unit
    "steps" takes the first ``updates`` of that sequence.

    Returns:
        int64 [S, min(batch_size, n)], -1 where the last batch of a pass is short.
    """
    if local.batch_size is None:
        return np.tile(np.arange(n), (local.updates, 1))
    size = min(local.batch_size, n)
    per_pass, S = -(-n // size), n_steps(n, local)
    passes = -(-S // per_pass)
    order = np.full((passes, per_pass * size), -1)
    shuffled = np.tile(np.arange(n), (passes, 1))
    order[:, :n] = stream(seed, "batches", client, round).permuted(shuffled, axis=1)
    return order.reshape(passes * per_pass, size)[:S]


def noise_stream(seed: int, client: int, round: int, n: int, local: Local, shape: tuple[int, ...]):
    """Endless standard normal numbers of one client in one round: float32 [min(batch_size, n), *shape] per step."""
    rng, size = stream(seed, "noise", client, round), min(local.batch_size or n, n)
    while True:
        yield rng.standard_normal((size, *shape), np.float32)
