"""Who is off? What sums that laboratories have sent anyway say of each of them.

Each client is left out in turn. If its model and that of all others are one, then what least squares lose by joining
them is no more than noise (Chow 1960; here with the larger noise of the two, so that who is only noisier is not called
off). Nobody is asked again, and nothing else is learnt of anybody.

It finds a fault only where others have measured what the client has. So for each client there is, too, the least fault
of its scale that would be seen: where that is large, nobody can judge it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import brentq
from torch import Tensor

from ..numerics.metrics import after_holm
from .sums import Sums, added

LIMIT = 1e-3
"""Probability, over all clients, of naming one where there is no fault."""

LOUD = 1e6
"""Noncentrality of the largest fault that is asked about."""

SEEN = 0.9
"""Probability with which the least fault is found."""

LARGE = 0.5
"""Of whom a scale that is off by this share would not be seen, that one nobody can judge."""

EXACT = 1e-20
"""Share of |r|^2 below which what least squares leave is rounding, and no noise."""

MANY = 3
"""Where more than one in so many clients is off, the model is."""


class Suspicion(NamedTuple):
    """Of one client beside all others. p: that it is off only by chance. noise: its own, in units of theirs, and
    p_noise: that it is larger only by chance. least: by which share its scale must be off to be seen; infinite where
    nobody else has measured what it has."""

    p: float
    noise: float
    p_noise: float
    least: float


class Squares(NamedTuple):
    """Least squares of some sums: step d [P], |r + J d|^2, how many directions J has, how many rows."""

    step: np.ndarray
    rest: float
    rank: int
    n: float


def squares(sums: Sums) -> Squares:
    """Without a ridge, in the directions that rounding leaves; ``sums`` are a root."""
    R = sums.matrix.double().numpy()
    J, r = R[:, :-1], R[:, -1]
    step, _, rank, _ = np.linalg.lstsq(J, -r, rcond=1e-10)
    rest = max(float(np.square(r + J @ step).sum()), EXACT * float(r @ r), np.finfo(float).tiny)
    return Squares(step, rest, int(rank), sums.n)


def suspicions(messages: Sequence[Sums], limit: float = LIMIT) -> list[Suspicion]:
    """Of each client, from the roots that all have sent (``sums.statistics``), of rows that weigh 1 each.

    Raises:
        ValueError: fewer than three clients, sums instead of roots, noise, or a client with too few rows for a test.
    """
    check(messages)
    total = squares(added(messages))
    return [suspicion(k, messages, total, limit) for k in range(len(messages))]


def suspicion(k: int, messages: Sequence[Sums], total: Squares, limit: float) -> Suspicion:
    """Of client k. Joined, the two lose F d s^2, where they share d directions and s^2 is the larger noise."""
    rest = added([message for i, message in enumerate(messages) if i != k])
    mine, theirs = squares(messages[k]), squares(rest)
    shared = mine.rank + theirs.rank - total.rank
    free = np.array([mine.n - mine.rank, theirs.n - theirs.rank])
    noises = np.array([mine.rest, theirs.rest]) / free
    larger = int(noises.argmax())
    if not shared:
        return Suspicion(1.0, (noises[0] / noises[1]) ** 0.5, noisier(noises, free), np.inf)
    F = (total.rest - mine.rest - theirs.rest) / shared / noises[larger]
    p = float(stats.f.sf(F, shared, free[larger]))
    seen = least(
        messages[k].matrix, rest.matrix, total.step, noises[larger], shared, free[larger], limit / len(messages)
    )
    return Suspicion(p, (noises[0] / noises[1]) ** 0.5, noisier(noises, free), seen)


def noisier(noises: np.ndarray, free: np.ndarray) -> float:
    """Probability that the first of two noises is as large by chance."""
    return float(stats.f.sf(noises[0] / noises[1], *free))


def least(
    mine: Tensor, theirs: Tensor, step: np.ndarray, noise: float, shared: int, free: float, limit: float
) -> float:  # fmt: skip
    """The least share g by which a client's scale is off and found with probability SEEN: J d is then g J d, and what
    joining loses has the noncentrality g^2 d^T (G^+ + H^+)^+ d / noise, with G, H = J^T J of the client, of the others.
    """
    alone, other = (R[:, :-1].double().numpy() for R in (mine, theirs))
    signal = alone @ step
    reach = alone @ np.linalg.pinv(other.T @ other, rcond=1e-12, hermitian=True) @ alone.T
    strength = signal @ np.linalg.solve(np.eye(len(alone)) + reach, signal) / noise
    bound = stats.f.isf(limit, shared, free)
    if stats.ncf.sf(bound, shared, free, LOUD) < SEEN:  # few degrees of freedom
        return np.inf
    needed = brentq(lambda size: stats.ncf.sf(bound, shared, free, size) - SEEN, 1e-6, LOUD)
    return float((needed / strength) ** 0.5) if strength > 0 else np.inf


def off(messages: Sequence[Sums], limit: float = LIMIT) -> list[int]:
    """Clients that are off, the worst first, after Holm's correction; each is left out before the others are tested
    again, for one fault is in what all others are compared with, too."""
    left, named = [*range(len(messages))], []
    while len(left) > 2:
        p = np.array([one.p for one in suspicions([messages[k] for k in left], limit)])
        if not after_holm(p, limit).any():
            break
        named.append(left.pop(int(p.argmin())))
    return named


def fits(named: Sequence[int], messages: Sequence[Sums]) -> bool:
    """Whether so few are off that the model is not: with too few functions each laboratory that measures a part
    of its own seems off."""
    return MANY * len(named) <= len(messages)


def sentences(messages: Sequence[Sums], names: Sequence[str] | None = None, limit: float = LIMIT) -> list[str]:
    """What is to be said of the clients, a line each; none, if there is nothing."""
    names = [f"lab {k + 1}" for k in range(len(messages))] if names is None else names
    named = off(messages, limit)
    if not fits(named, messages):
        return [f"{len(named)} of {len(messages)} are off: the model does not fit, and nobody is named"]
    lines = [f"{names[k]} is off: p < {f'{limit:g}'.lstrip('0')}, after Holm's correction" for k in named]
    rest = [k for k in range(len(messages)) if k not in named]
    if len(rest) < 3:
        return [*lines, "of the two that are left nobody can say which is right"]
    sayings = suspicions([messages[k] for k in rest], limit)
    noisy = after_holm([one.p_noise for one in sayings], limit)
    for k, one, louder in zip(rest, sayings, noisy, strict=True):
        if louder:
            lines.append(f"{names[k]} has {one.noise:.1f} times the noise of the others")
        if one.least > LARGE:
            lines.append(f"{names[k]}: nobody can judge it, too little of what it measures was measured by others")
    return lines


def check(messages: Sequence[Sums]) -> None:
    """ValueError for what cannot be compared."""
    if len(messages) < 3:
        raise ValueError(f"{len(messages)} messages: of two that differ nobody can say which is off; give three")
    if len({message.matrix.shape[1] for message in messages}) > 1:
        widths = [message.matrix.shape[1] - 1 for message in messages]
        raise ValueError(f"messages of {widths} parameters; expected those of one model")
    for k, message in enumerate(messages):
        if message.noise or not message.root:
            what = "noisy" if message.noise else "sums"
            raise ValueError(f"the message of lab {k + 1} is {what}; expected roots, as of statistics")
        if message.n <= message.matrix.shape[1] - 1:
            raise ValueError(
                f"lab {k + 1} has {message.n:g} rows for {message.matrix.shape[1] - 1} parameters: it fits itself, and "
                "nothing tells its noise; take fewer functions, or leave it out"
            )
