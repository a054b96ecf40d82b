"""What sums tell in crowds and under noise, and what it costs to hide their points: attacks and errors, on Poisson."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
import xarray
from scipy.linalg import block_diag
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from ....federated.experiment import data_of
from ....numerics.tabulated import tabulated
from ....streams import stream
from ..points import ATTACKS, Curve, independent_products, other_measure, poisson_rows, share_found
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


def guesses_of(G: np.ndarray, n: int, curve: Curve, noise: float = 0.0) -> list[np.ndarray]:
    """Where each of ``ATTACKS`` takes n points to be [n], of sums G [m, m] with noise of this st.dev."""
    return [attack(G, n, curve, GRID, noise) for attack in ATTACKS.values()]


def shares_found(guesses: Sequence[np.ndarray], x: np.ndarray) -> list[float]:
    """Share of points [n] that the guesses of each attack find."""
    return [share_found(guess, x, NEAR * np.pi / len(x)) for guess in guesses]


def in_a_crowd(
    features: Sequence[int], points: Sequence[int], seeds: Sequence[int], scale: float = 6.0
) -> xarray.Dataset:
    """What the sums of [J, r] of n points tell without noise, by m sines.

    found [m, points, seed, attack]: shares of the points. guess, x [m, points, place(, attack)]: where they are taken
    to be and where they are, of the first seed, NaN beyond n. apart [m, points, seed]: how far another measure with the
    same sums may lie, see ``other_measure``. products [m, points, seed]: independent ones.
    """

    most = max(points)

    def padded(x: np.ndarray) -> np.ndarray:
        return np.pad(x, (0, most - len(x)), constant_values=np.nan)

    def attacked(m: int, points: int, seed: int) -> dict:
        experiment = with_sines("poisson", m, scale, seed)
        rows, x = poisson_rows(experiment, start(experiment)), cloud(points, seed)
        guesses = guesses_of(rows(x).T @ rows(x), points, rows)
        return {
            "found": ("attack", shares_found(guesses, x)),
            "guess": (("attack", "place"), [padded(guess) for guess in guesses]),
            "x": ("place", padded(x)),
            "apart": other_measure(x, rows, GRID)[1], "products": independent_products(rows, GRID),
        }  # fmt: skip

    table = tabulated(attacked, m=features, points=points, seed=seeds).assign_coords(attack=[*ATTACKS])
    return table.assign({name: table[name].isel(seed=0) for name in ("guess", "x")})


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

    messages: name -> (m sines, directions kept of them, or None). noise: st.dev. of each number, in units of the most
    by which one point changes the sums. found [message, noise, seed, attack]; error (%) of the solution [message,
    noise, seed], and nothing (%), that of c = 0, which needs no data.
    """
    test = data_of(EQUATIONS["poisson"](), 2).test

    def attacked(message: str, noise: float, seed: int) -> dict:
        m, kept = messages[message]
        experiment, x = with_sines("poisson", m, scale, seed), cloud(points, seed)
        curve, back = public_directions(poisson_rows(experiment, start(experiment)), kept)
        sigma, rows = noise * sensitivity(curve), curve(x)
        total = rows.T @ rows + symmetric_noise(sigma, rows.shape[1], stream(seed, "noise on sums", m))
        c = torch.as_tensor(back @ least_squares_of(total, sigma))
        return {
            "found": ("attack", shares_found(guesses_of(total, points, curve, sigma), x)),
            "error": error(experiment, c, test), "nothing": error(experiment, 0 * c, test),
        }  # fmt: skip

    return tabulated(attacked, message=[*messages], noise=noise, seed=seeds).assign_coords(attack=[*ATTACKS])


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
        experiment, rng = with_sines("poisson", m, scale, seed), stream(seed, "crowd", points)
        curve, back = public_directions(poisson_rows(experiment, start(experiment)), kept)
        b = curve(rng.uniform(0, np.pi, points))
        sigma = gaussian_sigma(epsilon) * sensitivity(curve)
        total = b.T @ b + symmetric_noise(sigma, kept + 1, rng)
        c = torch.as_tensor(back @ least_squares_of(total, sigma))
        return {"error": error(experiment, c, test), "nothing": error(experiment, 0 * c, test)}

    return tabulated(solved, points=points, epsilon=epsilons, seed=seeds)
