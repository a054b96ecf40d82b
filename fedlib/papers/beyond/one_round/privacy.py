"""What sums tell under noise and in crowds, beside what hiding their points costs: attacks and errors, on Poisson."""

from collections.abc import Sequence

import numpy as np
import torch
import xarray
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from ....federated.experiment import Experiment, data_of
from ....numerics.tabulated import tabulated
from ....streams import stream
from ..points import ATTACKS, Curve, independent_products, other_measure, poisson_rows, share_found
from .problem import EQUATIONS, error, start, with_sines

GRID = np.linspace(0, np.pi, 501)
WITHIN = np.pi / 100
"""A point is found if a guess of its own is as near: one hundredth of the interval."""


def features_of(experiment: Experiment) -> Curve:
    """x [T] -> J [T, m] of Poisson's equation with sines."""
    rows = poisson_rows(experiment, start(experiment))
    return lambda x: rows(x)[:, :-1]


def shares_found(G: np.ndarray, points: np.ndarray, curve: Curve, noise: float = 0.0) -> list[float]:
    """Share of points [n] that each of ``ATTACKS`` finds in G [m, m], to which noise of this st.dev. was added."""
    guesses = [attack(G, len(points), curve, GRID, noise) for attack in ATTACKS.values()]
    return [share_found(guess, points, WITHIN) for guess in guesses]


def by_chance(points: np.ndarray, seed: int, draws: int = 100) -> float:
    """Share of points [n] that as many random guesses find, a mean over draws."""
    guesses = stream(seed, "guesses", len(points)).uniform(0, np.pi, (draws, len(points)))
    return float(np.mean([share_found(guess, points, WITHIN) for guess in guesses]))


def found_at_random_places(
    features: Sequence[int], points: Sequence[int], seeds: Sequence[int], scale: float = 6.0
) -> xarray.Dataset:
    """What the sums of n points at random places tell, by m sines.

    found [m, points, seed, attack], chance [m, points, seed]: shares of the points. products [m, points, seed]:
    independent ones of the features. apart: how far another measure with the same sums may lie, see ``other_measure``.
    """

    def attacked(m: int, points: int, seed: int) -> dict:
        curve = features_of(with_sines("poisson", m, scale, seed))
        x = np.sort(stream(seed, "random points", points).uniform(0, np.pi, points))
        rows = curve(x)
        return {
            "found": ("attack", shares_found(rows.T @ rows, x, curve)), "chance": by_chance(x, seed),
            "products": independent_products(curve, GRID), "apart": other_measure(x, curve, GRID)[1],
        }  # fmt: skip

    return tabulated(attacked, m=features, points=points, seed=seeds).assign_coords(attack=[*ATTACKS])


# noise


def symmetric_noise(sigma: float, m: int, rng: np.random.Generator) -> np.ndarray:
    """Normal numbers [m, m] of st.dev. sigma on and above the diagonal, the same below."""
    upper = np.triu(sigma * rng.standard_normal((m, m)))
    return upper + np.triu(upper, 1).T


def least_squares_of(total: np.ndarray, sigma: float) -> np.ndarray:
    """c [m] from noisy sums of [J, r], [m + 1, m + 1]: the ridge is the norm that such noise has, 2 sigma sqrt(m)."""
    squares, V = np.linalg.eigh(total[:-1, :-1])
    ridge = 2 * sigma * np.sqrt(len(total))
    return -V @ (V.T @ total[:-1, -1] / (squares.clip(min=0) + ridge))


def found_under_noise(
    features: Sequence[int], noise: Sequence[float], seeds: Sequence[int], scale: float = 6.0, level: int = 8
) -> xarray.Dataset:
    """What both clients' sums tell to whom they add noise, and what their total is worth then.

    noise: st.dev. of each number, in units of the largest eigenvalue of the client's sums of [J, r].
    found [m, noise, seed, sums, attack], chance [..., sums]: of the sums of "one client" and of the "total".
    error (%) of the solution [m, noise, seed].
    """
    data = data_of(EQUATIONS["poisson"](), level)
    places = data.pool["x"][:, 0].double().numpy()

    def attacked(m: int, noise: float, seed: int) -> dict:
        experiment, rng = with_sines("poisson", m, scale, seed), stream(seed, "noise on sums", m)
        rows = poisson_rows(experiment, start(experiment))
        sent, sigmas = [], []
        for shard in data.owners:
            matrix = rows(places[shard]).T @ rows(places[shard])
            sigmas.append(noise * np.linalg.eigvalsh(matrix)[-1])
            sent.append(matrix + symmetric_noise(sigmas[-1], len(matrix), rng))
        curve, all_sigma = features_of(experiment), float(np.linalg.norm(sigmas))
        clouds = [places[data.owners[0]], places]
        messages = zip([sent[0], sum(sent)], clouds, [sigmas[0], all_sigma], strict=True)
        c = least_squares_of(sum(sent), all_sigma)
        return {
            "found": (("sums", "attack"), [shares_found(G[:-1, :-1], x, curve, sigma) for G, x, sigma in messages]),
            "chance": ("sums", [by_chance(x, seed) for x in clouds]),
            "error": error(experiment, torch.as_tensor(c), data.test),
        }  # fmt: skip

    table = tabulated(attacked, m=features, noise=noise, seed=seeds)
    return table.assign_coords(sums=["one client", "total"], attack=[*ATTACKS])


# differential privacy


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    """St.dev. of normal noise that makes a sum (epsilon, delta)-differentially private (Balle and Wang, 2018).

    sensitivity: the largest norm by which one point changes the sum. The least sigma with
    Phi(s / 2 sigma - epsilon sigma / s) - exp(epsilon) Phi(-s / 2 sigma - epsilon sigma / s) <= delta.
    """

    def told(log_ratio: float) -> float:  # of sigma to the sensitivity
        half, over = np.exp(-log_ratio) / 2, epsilon * np.exp(log_ratio)
        return ndtr(half - over) - np.exp(epsilon + log_ndtr(-half - over)) - delta

    return sensitivity * float(np.exp(brentq(told, -20, 20)))


def private_in_a_crowd(
    points: Sequence[int], epsilons: Sequence[float], seeds: Sequence[int], delta: float = 1e-5, m: int = 60,
    kept: int = 20, scale: float = 6.0,
) -> xarray.Dataset:  # fmt: skip
    """Poisson's equation from private sums of many points, each of which may be another's.

    error (%) [points, epsilon, seed]; nothing (%) [..]: of c = 0, which needs no data. Where x lies is taken for public
    in distribution, uniform: so the features' strongest directions there, and their scales, are known to everybody, and
    each row [b(x), r(x)] is short. One point changes the sum by at most the largest |row|^2. One who adds up, and adds
    the noise, is trusted: with n points at as many clients secure addition does that.
    """
    test = data_of(EQUATIONS["poisson"](), 2).test

    def solved(points: int, epsilon: float, seed: int) -> dict:
        experiment, rng = with_sines("poisson", m, scale, seed), stream(seed, "crowd", points)
        rows = poisson_rows(experiment, start(experiment))
        public = rows(GRID)
        squares, V = np.linalg.eigh(public[:, :-1].T @ public[:, :-1] / len(GRID))
        white = V[:, -kept:] / np.sqrt(squares[-kept:])
        longest = np.linalg.norm(public[:, :-1] @ white, axis=1).max()
        unit = longest / np.abs(public[:, -1]).max()

        def whitened(rows: np.ndarray) -> np.ndarray:
            return np.column_stack([rows[:, :-1] @ white, unit * rows[:, -1]])

        b = whitened(rows(rng.uniform(0, np.pi, points)))
        sigma = gaussian_sigma(epsilon, delta, np.square(whitened(public)).sum(1).max())
        d = least_squares_of(b.T @ b + symmetric_noise(sigma, kept + 1, rng), sigma)
        c = torch.as_tensor(white @ d / unit)
        return {"error": error(experiment, c, test), "nothing": error(experiment, 0 * c, test)}

    return tabulated(solved, points=points, epsilon=epsilons, seed=seeds)
