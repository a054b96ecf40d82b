"""What sums tell of the points that they were taken over.

G = sum_i a(x_i) a(x_i)^T is linear in the measure of the points, sum_i delta(x_i), and everybody knows the curve a: the
features. So G is as many equations for n unknown points as the curve has independent products a_j a_k. It does not
matter whether G is one client's, or the total of all.

If some q >= 0 in the span of the products vanishes at the points and nowhere else, no other non-negative measure has
the same G: integrate q against both, it is 0 for the one, so for the other. Of a Chebyshev system of r products there
is such a q for n points inside of an interval if 2 n + 1 <= r: squares of polynomials, or of trigonometric ones. With
one point more there are other measures with the same sums (``other_measure`` finds one), though no other n points of
weight 1, perhaps. Noise on G leaves a set of measures, which shrinks with it.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.polynomial import chebyshev
from scipy.optimize import OptimizeResult, least_squares, linprog, minimize_scalar, nnls
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from torch import Tensor

from ...federated import sums
from ...federated.experiment import Experiment
from ...federated.pinn import pinn
from ...streams import stream
from ..fedsciml.forward.problem import poisson_equation
from .one_round.problem import start, with_sines

Curve = Callable[[np.ndarray], np.ndarray]
"""Places x [T] -> features a(x) [T, m]."""

SOFTENED = (1e-12, 1e-9, 1e-6)
"""Added to the singular values by which equations are divided, in units of the largest: near points differ in small
ones only, so the search begins with nearly equal equations; but rounding is as large in all, and so it ends."""


def products(rows: np.ndarray) -> np.ndarray:
    """The products a_j a_k, j <= k, of each row: [T, m] -> [T, m (m + 1) / 2]."""
    j, k = np.triu_indices(rows.shape[1])
    return rows[:, j] * rows[:, k]


class Spectrum(NamedTuple):
    """The products of a curve's features on a grid [T], U s V: in K directions they are told from rounding."""

    curve: Curve  # x [T] -> features a(x) [T, m]
    grid: np.ndarray
    U: np.ndarray  # [T, K]
    s: np.ndarray  # [K], falling
    V: np.ndarray  # [K, m (m + 1) / 2]


def spectrum_of(curve: Curve, grid: np.ndarray) -> Spectrum:
    """What everybody knows before a sum is sent; K is how many products are independent on the grid [T].

    curve: x [T] -> features a(x) [T, m].
    """
    table = products(curve(grid))
    U, s, V = np.linalg.svd(table, full_matrices=False)
    K = int((s > max(table.shape) * np.finfo(float).eps * s[0]).sum())
    return Spectrum(curve, grid, U[:, :K], s[:K], V[:K])


def points_behind(G: np.ndarray, n: int, spectrum: Spectrum, noise: float = 0.0) -> np.ndarray:
    """n points x [n], rising, with sum_i a(x_i) a(x_i)^T = G [m, m]: those of the sum, where they are determined.

    Weights w >= 0 on the grid by non-negative least squares; the start is where the cumulated weight passes 1/2, 3/2,
    ..., n - 1/2, for each point weighs 1. Then least squares for the places of n points.

    noise: st.dev. of what was added to each number of G. Under noise all equations count alike, which is maximum
    likelihood; without any, none is too small to count.
    """
    curve, grid, U, s, V = spectrum
    sent = V @ G[np.triu_indices(len(G))]
    divisor = noise + 0 * s if noise else s
    weights, _ = nnls((s / divisor * U).T, sent / divisor, maxiter=100 * len(grid))
    x = np.interp(np.arange(n) + 0.5, np.cumsum(weights) - weights / 2, grid)

    def refined(x: np.ndarray, divisors: Sequence[np.ndarray]) -> OptimizeResult:
        for divisor in divisors:

            def missing(x: np.ndarray, divisor: np.ndarray = divisor) -> np.ndarray:
                return (V @ products(curve(x)).sum(0) - sent) / divisor

            def slope(x: np.ndarray, divisor: np.ndarray = divisor, step: float = 1e-5) -> np.ndarray:
                beside = products(curve(np.concatenate([x + step, x - step])))
                return (V @ ((beside[:n] - beside[n:]) / (2 * step)).T) / divisor[:, None]

            fit = least_squares(missing, x, slope, xtol=1e-12, ftol=1e-12, gtol=1e-12, max_nfev=40)
            x = fit.x
        return fit

    softened = [s + max(noise, share * s[0]) for share in SOFTENED]
    fits = [refined(x, [*way, divisor]) for way in ([], softened)] if noise else [refined(x, softened)]
    return np.sort(min(fits, key=lambda fit: fit.cost).x)


def null_space_points(G: np.ndarray, n: int, spectrum: Spectrum, noise: float = 0.0) -> np.ndarray:
    """n points x [n], rising, where the null space of G [m, m] sees least of a(x): those of the sum, where n < m.

    No direction v with G v = 0 sees a point of the sum, for sum_i (v . a(x_i))^2 = v . G v. So the points are zeros of
    the share of a(x) that lies in that space (Schmidt's MUSIC); of the minima on the grid the n deepest are taken, each
    at the vertex of the parabola through it and its neighbours. Of n >= m points there is no such space, and what comes
    are the minima in the direction that sees least.

    noise: does not matter to it.
    """
    grid = spectrum.grid
    blind = np.linalg.eigh(G)[1][:, : max(1, len(G) - n)]
    rows = spectrum.curve(grid)
    seen = np.square(rows @ blind).sum(1) / np.square(rows).sum(1)
    beside = np.pad(seen, 1, constant_values=np.inf)
    lowest = np.flatnonzero((seen <= beside[:-2]) & (seen <= beside[2:]))
    deepest = np.sort(lowest[np.argsort(seen[lowest])[:n]])
    inner = np.clip(deepest, 1, len(grid) - 2)
    left, middle, right = (seen[inner + i] for i in (-1, 0, 1))
    bend = left - 2 * middle + right
    moved = np.divide(left - right, 2 * bend, out=np.zeros(len(bend)), where=bend > 0)
    return np.interp(inner + np.clip(moved, -1, 1), np.arange(len(grid)), grid)


def inputs_behind(G: np.ndarray, n: int, curve: Curve, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inputs x [k, P], the first entry 1, and times y [k], rising, with sum_i b_i b_i^T = G, b = x_i (x) t(y_i).

    The null space again, where n < P K: B(y) x = 0 for the matrix B(y) of all v . (e_p (x) t(y)), v with G v = 0. At
    most times no x solves that, if there are more than P such v; so the server walks along y, and takes the n deepest
    minima of the smallest singular value of B, or all, if there are fewer. x is the direction that belongs to it.

    curve: y [T] -> t(y) [T, K]. grid: of y.
    """
    K = curve(grid[:1]).shape[1]
    blind = np.linalg.eigh(G)[1][:, : max(1, len(G) - n)]
    hidden = (blind @ blind.T).reshape(-1, K, len(G) // K, K)

    def squares(y: np.ndarray) -> np.ndarray:
        """B(y)^T B(y) [T, P, P], of t(y) with length 1."""
        t = curve(y) / np.linalg.norm(curve(y), axis=1, keepdims=True)
        return np.einsum("tk,pkql,tl->tpq", t, hidden, t, optimize=True)

    seen = np.linalg.eigvalsh(squares(grid))[:, 0]
    lowest = 1 + np.flatnonzero((seen[1:-1] <= seen[:-2]) & (seen[1:-1] <= seen[2:]))
    least = lambda y: np.linalg.eigvalsh(squares(np.array([y])))[0, 0]  # noqa: E731
    lowest = lowest[np.argsort(seen[lowest])[: 2 * n]]
    minima = [minimize_scalar(least, bounds=(grid[i - 1], grid[i + 1]), options={"xatol": 1e-12}) for i in lowest]
    y = np.sort([minimum.x for minimum in sorted(minima, key=lambda minimum: minimum.fun)[:n]])
    x = np.linalg.eigh(squares(y))[1][:, :, 0]
    return x / x[:, :1], y


ATTACKS = {"null space": null_space_points, "non-negative fit": points_behind}
"""What a server may try on sums, that knows how many points there are."""


def share_found(guesses: np.ndarray, x: np.ndarray, within: float) -> float:
    """Which share of points x [n] has a guess [k] of its own no further than ``within``: the largest matching."""
    near = csr_array(np.abs(guesses - x[:, None]) <= within)
    return float(np.mean(maximum_bipartite_matching(near, "column") >= 0))


FAINT, SLACK = 1e-10, 1e-7
"""Share of the largest singular value below which the linear program leaves an equation out; and by how much it may
miss each of the others, where all are scaled alike: exact ones have solutions that it does not always find."""


def other_measure(x: np.ndarray, curve: Curve, grid: np.ndarray) -> tuple[np.ndarray, float]:
    """Of all non-negative measures with the sums of points x [n] the one that lies furthest from them.

    A linear program: weights w [T + n] of the grid [T] and of the points. Also the root of the mean square distance of
    its weight from the nearest point: near 0, by SLACK alone, where no other measure has the sums.

    curve: x [T] -> features a(x) [T, m].
    """
    everywhere = np.concatenate([grid, x])
    U, s, _ = np.linalg.svd(products(curve(everywhere)), full_matrices=False)
    U = np.sqrt(len(everywhere)) * U[:, s > FAINT * s[0]].T
    sent, square = U[:, len(grid) :].sum(1), np.square(everywhere[:, None] - x).min(1)
    furthest = linprog(-square, np.vstack([U, -U]), np.concatenate([sent + SLACK, SLACK - sent]), bounds=(0, None))
    return furthest.x, float(np.sqrt(max(0, -furthest.fun) / len(x)))


DEGREE = 200
BEYOND = 0.5  # how far outside [0, pi] an attack may look


def poisson_rows(experiment: Experiment, theta: Tensor, learnt: slice = slice(None)) -> Curve:
    """x [T] -> the rows [J, r] of Poisson's equation at x, at a model [P]: [T, m + 1].

    learnt: by which parameters J is taken. An attack asks for thousands of rows, so they are interpolated once, to
    rounding, by polynomials on [0, pi] and a little beyond; further out they are those at the end.
    """
    half = np.pi / 2 + BEYOND

    def rows(z: np.ndarray) -> np.ndarray:
        x = torch.as_tensor(np.pi / 2 + half * z)[:, None]
        points = lambda level: (x, [np.arange(len(x))])  # noqa: E731
        pool = pinn("", poisson_equation(), (1, 1), "x", points, test=x.numpy()).data(2, 0).pool
        return sums.rows(experiment, pool, theta, learnt).numpy()

    coefficients = chebyshev.chebinterpolate(rows, DEGREE)

    def curve(x: np.ndarray) -> np.ndarray:
        angle = np.arccos(((x - np.pi / 2) / half).clip(-1, 1))
        return np.cos(np.outer(angle, np.arange(DEGREE + 1))) @ coefficients  # T_k(cos a) = cos k a

    return curve


def nearest(u: np.ndarray, torques: np.ndarray) -> tuple[int, float]:
    """Which of the torques [n, m] points most as u [m] does, and how far off u is from its direction, in %.

    100 sin of the angle between both: what is left of u, in % of it, when the part along the torque is taken out. 0 is
    the same curve but for its size; 100 has nothing in common with it, or only the sign is other.
    """
    cosine = torques @ u / np.linalg.norm(torques, axis=1) / np.linalg.norm(u)
    i = int(cosine.argmax())
    return i, 100 * float(np.sqrt(1 - np.clip(cosine[i], 0, 1) ** 2))


# clouds of points, on Poisson's equation

GRID = np.linspace(0, np.pi, 501)
NEAR = 0.1
"""A point is found if a guess of its own is as near, in units of pi / n, the share of the interval that each of n has.
Who guesses the middle of every share finds one in five."""

DELTA = 1e-5
"""Probability with which a promise of privacy may fail."""

CROWDED = 2.2
"""Where one point stands apart, all others are between 0 and this."""


def cloud(n: int, seed: int, apart: float = 0.0) -> np.ndarray:
    """n points [n], rising: one at a random place in each of n equal parts of [0, pi]; or all but one in [0, CROWDED],
    and the last one ``apart`` from these."""
    if apart:
        return np.append(cloud(n - 1, seed) * CROWDED / np.pi, CROWDED + apart)
    return (np.arange(n) + stream(seed, "cloud", n).uniform(size=n)) * np.pi / n


@lru_cache(maxsize=30)
def public(m: int, kept: int | None, seed: int, scale: float) -> tuple[Experiment, Curve, sums.Directions, Spectrum]:
    """What everybody knows before anything is sent: Poisson's equation with m sines, its rows [J, r]; if points lie
    everywhere alike, the ``kept`` directions in which J is largest, or, where that is None, all sines as they are; and
    the spectrum of what is sent by these."""
    experiment = with_sines("poisson", m, scale, seed)
    rows = poisson_rows(experiment, zero := start(experiment))
    everywhere = torch.as_tensor(rows(GRID))
    directions = sums.whitened(everywhere, kept) if kept else sums.rescaled(everywhere, torch.eye(len(zero)).double())
    return experiment, rows, directions, spectrum_of(lambda x: rows(x) @ directions.W.numpy(), GRID)


class Attacked(NamedTuple):
    """One message, what attacks make of it, and what it is good for."""

    experiment: Experiment  # Poisson's equation with sines
    spectrum: Spectrum  # of what is sent
    x: np.ndarray  # the points [n]
    guesses: dict[str, np.ndarray]  # [n] of each of ATTACKS
    share: dict[str, float]  # of the points that they find
    c: Tensor  # [m]: the solution


def attacked(
    m: int, points: int, seed: int, noise: float = 0.0, kept: int | None = None, scale: float = 6.0, apart: float = 0.0
) -> Attacked:  # fmt: skip
    """Sums of ``cloud``, by m sines or the ``kept`` strongest directions of them.

    noise: st.dev. of each number, in units of the most by which one point changes the sums.
    """
    experiment, _, directions, spectrum = public(m, kept, seed, scale)
    x, sigma = cloud(points, seed, apart), noise * directions.longest
    rows = spectrum.curve(x)
    total = rows.T @ rows + sums.symmetric_noise(sigma, rows.shape[1], stream(seed, "noise on sums", m)).numpy()
    guesses = {name: attack(total, points, spectrum, sigma) for name, attack in ATTACKS.items()}
    share = {name: share_found(guess, x, NEAR * np.pi / points) for name, guess in guesses.items()}
    rounding = len(directions.back.T) * np.finfo(float).eps * np.linalg.norm(total[:-1, :-1], 2)
    solution = sums.solve(sums.Sums(torch.as_tensor(total), points, noise=sigma), None if noise else rounding)
    return Attacked(experiment, spectrum, x, guesses, share, directions.back @ solution.step)
