"""Who takes part in a round, which points a client looks at in each step, and ragged clients as rectangles.

The plain loops and the engine both read ``participants`` and ``batches``, so they see the same draws. Shorter clients
are padded, and padding weighs nothing.
"""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..streams import stream

UNITS = ("steps", "epochs")


class Local(NamedTuple):
    """Local work of a round: K ``updates``, counted in optimiser "steps" or in "epochs" (passes over the data).

    batch_size None is full batch: a pass is then one step. replacement: every point of every batch is drawn from all
    of the client's, so that a batch may be larger than they are. frozen: a point keeps its noise over the steps of a
    round, if there is noise.
    """

    updates: int
    unit: str = "steps"
    batch_size: int | None = None
    replacement: bool = False
    frozen: bool = False

    def points(self, n):
        """Points of a batch of a client with n of them; n may be an array."""
        if self.batch_size is None:
            return n
        return np.full_like(n, self.batch_size) if self.replacement else np.minimum(n, self.batch_size)


def participants(seed: int, round: int, K: int, fraction: float | tuple[float, float]) -> np.ndarray:
    """Available set A_k of a round as bool [K]: max(1, round(alpha K)) clients, uniformly without replacement.

    fraction: alpha in (0, 1], or an interval (low, high] from which alpha is drawn anew each round.
    """
    if fraction == 1:
        return np.ones(K, bool)
    rng = stream(seed, "participants", round)
    alpha = rng.uniform(*fraction) if isinstance(fraction, tuple) else fraction
    active = np.zeros(K, bool)
    half_up = int(np.floor(alpha * K + 0.5))  # Python's round(2.5) is 2, which would surprise at alpha = 0.25, K = 10
    active[rng.choice(K, max(1, half_up), replace=False)] = True
    return active


def n_steps(n: int, local: Local) -> int:
    """Optimiser steps in a round: ``updates`` itself, or times the ceil(n / batch_size) batches of a pass."""
    one_each = local.unit == "steps" or local.batch_size is None
    return local.updates * (1 if one_each else -(-n // local.batch_size))


def batches(seed: int, client: int, round: int, n: int, local: Local) -> np.ndarray:
    """Positions 0..n-1 that the client's local steps of this round use.

    Passes over freshly shuffled data, cut into mini-batches, the last batch of a pass as it comes out; the unit
    "steps" takes the first ``updates`` of that sequence.

    Returns:
        int64 [S, ``local.points(n)``], -1 where the last batch of a pass is short.
    """
    if local.batch_size is None:
        return np.tile(np.arange(n), (local.updates, 1))
    size, S = int(local.points(n)), n_steps(n, local)
    if local.replacement:
        return stream(seed, "batches", client, round).integers(n, size=(S, size))
    per_pass = -(-n // size)
    passes = -(-S // per_pass)
    order = np.full((passes, per_pass * size), -1)
    shuffled = np.tile(np.arange(n), (passes, 1))
    order[:, :n] = stream(seed, "batches", client, round).permuted(shuffled, axis=1)
    return order.reshape(passes * per_pass, size)[:S]


def noise_stream(seed: int, client: int, round: int, n: int, local: Local, shape: tuple[int, ...]) -> Callable:
    """Standard normal numbers of one client in one round, for its next steps: steps -> float32 [steps, B, *shape].

    B = ``local.points(n)``. Fresh ones in every step, or, ``local.frozen``, those that each of its n points got before
    the first. In which portions they are asked for changes nothing.
    """
    rng = stream(seed, "noise", client, round)
    if not local.frozen:
        return lambda steps: rng.standard_normal((steps, int(local.points(n)), *shape), np.float32)
    of_points, where = rng.standard_normal((n, *shape), np.float32), iter(batches(seed, client, round, n, local))
    return lambda steps: of_points[np.stack([*islice(where, steps)])]


# measured on a core with models of 1e4 parameters: eagerly each call costs, a program wants the cache; an accelerator
# wants all it can hold
POINTS_PER_BLOCK = {"eager": 2**12, "xla": 2**9, "cuda": 2**22}
NUMBERS_AT_ONCE = 2**22  # of noise: 16 MB in float32


def weigh(where: np.ndarray, dtype, device) -> tuple[Tensor, Tensor]:
    """Pool indices [..., B], -1 on padding -> (indices, weights w), both [..., B].

    w is 1 / n on the n real points and 0 on padding, which repeats the first point to stay a finite number.
    """
    real = where >= 0
    weight = torch.as_tensor(real / real.sum(-1, keepdims=True), dtype=dtype, device=device)
    return torch.as_tensor(np.where(real, where, where[..., :1]), device=device), weight


def gather(pool, where: Tensor, weight: Tensor) -> dict[str, Tensor]:
    """The rows' batches: every pool tensor at ``where`` [n, B], and the weights."""
    return {k: v.index_select(0, where.flatten()).unflatten(0, where.shape) for k, v in pool.items()} | {"w": weight}


def device_of(pool):
    return next(iter(pool.values())).device


def pad(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """n index arrays [..., B_i] -> [n, ..., max B_i], filled up with -1."""
    B = max(a.shape[-1] for a in arrays)
    return np.stack([np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, B - a.shape[-1])], constant_values=-1) for a in arrays])


def full_batch(pool, federations, members, dtype) -> dict[str, Tensor]:
    """All points of some clients. members: their (federation, number in it), a row of the batch each."""
    where = pad([np.asarray(federations[f].shards[k], int) for f, k in members])
    return gather(pool, *weigh(where, dtype, device_of(pool)))


class Segment(NamedTuple):
    """Consecutive local steps of the first n rows of a block, those that are still at work.

    fixed: tensors [n, B, ...] of a batch that all these steps share. drawn: tensors [steps, n, B, ...], one for each
    step; where they have "points", indices into the pool, the batch is these points.
    """

    n: int
    steps: int
    fixed: dict[str, Tensor]
    drawn: dict[str, Tensor]


def batch_of(pool, fixed, drawn) -> dict[str, Tensor]:
    """The rows' batch [n, B, ...] of one step: drawn is a segment's, without its first axis."""
    looked = gather(pool, drawn["points"], drawn["w"]) if "points" in drawn else fixed
    return looked | ({"noise": drawn["noise"]} if "noise" in drawn else {})


def each_batch(pool, segment: Segment):
    """The batches of a segment's steps, one after the other."""
    for s in range(segment.steps):
        yield batch_of(pool, segment.fixed, {name: value[s] for name, value in segment.drawn.items()})


def segments_of(pool, federations, members, steps, r, local, dtype):
    """Mini-batches of all local steps of some clients, as segments. members: see ``full_batch``; ``steps`` [n] fall."""
    points = []
    for f, k in members:
        shard = np.asarray(federations[f].shards[k], int)
        positions = batches(federations[f].seed, k, r, len(shard), local)
        points.append(np.where(positions < 0, -1, shard[positions]))
    levels = np.unique(steps)
    for start, stop in zip([0, *levels], levels, strict=False):
        n = int((steps >= stop).sum())
        where, weight = weigh(pad([p[start:stop] for p in points[:n]]).swapaxes(0, 1), dtype, device_of(pool))
        yield Segment(n, int(stop - start), {}, {"points": where, "w": weight})


def blocks_of(points: np.ndarray, limit: int, least: int = 1) -> list[slice]:
    """Cut rows, in order of falling work, into blocks that train one after the other for a whole round.

    A block holds at most ``limit`` points, so that it stays in the processor's cache, and at most limit / 8 of
    them are padding. Rows are independent: blocks change nothing but the speed.

    Args:
        points: points [M] of each row's batch. least: rows of a block, even if they have more points than that; with
            more than one, rows with as many points are cut into blocks of one size, if there is such a size.
    """
    starts, longest, held = [0], 0, 0
    for i, n in enumerate(points):
        longest, held = max(longest, n), held + n
        rows = i + 1 - starts[-1]
        if rows > least and (rows * longest > limit or rows * longest - held > limit / 8):
            starts.append(i)
            longest = held = n
    blocks = [slice(a, b) for a, b in zip(starts, [*starts[1:], len(points)], strict=True)]
    if least == 1 or np.ptp(points):
        return blocks
    size = next((size for size in range(blocks[0].stop, blocks[0].stop // 2, -1) if len(points) % size == 0), 0)
    return [slice(a, a + size) for a in range(0, len(points), size)] if size else blocks


def with_noise(segments, federations, members, r, local, shape, dtype):
    """Segments with fresh standard normal "noise" [steps, n, B, *shape], cut so that this stays small.

    Row by row from the client's own stream, and as many numbers as the row's own batch size asks for: who else is
    in the stack changes nobody's noise. Padding repeats the first point's, so that a loss stays finite on it (without
    noise a sample variance is 0).
    """
    draws = [noise_stream(federations[f].seed, k, r, len(federations[f].shards[k]), local, shape) for f, k in members]
    for n, steps, fixed, drawn in segments:
        one = (*(fixed or drawn)["w"].shape[-2:], *shape)
        at_once = max(1, NUMBERS_AT_ONCE // int(np.prod(one)))
        for first in range(0, steps, at_once):
            some = slice(first, min(first + at_once, steps))
            noise = np.empty((some.stop - first, *one), np.float32)
            for row, draw in zip(noise.swapaxes(0, 1), draws[:n], strict=True):
                drawn_for_row = draw(len(noise))
                B = drawn_for_row.shape[1]
                row[:, :B], row[:, B:] = drawn_for_row, drawn_for_row[:, :1]
            noise = torch.as_tensor(noise, dtype=dtype, device=(fixed or drawn)["w"].device)
            yield Segment(n, len(noise), fixed, {k: v[some] for k, v in drawn.items()} | {"noise": noise})
