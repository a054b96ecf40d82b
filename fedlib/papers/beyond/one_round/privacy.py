"""What sums tell in crowds and under noise, and what it costs to hide their points: attacks and errors, on Poisson."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
import xarray
from scipy.linalg import block_diag
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr
from torch import Tensor

from ....federated.experiment import Experiment, data_of
from ....numerics.tabulated import tabulated
from ....streams import stream
from ..points import ATTACKS, Curve, Spectrum, other_measure, poisson_rows, share_found, spectrum_of
from .problem import EQUATIONS, error, start, with_sines

GRID = np.linspace(0, np.pi, 501)
NEAR = 0.1
"""A point is found if a guess of its own is as near, in units of pi / n, the share of the interval that each of n has.
Who guesses the middle of every share finds one in five."""

DELTA = 1e-5
"""Probability with which a promise of privacy may fail."""


def cloud(n: int, seed: int) -> np.ndarray:
    """n points [n], rising: one at a random place in each of n equal parts of [0, pi]."""
    return (np.arange(n) + stream(seed, "cloud", n).uniform(size=n)) * np.pi / n


@lru_cache(maxsize=30)
def public(m: int, kept: int | None, seed: int, scale: float) -> tuple[Experiment, Spectrum, np.ndarray]:
    """What everybody knows before anything is sent: Poisson's equation with m sines, and its ``public_directions``."""
    experiment = with_sines("poisson", m, scale, seed)
    curve, back = public_directions(poisson_rows(experiment, start(experiment)), kept)
    return experiment, spectrum_of(curve, GRID), back


class Attacked(NamedTuple):
    """One message, what attacks make of it, and what it is good for."""

    experiment: Experiment  # Poisson's equation with sines
    spectrum: Spectrum  # of what is sent
    x: np.ndarray  # the points [n]
    guesses: dict[str, np.ndarray]  # [n] of each of ATTACKS
    share: dict[str, float]  # of the points that they find
    c: Tensor  # [m]: the solution


def attacked(
    m: int, points: int, seed: int, noise: float = 0.0, kept: int | None = None, scale: float = 6.0
) -> Attacked:  # fmt: skip
    """Sums of ``cloud``, by m sines or the ``kept`` strongest directions of them.

    noise: st.dev. of each number, in units of the most by which one point changes the sums.
    """
    experiment, spectrum, back = public(m, kept, seed, scale)
    x, sigma = cloud(points, seed), noise * sensitivity(spectrum.curve)
    rows = spectrum.curve(x)
    total = rows.T @ rows + symmetric_noise(sigma, rows.shape[1], stream(seed, "noise on sums", m))
    guesses = {name: attack(total, points, spectrum, sigma) for name, attack in ATTACKS.items()}
    share = {name: share_found(guess, x, NEAR * np.pi / points) for name, guess in guesses.items()}
    c = torch.as_tensor(back @ least_squares_of(total, sigma))
    return Attacked(experiment, spectrum, x, guesses, share, c)


def in_a_crowd(
    features: Sequence[int], points: Sequence[int], seeds: Sequence[int], scale: float = 6.0
) -> xarray.Dataset:
    """What the sums of n points tell without noise, by m sines.

    found [m, points, seed, attack]: shares of the points. apart [m, points, seed]: how far another measure with the
    same sums may lie, see ``other_measure``. products [m, points, seed]: independent ones.
    """

    def one(m: int, points: int, seed: int) -> dict:
        sent = attacked(m, points, seed, scale=scale)
        apart = other_measure(sent.x, sent.spectrum.curve, GRID)[1]
        return {"found": ("attack", [*sent.share.values()]), "apart": apart, "products": len(sent.spectrum.s)}

    return tabulated(one, m=features, points=points, seed=seeds).assign_coords(attack=[*ATTACKS])


# noise


def symmetric_noise(sigma: float, m: int, rng: np.random.Generator) -> np.ndarray:
    """Normal numbers [m, m] of st.dev. sigma on and above the diagonal, the same below."""
    upper = np.triu(sigma * rng.standard_normal((m, m)))
    return upper + np.triu(upper, 1).T


def public_directions(rows: Curve, kept: int | None) -> tuple[Curve, np.ndarray]:
    """What is sent instead of [J, r]: x [T] -> [b, r] [T, kept + 1]; and the matrix [m, kept] that leads back to c.

    If the points lie everywhere alike, which is public, everybody knows the directions in which J is large, and how
    large. b are the strongest of them, divided by that; or, where kept is None, all sines as they are. r comes in a
    unit that makes it as large as b.
    """
    J, r = np.split(rows(GRID), [-1], axis=1)
    back = np.eye(J.shape[1])
    if kept is not None:
        squares, V = np.linalg.eigh(J.T @ J / len(GRID))
        back = V[:, -kept:] / np.sqrt(squares[-kept:])
    unit = np.linalg.norm(J @ back, axis=1).max() / np.abs(r).max()
    mixed = block_diag(back, unit)
    return lambda x: rows(x) @ mixed, back / unit


def sensitivity(curve: Curve) -> float:
    """The most by which one point changes the sums: its row's largest squared length."""
    return float(np.square(curve(GRID)).sum(1).max())


def least_squares_of(total: np.ndarray, sigma: float) -> np.ndarray:
    """c [m] from noisy sums of [J, r], [m + 1, m + 1]: the ridge is the norm that such noise has, 2 sigma sqrt(m)."""
    squares, V = np.linalg.eigh(total[:-1, :-1])
    rounding = len(squares) * np.finfo(float).eps * squares[-1]
    return -V @ (V.T @ total[:-1, -1] / (squares.clip(min=0) + max(2 * sigma * np.sqrt(len(total)), rounding)))


def under_noise(
    messages: Mapping[str, Sequence], noise: Sequence[float], seeds: Sequence[int], points: int = 32, scale: float = 6.0
) -> xarray.Dataset:
    """What the sums of some points tell with noise on them, and what they are worth then.

    messages: name -> (m sines, directions kept of them, or None). noise: as ``attacked`` takes it. found [message,
    noise, seed, attack]; error (%) of the solution [message, noise, seed], and nothing (%), that of c = 0, which needs
    no data.
    """
    test = data_of(EQUATIONS["poisson"](), 2).test

    def one(message: str, noise: float, seed: int) -> dict:
        m, kept = messages[message]
        sent = attacked(m, points, seed, noise, kept, scale)
        errors = {"error": sent.c, "nothing": 0 * sent.c}
        errors = {name: error(sent.experiment, c, test) for name, c in errors.items()}
        return {"found": ("attack", [*sent.share.values()]), **errors}

    return tabulated(one, message=[*messages], noise=noise, seed=seeds).assign_coords(attack=[*ATTACKS])


# differential privacy


def gaussian_delta(epsilon: float, sigma: float) -> float:
    """The least delta for which a sum that one point changes by at most 1, with normal noise of st.dev. sigma, is
    (epsilon, delta)-differentially private (Balle and Wang, 2018, Theorem 8):
    Phi(1 / 2 sigma - epsilon sigma) - exp(epsilon) Phi(-1 / 2 sigma - epsilon sigma)."""
    half, over = 0.5 / sigma, epsilon * sigma
    return float(ndtr(half - over) - np.exp(epsilon + log_ndtr(-half - over)))


def gaussian_sigma(epsilon: float, delta: float = DELTA) -> float:
    """The least st.dev. of noise that is enough, for a sum that one point changes by at most 1."""
    return float(np.exp(brentq(lambda log: gaussian_delta(epsilon, np.exp(log)) - delta, -20, 20)))


def told_in_or_out(sigma: float) -> float:
    """How often one is right who knows all points but one, and says of the sums whether it is in them or not.

    Nobody does better: two normal distributions, 1 apart at most, are told apart by which mean is nearer.
    """
    return float(ndtr(0.5 / sigma))


def private_in_a_crowd(
    points: Sequence[int], epsilons: Sequence[float], seeds: Sequence[int], m: int = 60, kept: int = 20,
    scale: float = 6.0,
) -> xarray.Dataset:  # fmt: skip
    """Poisson's equation from private sums of many points, each of which may be another's.

    error (%) [points, epsilon, seed]; nothing (%) [..], that of c = 0. What is sent are ``public_directions``; one
    point more or less is hidden with epsilon and ``DELTA``. One who adds up, and adds the noise, is trusted.
    """
    test = data_of(EQUATIONS["poisson"](), 2).test

    def solved(points: int, epsilon: float, seed: int) -> dict:
        (experiment, spectrum, back), rng = public(m, kept, seed, scale), stream(seed, "crowd", points)
        b = spectrum.curve(rng.uniform(0, np.pi, points))
        sigma = gaussian_sigma(epsilon) * sensitivity(spectrum.curve)
        total = b.T @ b + symmetric_noise(sigma, kept + 1, rng)
        c = torch.as_tensor(back @ least_squares_of(total, sigma))
        return {"error": error(experiment, c, test), "nothing": error(experiment, 0 * c, test)}

    return tabulated(solved, points=points, epsilon=epsilons, seed=seeds)
