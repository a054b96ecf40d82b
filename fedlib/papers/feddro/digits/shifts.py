"""Affine distribution shifts: every client sees the same digits through a map of its own (FedDRO, Section 2)."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ....streams import stream
from .handwriting import Clients


class Shift(NamedTuple):
    """x' = x + (gain x) + delta: gain [d, d] or a number, delta [d] or a number."""

    gain: np.ndarray | float
    delta: np.ndarray | float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """x [n, d] -> x' [n, d]."""
        x = np.asarray(x, float)
        return x + (x @ self.gain.T if np.ndim(self.gain) else self.gain * x) + self.delta


LEVELS = (0.05, 0.15, 0.25, 0.35, 0.45)  # of delta, for five clients (Section 2)


READINGS = ("client", "shared", "levels", "gain")


def affine_shift(level: float, G: np.ndarray, delta: np.ndarray) -> Shift:
    """x' = (I + level / sqrt(d) G) x + delta, G [d, d] standard normal.

    After Reisizadeh et al. 2020, which the paper cites.
    """
    return Shift(level / len(G) ** 0.5 * G, delta)


@lru_cache(maxsize=10)  # 5 MB each; every size of the shift needs those of the five clients
def normal(shape: tuple[int, ...], *key) -> np.ndarray:
    """The same standard normal numbers for the same key of ``stream``; not to be written to."""
    numbers = stream(*key).standard_normal(shape)
    numbers.flags.writeable = False
    return numbers


def client_shift(client: int, level: float, seed: int, reading: str = "client", d: int = 784) -> Shift:
    """A client's x' = Lambda_i x + delta_i, which the paper does not define (|Lambda| = ``level``).

    "client": ``affine_shift`` with a G_i of its own, delta_i = level z_i; "shared": one G for all clients, the same
    delta_i; "levels": its own G_i, and delta_i = LEVELS[i] z_i, the printed 5 to 45 %; "gain": Lambda = level for every
    pixel, delta_i = LEVELS[i]. The seed draws the same G and z for every size of the shift and every reading.
    """
    if reading not in READINGS:
        raise ValueError(f"reading = {reading!r}: expected one of {READINGS}")
    printed = LEVELS[client % len(LEVELS)]
    if reading == "gain":
        return Shift(level - 1, printed)
    z = normal((d,), seed, "delta", client)
    G = normal((d, d), seed, "Lambda") if reading == "shared" else normal((d, d), seed, "Lambda", client)
    return affine_shift(level, G, (printed if reading == "levels" else level) * z)


def shifted(clients: Clients, level: float, seed: int, reading: str = "client") -> Clients:
    """What the clients see: the samples of each, through its own map."""
    seen = np.empty_like(clients.x)
    for i, shard in enumerate(clients.shards):
        seen[shard] = client_shift(i, level, seed, reading, seen.shape[1])(clients.x[shard])
    return clients._replace(x=seen)


def shifted_tests(x: np.ndarray, K: int, fresh: int, level: float, seed: int, reading: str = "client") -> dict:
    """Test samples x [n, d] under maps: "own", of the K clients [K, n, d], "fresh", of as many that nobody had."""
    return {
        kind: np.stack([client_shift(i, level, seed, reading, x.shape[1])(x) for i in numbers]).astype(np.float32)
        for kind, numbers in (("own", range(K)), ("fresh", range(100, 100 + fresh)))
    }


def shifts_in_parts(x: np.ndarray, K: int, level: float, seed: int, reading: str = "client") -> dict[str, np.ndarray]:
    """Test samples x [n, d] under a part of each client's shift [K, n, d]: its "matrix" without delta_i, its "pattern"
    delta_i alone, and "whole"."""
    shifts = [client_shift(i, level, seed, reading, x.shape[1]) for i in range(K)]
    whole = np.stack([shift(x) for shift in shifts]).astype(np.float32)
    deltas = np.stack([np.broadcast_to(shift.delta, x.shape[1:]) for shift in shifts])[:, None].astype(np.float32)
    return {"matrix": whole - deltas, "pattern": x + deltas, "whole": whole}
